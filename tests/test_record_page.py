"""The page of a record says what row, trials and script say."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from functools import cache
from html import unescape
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
from rl_resources.site import record_page
from rl_resources.site.api import record_id
from website import ROOT, visited

DATASET = load(ROOT)
RECORDS = DATASET.records["tuning"]
IDS = [record_id(record) for record in RECORDS]
LORA = "qwen2.5-7b-instruct_grpo-lora_1_h100_fsdp_vllm"
SEVERAL = "qwen3-235b-a22b_grpo_32_h20_megatron_vllm"
KNOWN = Repository("a" * 40, 0, "https://example.org/o/r")
ADDRESS = "https://example.org/site/"
PAYLOAD = "<img src=x onerror=window.hacked=1></code></td><script>window.hacked=1</script>"
HOSTILE = """#!/usr/bin/env bash
#
# Several nodes: PAYLOAD
python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path='PAYLOAD' \\
    actor_rollout_ref.model.target_modules='\"PAYLOAD\"' actor_rollout_ref.model.lora_rank=8
"""


def text_of(record: Record) -> str:
    return (ROOT / script_path(DATASET, record)).read_bytes().decode()


@cache
def published() -> dict[str, str | bytes]:
    scripts = {str(record["script"]): text_of(record) for record in RECORDS}
    return render_dataset(DATASET, scripts, KNOWN, ADDRESS)


def page_of(name: str) -> str:
    return str(published()[f"records/{name}.md"])


def words(html: str) -> str:
    """The text of a piece of a page, as a reader sees it."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html.replace("<wbr>", ""))).split())


def part(page: str, start: str, end: str = "<h2") -> str:
    """The text between a mark and the next heading."""
    return page.split(start, 1)[1].split(end, 1)[0]


def run_of(record: Record) -> Run:
    run = ScriptText(script_path(DATASET, record), text_of(record)).run
    assert run is not None
    return run


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_the_page_answers_with_the_row_its_trials_and_its_script(record: Record) -> None:
    page, path = page_of(record_id(record)), script_path(DATASET, record)
    device = DATASET.by_key["devices"][record["device"]]
    fits = words(part(page, '<h2 id="fit">'))
    assert f"{record['gpus']} × {device['name']}" in fits
    assert f"{record['gpus'] * device['memory_gb']:g} GB in all" in fits  # type: ignore[operator]
    assert f"MaxBatch {record['max_batch'] or 'not searched'}" in fits
    assert path in words(part(page, '<h2 id="begin">'))
    sure = words(part(page, '<h2 id="sure">', "</section>"))
    assert str(record["status"]) in sure
    assert ("is not known" in sure) == (not record["tested_on"])

    saved = published()[f"scripts/{record['script']}"]
    assert saved == text_of(record)
    assert hashlib.sha256(str(saved).encode()).hexdigest() in page

    trials = [row for row in DATASET.records["trials"] if row["script"] == record["script"]]
    rungs = [words(rung) for rung in re.findall(r'<li class="rung[^"]*">(.*?)</li>', page, re.S)]
    assert rungs == [
        f"{row['batch']}{'ran' if row['outcome'] == 'ran' else 'failed'} trial {row['order']}"
        for row in sorted(trials, key=lambda row: int(str(row["batch"])))
    ]

    badge = json.loads(published()[f"badges/{record_id(record)}.json"])
    assert set(badge) == {"schemaVersion", "label", "message", "color"}
    assert str(record["status"]) in badge["message"]


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_each_setting_has_its_value_and_the_line_that_has_it(record: Record) -> None:
    page, run = page_of(record_id(record)), run_of(record)
    lines = text_of(record).split("\n")
    rows = part(page, '<h2 id="settings">').split("<tr>")
    stated = [item for item in explained(run) if item.standing == "script"]
    assert len(stated) > 10
    for item in stated:
        setting = item.setting
        assert setting.place
        assert setting.origin
        assert setting.key.rpartition(".")[2] in lines[setting.place.line - 1]
        (row,) = (row for row in rows if f'data-label="Setting">{item.title}<' in row)
        assert f"{setting.key} {record_page.shown(item)} line" in words(row.replace("</th>", " "))
        assert f'href="#__span-script-{setting.origin.line}"' in row
        permalink = f"{KNOWN.url}/blob/{KNOWN.commit}/{script_path(DATASET, record)}"
        assert f'href="{permalink}#L{setting.origin.line}"' in row


def test_each_reason_of_a_setting_is_its_own_and_short() -> None:
    found = {item.title: item.why for record in RECORDS for item in explained(run_of(record))}
    assert len(set(found.values())) == len(found) > 25
    assert all(why.endswith(".") and len(why) < 220 for why in found.values())


def test_an_open_setting_shows_the_default_and_an_unreadable_one_no_value() -> None:
    defaults = part(page_of(LORA), "more that the script leaves to verl")
    assert "line" not in words(part(defaults, "Cache released", "</td>"))
    script = (
        "python3 -m verl.trainer.main_ppo"
        " actor_rollout_ref.rollout.gpu_memory_utilization=$(cat share)\n"
    )
    run = ScriptText("x.sh", script).run
    assert run is not None
    key = "actor_rollout_ref.rollout.gpu_memory_utilization"
    (share,) = [item for item in explained(run) if item.setting.key == key]
    assert (share.standing, record_page.shown(share)) == ("unknown", "")


