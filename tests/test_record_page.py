"""The page of a record: what it says is what row, trials and script say."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from html import escape, unescape
from pathlib import Path

import pytest
from markdown import markdown
from mkdocs.config import load_config
from playwright.sync_api import Browser

from rl_resources import load
from rl_resources.check.target import ScriptText
from rl_resources.dataset import script_path
from rl_resources.git import Repository
from rl_resources.package import Record
from rl_resources.publish import render_dataset
from rl_resources.query.configurations import configurations
from rl_resources.script.explained import explained
from rl_resources.script.run import Run
from rl_resources.site import badge, record_page, starting
from rl_resources.site.api import record_id
from website import ROOT, build_site, served, visited

DATASET = load(ROOT)
RECORDS = DATASET.records["tuning"]
CONFIGURATIONS = configurations(DATASET)
IDS = [record_id(record) for record in RECORDS]
LORA = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm"
SEVERAL = "qwen3-235b-a22b_grpo_32_h20_megatron_vllm"
KNOWN = Repository("a" * 40, 0, "https://example.org/o/r")
ADDRESS = "https://example.org/site/"
SCRIPT_PAYLOAD = "<img src=x onerror=window.hacked=1></code></td><script>window.hacked=1</script>"
HOSTILE_SCRIPT = """#!/usr/bin/env bash
#
# Several nodes: PAYLOAD
python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path='PAYLOAD' \\
    actor_rollout_ref.model.target_modules='\"PAYLOAD\"' actor_rollout_ref.model.lora_rank=8
"""
PAYLOAD = "x\"'><script>window.hacked=1</script>]](javascript:d)\x07</text>&amp;`*_\\"


def text_of(record: Record) -> str:
    return (ROOT / script_path(DATASET, record)).read_bytes().decode()


@cache
def published(repository: Repository = KNOWN, address: str | None = ADDRESS) -> dict[str, str]:
    scripts = {str(record["script"]): text_of(record) for record in RECORDS}
    return render_dataset(DATASET, scripts, repository, address)


def page_of(name: str) -> str:
    return published()[f"records/{name}.md"]


def words(html: str) -> str:
    """The text of a piece of a page, as a reader sees it."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html.replace("<wbr>", ""))).split())


def part(page: str, start: str, end: str = "<h2") -> str:
    """What stands between a mark and the next heading."""
    return page.split(start, 1)[1].split(end, 1)[0]


def run_of(record: Record) -> Run:
    run = ScriptText(script_path(DATASET, record), text_of(record)).run
    assert run is not None
    return run


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    target = tmp_path_factory.mktemp("records") / "site"
    done = build_site(ROOT, target, SITE_URL=ADDRESS)
    assert done.returncode == 0, done.stderr
    with served(target) as origin:
        yield origin


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_the_first_three_answers_are_those_of_the_row(record: Record) -> None:
    page = page_of(record_id(record))
    device = DATASET.by_key["devices"][record["device"]]
    fits = words(part(page, '<h2 id="fit">'))
    assert f"{record['gpus']} \N{MULTIPLICATION SIGN} {device['name']}" in fits
    assert f"{record['gpus'] * device['memory_gb']:g} GB in all" in fits  # type: ignore[operator]
    assert f"MaxBatch {record['max_batch'] or 'not searched'}" in fits
    assert script_path(DATASET, record) in words(part(page, '<h2 id="begin">'))
    sure = words(part(page, '<h2 id="sure">', "</section>"))
    assert str(record["status"]) in sure
    assert ("is not known" in sure) == (not record["tested_on"])


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_what_is_saved_is_the_script_byte_for_byte(record: Record) -> None:
    path = f"scripts/{record['script']}"
    saved = published()[path].encode()
    assert saved == (ROOT / script_path(DATASET, record)).read_bytes()
    page = page_of(record_id(record))
    assert hashlib.sha256(saved).hexdigest() in page
    assert f'href="../../{path}" download' in page


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_each_setting_is_told_with_its_value_and_the_line_that_has_it(record: Record) -> None:
    page, run = page_of(record_id(record)), run_of(record)
    lines = text_of(record).split("\n")
    table = part(page, '<h2 id="settings">')
    told = [item for item in explained(run) if item.standing == "script"]
    assert len(told) > 10
    for item in told:
        setting = item.setting
        assert setting.place
        assert setting.origin
        assert setting.key.rpartition(".")[2] in lines[setting.place.line - 1]
        (row,) = [
            row
            for row in table.split("<tr>")
            if f'<th scope="row" data-label="Setting">{item.title}<' in row
        ]
        assert f"{item.title}{setting.key} {record_page.shown(item)} line" in words(
            row.replace("</th>", " </th>")
        )
        assert f'href="#__span-script-{setting.origin.line}"' in row
        permalink = f"{KNOWN.url}/blob/{KNOWN.commit}/{script_path(DATASET, record)}"
        assert f'href="{permalink}#L{setting.origin.line}"' in row


