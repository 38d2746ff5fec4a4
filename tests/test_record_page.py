"""The page of a record says what row, trials and script say."""

import json
import re
from functools import cache
from html import unescape

import pytest
from markdown import markdown
from mkdocs.config import load_config

from rl_resources.certainty import certainty
from rl_resources.dataset import script_path
from rl_resources.git import Repository
from rl_resources.package import Record
from rl_resources.query.vocabulary import NO_TAG
from rl_resources.script.script_text import ScriptText
from rl_resources.site import record_page
from rl_resources.site.api import record_id
from rl_resources.site.environment import Site
from rl_resources.site.tuning_table import sure_of
from sample_tree import with_tables
from shipped import DATASET
from website import RECORD, ROOT, visited

RECORDS = DATASET.records["tuning"]
LORA = DATASET.by_key["tuning"][f"{RECORD}.sh"]
SEVERAL = next(row for row in RECORDS if int(str(row["nodes"] or 1)) > 2)
KNOWN = Repository("a" * 40, 0, "https://example.org/o/r")
PAYLOAD = "<img src=x onerror=window.hacked=1></code></td><script>window.hacked=1</script>"
HOSTILE = (ROOT / "tests/hostile/record.sh").read_text(encoding="utf-8")


def text_of(record: Record) -> str:
    return (ROOT / script_path(DATASET, record)).read_bytes().decode()


def page_of(record: Record, text: str | None = None, repository: Repository = KNOWN) -> str:
    """The page of one record, with another script where `text` is given."""
    script = text_of(record) if text is None else text
    site = Site(with_tables(DATASET, tuning=[record]), repository.url, "https://example.org/site/")
    made = record_page.pages(site, {str(record["script"]): script}, repository)
    return made[f"records/{record_id(record)}.md"]


@cache
def page_of_lora() -> str:
    return page_of(LORA)