def test_a_release_that_accepts_the_script_is_distinguished_from_one_that_does_not() -> None:
    page = words(part(page_of(LORA), '<h2 id="releases">'))
    for row in DATASET.records["compatibility"]:
        if row["script"] == f"{LORA}.sh":
            verdict = "accepted" if row["accepted"] else "rejected"
            assert f"{row['framework_version']}: {verdict}" in page


def test_one_node_needs_one_command_and_several_a_cluster_first() -> None:
    start = part(page_of(LORA), '<h2 id="start-it">')
    commands = re.findall(r"<pre><code>(.*?)</code></pre>", start, re.S)
    assert commands[:2] == [f"bash examples/tuning/7b/{LORA}.sh", f"bash {LORA}.sh"]
    assert "ray start" not in page_of(LORA)
    start = part(page_of(SEVERAL), '<h2 id="start-it">')
    (command,) = re.findall(r"<pre><code>(.*?)</code></pre>", unescape(start), re.S)
    path = f"examples/tuning/405b/{SEVERAL}.sh"
    steps = ["ray start --head", "ray start --address=<address>", "ray status", f"bash {path}"]
    assert [line for line in command.split("\n") if line and line[0] != "#"] == steps
    assert "with CUDA_DEVICE_MAX_CONNECTIONS=1 and NCCL_NVLS_ENABLE=0" in words(start)


def test_the_model_and_the_files_that_the_script_expects_are_named() -> None:
    for record in RECORDS:
        found = {item.title: item for item in record_page.expected(run_of(record), text_of(record))}
        assert found["Model"].value == record["model"]
        assert found["Training data"].variables == ("TRAIN_FILES",)
        start = words(part(page_of(record_id(record)), '<h2 id="start-it">'))
        assert all((item.value or item.written) in start for item in found.values())


def test_alternatives_lead_to_pages() -> None:
    known = {item.id: item for item in configurations(DATASET)}
    for name in IDS:
        items = re.findall(r'<li class="related--(\w+)"><a href="([^"]+)">', page_of(name))
        assert bool(items) == ('id="instead"' in page_of(name))
        for kind, link in items:
            path, _, anchor = link.replace("../", "").partition("#")
            if kind == "report":
                assert f'id="{anchor}"' in str(published()[f"{path.rstrip('/')}.md"])
            assert known[anchor or path.rstrip("/").rpartition("/")[2]].kind == kind


def test_a_script_that_cannot_be_read_still_has_a_page() -> None:
    texts = {str(record["script"]): "#!/usr/bin/env bash\ntrue\n" for record in RECORDS}
    page = str(render_dataset(DATASET, texts, KNOWN)[f"records/{LORA}.md"])
    assert "is not known without running it" in page
    assert "MaxBatch" in page


def test_every_status_has_a_color_of_its_own() -> None:
    statuses = DATASET.package.resources["tuning"].schema.field("status").constraints["enum"]
    assert set(record_page.BADGE_COLORS) == set(statuses)
    assert len(set(record_page.BADGE_COLORS.values())) == len(statuses)


def test_a_command_quotes_what_a_shell_would_split() -> None:
    assert shlex.split(record_page.command("a b;$(c).sh")) == ["bash", "a b;$(c).sh"]


def test_a_hostile_script_is_shown_as_text(browser: Browser) -> None:
    hostile = HOSTILE.replace("PAYLOAD", PAYLOAD)
    texts = {str(record["script"]): hostile for record in RECORDS}
    text = str(render_dataset(DATASET, texts, KNOWN, ADDRESS)[f"records/{SEVERAL}.md"])
    config = load_config(config_file=str(ROOT / "mkdocs.yml"))
    html = markdown(
        text.split("---\n", 2)[2],
        extensions=config.markdown_extensions,
        extension_configs=config.mdx_configs,
    )
    page = browser.new_page()
    page.set_content(html)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, script, a[href^=javascript]").count() == 0
    assert PAYLOAD in page.locator("dl.expected dd").first.inner_text()
    row = page.locator("table.settings tr", has_text="Target modules")
    assert PAYLOAD in row.locator("[data-label=Value]").inner_text()
    assert page.locator("pre", has_text="main_ppo").inner_text().strip() == hostile.strip()
    page.close()


def test_a_script_is_saved_and_its_lines_are_linked(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with visited(browser, f"{address}/records/{LORA}/") as (page, wrong):
        with page.expect_download() as started:
            page.get_by_role("link", name="Save the script").click()
        started.value.save_as(tmp_path / "saved.sh")
        row = page.locator("table.settings tr").filter(has_text="Parameter offload")
        row.get_by_role("link", name=re.compile(r"^line \d+$")).click()
        assert "fsdp_config.param_offload=True" in page.locator(":target").inner_text()
        assert wrong == []
    record = DATASET.by_key["tuning"][f"{LORA}.sh"]
    assert (tmp_path / "saved.sh").read_bytes().decode() == text_of(record)
