"""The page of a record says what row, trials and script say."""

import json
import re
from functools import cache
from html import unescape
from operator import itemgetter

import pytest
from markdown import markdown
from mkdocs.config import load_config

from rl_resources.certainty import certainty
from rl_resources.dataset import script_path
from rl_resources.facts.comparison import NO_TAG
from rl_resources.git import Repository
from rl_resources.package import Record
from rl_resources.script.script_text import ScriptText
from rl_resources.site import record_page
from rl_resources.site.api import record_id
from rl_resources.site.environment import Site
from rl_resources.site.tuning_table import sure_of
from sample_tree import with_tables
from shipped import DATASET
from website import RECORD, ROOT

RECORDS = DATASET.records["tuning"]
LORA = DATASET.by_key["tuning"][f"{RECORD}.sh"]
SEVERAL = next(row for row in RECORDS if row["nodes"] and int(str(row["nodes"])) > 2)
KNOWN = Repository("a" * 40, 0, "https://example.org/o/r")
PAYLOAD = (
    "<img src=x onerror=window.hacked=1></code></td><script>window.hacked=1</script>"
)
HOSTILE = (ROOT / "tests/hostile/record.sh").read_text()


def text_of(record: Record) -> str:
    return (ROOT / script_path(DATASET, record)).read_bytes().decode()


def page_of(
    record: Record, text: str | None = None, repository: Repository = KNOWN
) -> str:
    """The page of one record, with another script where `text` is given."""
    if text is None:
        text = text_of(record)
    alone = with_tables(DATASET, tuning=[record])
    site = Site(alone, repository.url, "https://example.org/site/")
    scripts = {str(record["script"]): text}
    made = record_page.pages(site, scripts, repository)
    return made[f"records/{record_id(record)}.md"]


@cache
def page_of_lora() -> str:
    return page_of(LORA)


def words(html: str) -> str:
    """The text of a piece of a page, as a reader sees it."""
    text = re.sub(r"<[^>]*>", "", html.replace("<wbr>", ""))
    return " ".join(unescape(text).split())


def part(page: str, start: str, end: str = "<h2") -> str:
    """The text between a mark and the next heading."""
    _, found, rest = page.partition(start)
    assert found
    return rest.partition(end)[0]


def commands(page: str) -> list[str]:
    """What a reader copies to start the run."""
    start = part(page, '<h2 id="start-it">')
    found = re.findall(r"<pre><code>(.*?)</code></pre>", start, re.S)
    return list(map(unescape, found))


@pytest.mark.parametrize("record", [LORA, SEVERAL], ids=["one node", "several"])
def test_the_page_answers_with_the_row_its_trials_and_its_script(record):
    page = page_of(record)
    device = DATASET.by_key["devices"][record["device"]]
    fits = words(part(page, '<h2 id="fit">'))
    name = str(record["device"]).upper()
    assert f"{record['gpus']} × {name} 80 GB" in fits
    memory_gb = record["gpus"] * device["memory_gb"]  # type: ignore[operator]
    assert f"{memory_gb:g} GB in all" in fits
    max_batch = record["max_batch"] or "not searched"
    assert f"MaxBatch {max_batch}" in fits
    begin = words(part(page, '<h2 id="begin">'))
    assert script_path(DATASET, record) in begin
    sure = words(part(page, '<h2 id="sure">', "</section>"))
    assert certainty(record) in sure
    assert ("not run here yet" in sure) == (not record["tested_on"])
    assert ("is not known" in sure) == (not record["framework_version"])
    rungs = re.findall(r'<li class="rung[^"]*">(.*?)</li>', page, re.S)
    assert list(map(words, rungs)) == expected_rungs(record)


def expected_rungs(record: Record) -> list[str]:
    trials = DATASET.by_script["trials"].get(record["script"], ())
    found = []
    for row in sorted(trials, key=itemgetter("batch")):
        outcome = "ran" if row["outcome"] == "ran" else "failed"
        found.append(f"{row['batch']}{outcome} trial {row['order']}")
    return found


def test_a_badge_names_hardware_and_certainty():
    files = record_page.badges(DATASET)
    badge = json.loads(files[f"badges/{RECORD}.json"])
    tag = LORA["tag"] or NO_TAG
    assert badge.keys() == {"schemaVersion", "label", "message"}
    assert badge["message"].endswith(f" · {tag} · {sure_of(LORA)}")


def test_each_setting_has_its_value_and_the_line_that_has_it():
    text = text_of(LORA)
    lines = ["", *text.split("\n")]
    rows = part(page_of_lora(), '<h2 id="settings">').split("<tr>")
    permalink = f"{KNOWN.url}/blob/{KNOWN.commit}/{script_path(DATASET, LORA)}"
    run = ScriptText("x.sh", text).run
    explained = record_page.explained(run)
    stated = [item for item in explained if item.setting.place]
    assert len(stated) > 10
    for item in stated:
        setting = item.setting
        name = setting.key.rpartition(".")[2]
        assert name in lines[setting.place.line]
        (row,) = [row for row in rows if f'data-label="Setting">{item.title}<' in row]
        shown = words(row.replace("</th>", " "))
        line = setting.origin.line
        assert f"{setting.key} {item.value} line" in shown
        assert f'href="#__span-script-{line}"' in row
        assert f'href="{permalink}#L{line}"' in row