def words(html: str) -> str:
    """The text of a piece of a page, as a reader sees it."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html.replace("<wbr>", ""))).split())


def part(page: str, start: str, end: str = "<h2") -> str:
    """The text between a mark and the next heading."""
    return page.split(start, 1)[1].split(end, 1)[0]


@pytest.mark.parametrize("record", [LORA, SEVERAL], ids=["one node", "several"])
def test_the_page_answers_with_the_row_its_trials_and_its_script(record):
    page, path = page_of(record), script_path(DATASET, record)
    device = DATASET.by_key["devices"][record["device"]]
    fits = words(part(page, '<h2 id="fit">'))
    assert f"{record['gpus']} × {str(record['device']).upper()} 80 GB" in fits
    assert f"{record['gpus'] * device['memory_gb']:g} GB in all" in fits  # type: ignore[operator]
    assert f"MaxBatch {record['max_batch'] or 'not searched'}" in fits
    assert path in words(part(page, '<h2 id="begin">'))
    sure = words(part(page, '<h2 id="sure">', "</section>"))
    assert certainty(record) in sure
    assert ("not run here yet" in sure) == (not record["tested_on"])
    assert ("is not known" in sure) == (not record["framework_version"])
    trials = [row for row in DATASET.records["trials"] if row["script"] == record["script"]]
    rungs = [words(rung) for rung in re.findall(r'<li class="rung[^"]*">(.*?)</li>', page, re.S)]
    assert rungs == [
        f"{row['batch']}{'ran' if row['outcome'] == 'ran' else 'failed'} trial {row['order']}"
        for row in sorted(trials, key=lambda row: int(str(row["batch"])))
    ]


def test_a_badge_names_hardware_and_certainty():
    badge = json.loads(record_page.badges(DATASET)[f"badges/{RECORD}.json"])
    assert set(badge) == {"schemaVersion", "label", "message"}
    assert badge["message"].endswith(f" · {LORA['tag'] or NO_TAG} · {sure_of(LORA)}")


def test_each_setting_has_its_value_and_the_line_that_has_it():
    page, text = page_of_lora(), text_of(LORA)
    lines, run = text.split("\n"), ScriptText("x.sh", text).run
    rows = part(page, '<h2 id="settings">').split("<tr>")
    stated = [item for item in record_page.explained(run) if item.setting.place]
    assert len(stated) > 10
    for item in stated:
        setting = item.setting
        assert setting.key.rpartition(".")[2] in lines[setting.place.line - 1]
        (row,) = (row for row in rows if f'data-label="Setting">{item.title}<' in row)
        assert f"{setting.key} {item.value} line" in words(row.replace("</th>", " "))
        assert f'href="#__span-script-{setting.origin.line}"' in row
        permalink = f"{KNOWN.url}/blob/{KNOWN.commit}/{script_path(DATASET, LORA)}"
        assert f'href="{permalink}#L{setting.origin.line}"' in row


@pytest.mark.parametrize("record", {row["train"]: row for row in RECORDS}.values())
def test_what_saves_memory_is_shown_whatever_the_training_backend(record):
    run = ScriptText(str(record["script"]), text_of(record)).training
    words = ("parameter-offload", "optimizer-offload", "activation-checkpointing")
    savers = [run.optimizations[word] for word in words]
    wanted = [*savers, run.offload_policy, run.sequence_parallel_size]
    shown = {item.setting.key for item in record_page.explained(run)}
    assert {setting.key for setting in wanted if setting.key} <= shown


def test_an_open_setting_shows_the_default_and_an_unreadable_one_no_value():
    defaults = part(page_of_lora(), "more that the script leaves to verl")
    assert "line" not in words(part(defaults, "Cache released", "</td>"))
    key = "actor_rollout_ref.rollout.gpu_memory_utilization"
    run = ScriptText("x.sh", f"python3 -m verl.trainer.main_ppo {key}=$(cat share)\n").run
    (share,) = [item for item in record_page.explained(run) if item.setting.key == key]
    assert share.value == "not known without running the script"


def test_one_node_needs_one_command_and_several_a_cluster_first():
    start = part(page_of_lora(), '<h2 id="start-it">')
    commands = re.findall(r"<pre><code>(.*?)</code></pre>", start, re.S)
    name, path = LORA["script"], script_path(DATASET, LORA)
    assert commands[:2] == [f"bash {path}", f"bash {name}"]
    assert "ray start" not in page_of_lora()
    start = part(page_of(SEVERAL), '<h2 id="start-it">')
    (command,) = re.findall(r"<pre><code>(.*?)</code></pre>", unescape(start), re.S)
    steps = ["ray start --head", "ray start --address=<address>", "ray status"]
    steps.append(f"bash {script_path(DATASET, SEVERAL)}")
    assert [line for line in command.split("\n") if line and line[0] != "#"] == steps


def test_data_and_reward_are_said_before_the_command():
    header = (
        "# Data:     make.py (data_source mine)\n# Reward:   give\n#           https://a.org/r.py\n"
    )
    page = page_of(LORA, f"#!/usr/bin/env bash\n{header}\n{text_of(LORA)}")
    reward = 'Reward: give <a href="https://a.org/r.py" rel="nofollow noopener">'
    assert reward in part(page, '<h2 id="begin">', '<p class="command">')
    before = part(page, '<h2 id="start-it">', "<pre><code>")
    assert "<li>Data: make.py (data_source mine)</li>" in before
    assert reward in before
    begin = part(page_of_lora(), '<h2 id="begin">', "</section>")
    assert "Reward" not in begin


def test_the_release_that_first_trains_the_model_is_named():
    record = next(row for row in RECORDS if str(row["script"]).startswith("qwen3-vl-8b-instruct"))
    text = words(part(page_of(record), '<h2 id="releases">'))
    assert "accepted by verl ≥ 0.6.0" in text
    assert "trains this model with fsdp2 since 0.6.0: verl/models/transformers/monkey_patch" in text


def test_a_script_that_cannot_be_read_still_has_a_page():
    page = page_of(LORA, "#!/usr/bin/env bash\ntrue\n")
    assert "is not known without running it" in page
    assert "MaxBatch" in page


@pytest.mark.parametrize("remote", [None, "javascript:alert(2)", KNOWN.url])
def test_a_page_links_to_the_repository_only_where_it_has_a_web_address(remote):
    page = page_of(LORA, "true\n", Repository(None, None, remote))
    link = f'href="{KNOWN.url}/blob/HEAD/{script_path(DATASET, LORA)}"'
    assert (link in page) == (remote == KNOWN.url)
    assert "alert(2)" not in page


def test_a_url_that_is_not_https_never_becomes_a_link():
    page = page_of({**LORA, "evidence": "javascript:alert(1)", "source": "http://a/"})
    assert "<td>javascript:alert(1)</td>" in page
    assert "<td>http://a/</td>" in page


def test_a_hostile_script_is_shown_as_text(browser):
    hostile = HOSTILE.replace("PAYLOAD", PAYLOAD)
    config = load_config(config_file=str(ROOT / "mkdocs.yml"))
    html = markdown(
        page_of(SEVERAL, hostile).split("---\n", 2)[2],
        extensions=config.markdown_extensions,
        extension_configs=config.mdx_configs,
    )
    page = browser.new_page()
    page.set_content(html)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, script, a[href^=javascript]").count() == 0
    row = page.locator("table.settings tr", has_text="Target modules")
    assert PAYLOAD in str(row.locator("[data-label=Value]").text_content())
    assert page.locator("pre", has_text="main_ppo").inner_text().strip() == hostile.strip()
    page.close()


def test_a_script_is_saved_and_its_lines_are_linked(browser, address):
    with visited(browser, f"{address}/records/{RECORD}/") as page:
        with page.expect_download() as started:
            page.get_by_role("link", name="Save the script").click()
        assert started.value.path().read_bytes().decode() == text_of(LORA)
        page.locator("summary", has_text="settings of the script").click()
        row = page.locator("table.settings tr").filter(has_text="Parameter offload")
        row.get_by_role("link", name=re.compile(r"^line \d+$")).click()
        assert "fsdp_config.param_offload=True" in page.locator(":target").inner_text()