def test_no_reason_is_told_twice_and_each_is_a_sentence_or_two() -> None:
    found = {item.title: item.why for record in RECORDS for item in explained(run_of(record))}
    assert len(set(found.values())) == len(found) > 25
    assert all(why.endswith(".") and len(why) < 220 for why in found.values())


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_batches_and_offload_are_always_explained(record: Record) -> None:
    titles = {item.title for item in explained(run_of(record))}
    assert {"Parameter offload", "Optimizer offload", "Prompts per step", "Micro batch"} <= {
        title.removesuffix(" by tokens") for title in titles
    }
    assert ("LoRA rank" in titles) == str(record["task"]).endswith("-LoRA")
    assert ("Pipeline parallel" in titles) == (record["train"] == "megatron")


def test_what_the_script_leaves_open_is_told_as_the_default_of_the_framework() -> None:
    record = DATASET.by_key["tuning"][f"{LORA}.sh"]
    standing = {item.title: item for item in explained(run_of(record))}
    assert standing["Cache released"].standing == "default"
    defaults = part(page_of(LORA), "more that the script leaves to verl")
    assert "Cache released" in defaults
    assert "line" not in words(part(defaults, "Cache released", "</td>"))


def test_a_value_that_no_reading_can_tell_is_not_guessed() -> None:
    script = (
        "python3 -m verl.trainer.main_ppo"
        " actor_rollout_ref.rollout.gpu_memory_utilization=$(cat share)\n"
    )
    run = ScriptText("x.sh", script).run
    assert run is not None
    (share,) = [item for item in explained(run) if item.title == "GPU memory utilization"]
    assert (share.standing, record_page.shown(share)) == ("unknown", "")


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_the_ladder_has_each_trial_once_from_small_to_large(record: Record) -> None:
    trials = [row for row in DATASET.records["trials"] if row["script"] == record["script"]]
    rungs = re.findall(r'<li class="rung[^"]*">(.*?)</li>', page_of(record_id(record)), re.S)
    told = [re.findall(r"[\w ]+?(?=<)", rung)[0] for rung in rungs]
    assert told == [str(batch) for batch in sorted(int(str(row["batch"])) for row in trials)]
    for rung in rungs:
        batch = int(re.findall(r"\d+", rung)[0])
        (outcome,) = [row["outcome"] for row in trials if row["batch"] == batch]
        assert str(outcome).replace("-", " ") in words(rung)


def test_a_release_that_takes_the_script_is_told_apart_from_one_that_does_not() -> None:
    page = part(page_of(LORA), '<h2 id="releases">')
    assert "is taken by verl ≥ 0.4.0" in words(page)
    rows = [row for row in DATASET.records["compatibility"] if row["script"] == f"{LORA}.sh"]
    for row in rows:
        verdict = "accepted" if row["accepted"] else "rejected"
        assert f"{row['framework_version']}: {verdict}" in words(page)
        for item in row["rejected"] or ():  # type: ignore[attr-defined]
            assert item.split(" ")[1] in words(page)


def _start(name: str) -> str:
    return part(page_of(name), '<h2 id="start-it">')


def test_one_node_is_started_by_one_command_from_checkout_and_from_the_saved_file() -> None:
    commands = re.findall(r"<pre><code>(.*?)</code></pre>", _start(LORA), re.S)
    assert commands[:2] == [f"bash examples/tuning/7b/{LORA}.sh", f"bash {LORA}.sh"]
    assert "ray start" not in page_of(LORA)


@pytest.mark.parametrize("record", [row for row in RECORDS if row["nodes"] != 1], ids=str)
def test_several_nodes_form_a_cluster_before_the_script_starts_once(record: Record) -> None:
    page = _start(record_id(record))
    command = unescape(part(page, "<pre><code>", "</code></pre>"))
    path = script_path(DATASET, record)
    steps = ["ray start --head", "ray start --address=<address>", "ray status", f"bash {path}"]
    assert [line for line in command.split("\n") if line and line[0] != "#"] == steps
    assert f"are all {record['nodes']} nodes there" in command
    assert starting.SEVERAL_NODES_SOURCE in page
    assert "Ray cluster over all" in starting.own_words(text_of(record))