@pytest.mark.parametrize("record", {row["train"]: row for row in RECORDS}.values())
def test_what_saves_memory_is_shown_whatever_the_training_backend(record):
    name = str(record["script"])
    run = ScriptText(name, text_of(record)).training
    savers = [
        run.optimizations["parameter-offload"],
        run.optimizations["optimizer-offload"],
        run.optimizations["activation-checkpointing"],
        run.offload_policy,
        run.sequence_parallel_size,
    ]
    shown = {item.setting.key for item in record_page.explained(run)}
    assert {setting.key for setting in savers if setting.key} <= shown


def test_an_open_setting_shows_the_default_and_an_unreadable_one_no_value():
    defaults = part(page_of_lora(), "more that the script leaves to verl")
    row = part(defaults, "Cache released", "</td>")
    assert "line" not in words(row)
    key = "actor_rollout_ref.rollout.gpu_memory_utilization"
    run = ScriptText(
        "x.sh", f"python3 -m verl.trainer.main_ppo {key}=$(cat share)\n"
    ).run
    by_key = {item.setting.key: item.value for item in record_page.explained(run)}
    assert by_key[key] == "not known without running the script"


def test_one_node_needs_one_command_and_several_a_cluster_first():
    in_checkout, downloaded, *_ = commands(page_of_lora())
    assert in_checkout == f"bash {script_path(DATASET, LORA)}"
    assert downloaded == f"bash {LORA['script']}"
    assert "ray start" not in page_of_lora()
    (command,) = commands(page_of(SEVERAL))
    assert re.findall(r"^[^#\n].*", command, re.MULTILINE) == [
        "ray start --head",
        "ray start --address=<address>",
        "ray status",
        f"bash {script_path(DATASET, SEVERAL)}",
    ]


def test_data_and_reward_are_said_before_the_command():
    header = "# Data:     make.py (data_source mine)\n# Reward:   give\n#           https://a.org/r.py\n"
    script = f"#!/usr/bin/env bash\n{header}\n{text_of(LORA)}"
    page = page_of(LORA, script)
    reward = 'Reward: give <a href="https://a.org/r.py" rel="nofollow noopener">'
    begin = part(page, '<h2 id="begin">', '<p class="command">')
    assert reward in begin
    before = part(page, '<h2 id="start-it">', "<pre><code>")
    assert "<li>Data: make.py (data_source mine)</li>" in before
    assert reward in before
    without = part(page_of_lora(), '<h2 id="begin">', "</section>")
    assert "Reward" not in without


def test_the_release_that_first_trains_the_model_is_named():
    record = next(row for row in RECORDS if row["model"] == "Qwen/Qwen3-VL-8B-Instruct")
    text = words(part(page_of(record), '<h2 id="releases">'))
    assert "accepted by verl ≥ 0.6.0" in text
    assert (
        "trains this model with fsdp2 since 0.6.0: verl/models/transformers/monkey_patch"
        in text
    )


def test_a_script_that_cannot_be_read_still_has_a_page():
    page = page_of(LORA, "#!/usr/bin/env bash\ntrue\n")
    assert "is not known without running it" in page
    assert "MaxBatch" in page


@pytest.mark.parametrize("remote", [None, "javascript:alert(2)", KNOWN.url])
def test_a_page_links_to_the_repository_only_where_it_has_a_web_address(remote):
    repository = Repository(None, None, remote)
    page = page_of(LORA, "true\n", repository)
    path = script_path(DATASET, LORA)
    is_linked = f'href="{KNOWN.url}/blob/HEAD/{path}"' in page
    assert is_linked == (remote == KNOWN.url)
    assert "alert(2)" not in page


def test_a_url_that_is_not_https_never_becomes_a_link():
    record = {
        **LORA,
        "evidence": "javascript:alert(1)",
        "source": "http://a/",
    }
    page = page_of(record)
    assert "<td>javascript:alert(1)</td>" in page
    assert "<td>http://a/</td>" in page


def test_a_hostile_script_is_shown_as_text(browser):
    hostile = HOSTILE.replace("PAYLOAD", PAYLOAD)
    config = load_config(config_file=str(ROOT / "mkdocs.yml"))
    _, _, text = page_of(SEVERAL, hostile).split("---\n", 2)
    html = markdown(
        text,
        extensions=config.markdown_extensions,
        extension_configs=config.mdx_configs,
    )
    page = browser.new_page()
    page.set_content(html)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, script, a[href^=javascript]").count() == 0
    row = page.locator("table.settings tr", has_text="Target modules")
    value = row.locator("[data-label=Value]").text_content()
    assert PAYLOAD in str(value)
    shown = page.locator("pre", has_text="main_ppo").inner_text()
    assert shown.strip() == hostile.strip()
    page.close()


def test_a_script_is_saved_and_its_lines_are_linked(visit):
    with visit(f"/records/{RECORD}/") as page:
        with page.expect_download() as started:
            page.get_by_role("link", name="Save the script").click()
        saved = started.value.path()
        assert saved.read_bytes().decode() == text_of(LORA)
        page.locator("summary", has_text="settings of the script").click()
        row = page.locator("table.settings tr", has_text="Parameter offload")
        row.get_by_role("link", name=re.compile(r"^line \d+$")).click()
        assert "fsdp_config.param_offload=True" in page.locator(":target").inner_text()