def test_the_script_s_own_words_name_the_environment_of_a_node() -> None:
    page = words(_start(SEVERAL))
    assert "with CUDA_DEVICE_MAX_CONNECTIONS=1 and NCCL_NVLS_ENABLE=0" in page


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_the_model_and_the_files_that_the_script_expects_are_named(record: Record) -> None:
    found = {item.title: item for item in starting.expected(run_of(record), text_of(record))}
    assert found["Model"].value == record["model"]
    assert found["Training data"].variables == ("TRAIN_FILES",)
    assert found["Training data"].written in text_of(record).split("\n")
    told = words(_start(record_id(record)))
    for item in found.values():
        assert item.value in told
        assert item.written in told or item.value


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_related_configurations_lead_to_pages_and_reports_are_told_as_such(record: Record) -> None:
    page = page_of(record_id(record))
    items = re.findall(r'<li class="related--(\w+)"><a href="([^"]+)">(.*?)</li>', page, re.S)
    assert bool(items) == ('id="instead"' in page)
    for kind, link, text in items:
        path, _, anchor = link.removeprefix("../../").partition("#")
        if kind == "record":
            assert f"records/{path.removeprefix('../').rstrip('/')}.md" in published()
        else:
            assert f'id="{anchor}"' in published()[f"{path.rstrip('/')}.md"]
            assert '<span class="kind">report</span>' in text
        (other,) = (item for item in CONFIGURATIONS if item.id == (anchor or path.split("/")[-2]))
        assert f'<span class="said">{escape(", ".join(other.conditions))}</span>' in text


def test_a_record_that_cannot_be_read_says_so_and_still_stands() -> None:
    texts = {str(record["script"]): "#!/usr/bin/env bash\ntrue\n" for record in RECORDS}
    bare = render_dataset(DATASET, texts, Repository(None, None, None))
    page = bare[f"records/{LORA}.md"]
    assert "cannot be told without running it" in page
    assert "MaxBatch" in page


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_a_badge_is_what_shields_reads(record: Record) -> None:
    document = json.loads(published()[f"badges/{record_id(record)}.json"])
    assert set(document) == {"schemaVersion", "label", "message", "color"}
    assert document["schemaVersion"] == 1
    assert str(record["status"]) in document["message"]
    assert re.fullmatch("[0-9a-f]{6}", document["color"])


def test_every_status_has_a_colour_of_its_own() -> None:
    schema = DATASET.package.resources["tuning"].schema
    statuses = schema.fields[schema.index("status")].constraints["enum"]
    assert set(badge.COLOURS) == set(statuses)
    assert len(set(badge.COLOURS.values())) == len(statuses)


def test_a_hostile_script_is_told_of_as_text(browser: Browser) -> None:
    hostile = HOSTILE_SCRIPT.replace("PAYLOAD", SCRIPT_PAYLOAD)
    texts = {str(record["script"]): hostile for record in RECORDS}
    files = render_dataset(DATASET, texts, KNOWN, ADDRESS)
    config = load_config(config_file=str(ROOT / "mkdocs.yml"))
    text = str(files[f"records/{SEVERAL}.md"]).split("---\n", 2)[2]
    html = markdown(
        text, extensions=config.markdown_extensions, extension_configs=config.mdx_configs
    )
    page = browser.new_page()
    page.set_content(html)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, script, a[href^=javascript]").count() == 0
    assert SCRIPT_PAYLOAD in page.locator("dl.expected dd").first.inner_text()
    assert "own words" in page.locator("#start-it ~ p", has_text=SCRIPT_PAYLOAD).inner_text()
    row = page.locator("table.settings tr", has_text="Target modules")
    assert SCRIPT_PAYLOAD in row.locator("[data-label=Value]").inner_text()
    assert page.locator("pre", has_text="main_ppo").inner_text().strip() == hostile.strip()
    page.close()


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("name", [LORA, SEVERAL])
def test_a_record_s_page_is_whole_in_a_browser(
    browser: Browser, address: str, name: str, width: int
) -> None:
    with visited(browser, f"{address}/records/{name}/", width) as (page, wrong):
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(beyond) == 0
        assert page.evaluate("document.querySelectorAll('article [style]').length") == 0
        assert page.locator("h2").first.inner_text() == "Does it fit?"
        assert wrong == []


def test_the_script_is_saved_by_a_click_as_it_stands_in_the_repository(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with visited(browser, f"{address}/records/{LORA}/") as (page, _):
        with page.expect_download() as started:
            page.get_by_role("link", name="Save the script").click()
        assert started.value.suggested_filename == f"{LORA}.sh"
        started.value.save_as(tmp_path / "saved.sh")
    record = DATASET.by_key["tuning"][f"{LORA}.sh"]
    path = ROOT / script_path(DATASET, record)
    assert (tmp_path / "saved.sh").read_bytes() == path.read_bytes()


def test_a_line_of_a_setting_leads_to_that_line_of_the_script(
    browser: Browser, address: str
) -> None:
    with visited(browser, f"{address}/records/{LORA}/") as (page, _):
        row = page.locator("table.settings tr").filter(has_text="Parameter offload")
        row.get_by_role("link", name=re.compile(r"^line \d+$")).click()
        line = page.locator(":target")
        assert "fsdp_config.param_offload=True" in line.inner_text()
        assert line.bounding_box()["y"] > 0  # type: ignore[index]


def test_a_command_quotes_what_a_shell_would_take_apart() -> None:
    assert shlex.split(starting.command("a b;$(c).sh")) == ["bash", "a b;$(c).sh"]
