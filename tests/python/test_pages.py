"""Every page of the demo and of the how-tos in a real browser: in a narrow, a usual and a wide window, light and
dark. What is measured, and how, is in measure_page.js."""

import csv
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import browser
import pytest
from test_docs import blocks_of, run

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = (420, 1400, 2560)
DEMO = ROOT / "examples" / "demo.sh"
HOW_TOS = [
    path for path in sorted((ROOT / "docs" / "how-to").glob("*.md")) if "--html" in path.read_text()
]
# Pages that the demo has no like of: a step under a second, a plan that does not fit, a sweep, many maps.
ASKED = {
    "plan-short": 'plan gpt-3-1.3b --on "2 x dgx-h100" --global-batch 64 --seq 2048 --max-tp 4',
    "plan-sweep": 'plan gpt-3-1.3b --on "2 x dgx-h100" --global-batch 64 --seq 2048 --sweep n=4,8,16',
    "estimate-too-big": 'estimate llama-3.1-405b --on "2 x dgx-h100" --tp 8 --global-batch 64 --seq 8192',
    "whatif": "whatif ../demo/sample --scale gemm=0.8 --scale network=2 --remove straggler --sensitivity",
    "whatif-refused": "whatif ../demo/sample --chip mi300x",
    "serve-apart": 'serve llama-3-8b --on dgx-h100 --disaggregated 1:2 --rate 6 --requests 300 --input 1024 --output 128 --price 2',
    "serve-quick": "serve llama-3-8b --on dgx-h100 --replicas 1 --users 1 --requests 3 --input 64 --output 16 --quick",
    "serve-plan": 'serve-plan llama-3-8b --on dgx-h100 --engine vllm,sglang --precision bf16 --rate 4 --input 1024 --output 128 '
    '--requests 200 --price 2 --front --slo "ttft.p99<1s,tpot.p99<50ms"',
    "serve-plans": 'serve-plan llama-3-8b --on dgx-h100 --on dgx-b200 --price 2,4 --engine vllm --precision bf16 --rate 4 --input 1024 '
    '--output 128 --requests 100 --slo "ttft.p99<1s,tpot.p99<50ms"',
    "serve-plan-none": 'serve-plan llama-3-8b --on dgx-h100 --engine vllm --precision bf16 --rate 4 --input 1024 --output 128 '
    '--requests 100 --slo "ttft.p99<1ms"',
    "explore-many": 'explore gpt3-175b --on "8 x sn10" --topology torus:4x2 --sweep sram=150MB,500MB '
    "--sweep memory-bandwidth=100GB/s,1TB/s --sweep link-bandwidth=25GB/s,100GB/s,200GB/s",
}


def pages_of(script: str) -> list[str]:
    return [Path(name.strip('"')).stem for name in re.findall(r"--html (\S+)", script)]


def pages_of_document(path: Path) -> list[str]:
    """Those of the blocks that run here."""
    return [name for _, body, skipped in blocks_of(path) if not skipped for name in pages_of(body)]


NAMES = (
    ["demo/index"]
    + [f"demo/{name}" for name in pages_of(DEMO.read_text())]
    + [f"{path.stem}/{name}" for path in HOW_TOS for name in pages_of_document(path)]
    + [f"asked/{name}" for name in ASKED]
    + ["asked/odd"]
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """All pages, made as the demo and the documents make them."""
    program = os.environ.get("FLOPCAST_CLI")
    if not program:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    folder = tmp_path_factory.mktemp("pages")
    (folder / "bin").mkdir()
    (folder / "bin" / "flopcast").symlink_to(Path(program).resolve())
    programs = str(folder / "bin")
    environment = dict(os.environ, FLOPCAST=str(Path(program).resolve()))
    printed = subprocess.run([DEMO, folder / "demo"], check=True, capture_output=True, env=environment)
    (folder / "demo.log").write_bytes(printed.stdout)
    for path in HOW_TOS:
        place = folder / path.stem
        place.mkdir()
        (place / "demo").mkdir()
        (place / "demo" / "sample").symlink_to(folder / "demo" / "sample")
        (place / "examples").symlink_to(ROOT / "examples")
        for kind, body, skipped in blocks_of(path):
            if kind == "sh" and not skipped:
                run(["bash", "-euo", "pipefail", "-c", body], place, programs)
        for page in (place / "demo").glob("*.html"):
            page.rename(place / page.name)
    make_asked(folder / "asked", folder / "demo" / "sample", programs)
    return folder


def make_asked(place: Path, sample: Path, programs: str) -> None:
    place.mkdir()
    for name, command in ASKED.items():
        # A plan that does not fit ends with 4, a question without an answer with 5, and they have pages.
        script = f"flopcast {command} --html {name}.html || test $? -ge 4"
        run(["bash", "-c", script], place, programs)
    # Files with names that no line can be broken in, one of them cut off in the middle.
    odd = place / ("a_run_with_a_name_" + "that_does_not_end_" * 6)
    odd.mkdir()
    whole, torn = sorted(sample.glob("*.json.gz"))[:2]
    shutil.copy(whole, odd)
    text = gzip.decompress(torn.read_bytes())
    (odd / torn.stem).write_bytes(text[: len(text) // 2])
    run(["bash", "-c", f'flopcast replay "{odd.name}" --html odd.html'], place, programs)


@pytest.fixture(scope="session")
def tab():
    if browser.program() is None:
        if os.environ.get("FLOPCAST_REQUIRE_ALL"):
            pytest.fail("no Chromium: run ./dev setup")
        pytest.skip("no Chromium here")
    with browser.Browser() as chromium:
        yield chromium.new_page((Path(__file__).parent / "measure_page.js").read_text())


def show(tab, folder: Path, name: str, width: int, dark: bool = False) -> None:
    """Loads a page and makes the window as high as it, so that everything is seen at once."""
    file = folder / f"{name}.html"
    tab.load(file.as_uri(), width, 900, dark)
    tab.resize(width, tab.evaluate("document.documentElement.scrollHeight"))
    tab.settle()


@pytest.mark.parametrize("name", NAMES)
def test_page_is_sound(tab, folder, name):
    wrong = []
    for width in WIDTHS:
        for dark in (False, True):
            show(tab, folder, name, width, dark)
            found = tab.evaluate("[...measure.overflow(), ...measure.texts(), ...measure.bars()]")
            found += tab.complaints
            found += [f"asks for {url}" for url in tab.requests if not url.startswith("file:")]
            wrong += [f"{width} px, {'dark' if dark else 'light'}: {what}" for what in found]
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.parametrize("name", NAMES)
def test_keyboard_reaches_every_control(tab, folder, name):
    show(tab, folder, name, 420)
    wrong = tab.evaluate("measure.unnamed()")
    controls = tab.evaluate("measure.startWalk()")
    for _ in range(controls + 3):
        tab.press("Tab", 9)
        step = tab.evaluate("measure.step()")
        wrong += step["wrong"]
        if step["done"]:
            break
    wrong += tab.evaluate("measure.unreached()")
    assert not wrong, "\n".join(wrong[:20])


# Keeps what a page would save, in place of saving it.
SAVED = """
    (async () => {
        const saved = [];
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { saved.push(blob); return "#"; };
        for (const button of document.querySelectorAll("button.save")) {
            button.click();
        }
        URL.createObjectURL = make;
        return JSON.stringify(await Promise.all(saved.map(async (blob) => [blob.type, await blob.text()])));
    })()
"""


@pytest.mark.parametrize("name", NAMES)
def test_page_tells_how_it_came_about(tab, folder, name):
    if name == "demo/index":
        pytest.skip("the demo's own list of pages")
    show(tab, folder, name, 1400)
    foot = tab.evaluate("document.querySelector('footer').textContent")
    assert re.search(r"Made by Flopcast \d+\.\d+\.\d+ on \d{4}-\d\d-\d\d\.", foot), foot
    told = json.loads(tab.evaluate("document.getElementById('origin').textContent"))
    assert told["command"].startswith("flopcast ") and f"{Path(name).name}.html" in told["command"]
    assert told["command"] in foot and all(one in foot for one in told["inputs"])
    saved = json.loads(tab.evaluate(SAVED))
    assert [kind for kind, _ in saved].count("application/json") == 1
    tables = tab.evaluate("[...document.querySelectorAll('main table')].map((table) => table.rows.length)")
    lines = [len(list(csv.reader(text.splitlines()))) for kind, text in saved if kind == "text/csv"]
    assert lines == tables
    json.loads(next(text for kind, text in saved if kind == "application/json"))


# What a reader may do to a page that draws it anew, by the page.
VIEWS = {
    "demo/replay": [
        "choose('Rank', '-1')",
        "choose('Rank', '5')",
        "choose('Step', '1')",
        "push('zoom in')",
        "push('GPU steps')",
        "push('Any stream active')",
        "push('light / dark')",
    ],
    "ask-what-if/deeper": ["choose('Rank', '-1')", "choose('Rank', '0')", "push('zoom in')", "push('light / dark')"],
    "asked/whatif": ["choose('Rank', '5')", "push('zoom in')", "push('GPU before')", "push('light / dark')"],
    "demo/serve": ["push('TTFT')", "push('light / dark')"],
    "demo/explore": ["choose('columns', 'sram')", "push('light / dark')"],
    "demo/flows": ["push('light / dark')"],
}
HANDS = """
    window.changed = (node) => node.dispatchEvent(new Event("change"));
    window.choose = (label, value) => {
        const select = document.querySelector(`select[aria-label="${label}"]`);
        select.value = value;
        if (select.value !== value) throw new Error(`${label} has no ${value}`);
        changed(select);
    };
    window.push = (name) => [...document.querySelectorAll("button")]
        .find((b) => name === (b.getAttribute("aria-label") || b.textContent)).click();
"""


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("width", (420, 1400))
def test_every_view_is_sound(tab, folder, name, width):
    show(tab, folder, name, width)
    tab.evaluate(HANDS)
    for act in VIEWS[name]:
        tab.evaluate(act)
        tab.settle()
        wrong = tab.evaluate("[...measure.overflow(), ...measure.texts(), ...measure.bars()]")
        assert not wrong + tab.complaints, "\n".join([act, *wrong[:20]])


@pytest.mark.parametrize("name, over", [("demo/estimate", ".bar div"), ("demo/all_reduce", "svg.chart")])
def test_tooltips_stay_in_the_window(tab, folder, name, over):
    show(tab, folder, name, 420)
    for edge in ("left + 2", "right - 2"):
        left, right, text = tab.evaluate(
            f"""(() => {{
                const node = document.querySelector("{over}"), box = node.getBoundingClientRect();
                node.dispatchEvent(new MouseEvent("mousemove", {{ clientX: box.{edge}, clientY: box.top + 9 }}));
                const tip = document.getElementById("tip"), at = tip.getBoundingClientRect();
                return [at.left, at.right, tip.innerText];
            }})()"""
        )
        assert text and 0 <= left and right <= 420


def test_browser_asks_for_the_page_alone(tab, folder):
    show(tab, folder, "demo/replay", 1400)
    assert len(tab.requests) == 1


COLOURS_OF_LEGENDS = """Object.fromEntries([...document.querySelectorAll(".legend span")].map((entry) =>
    [entry.textContent, getComputedStyle(entry.querySelector("i")).backgroundColor]))"""


def test_one_thing_has_one_colour_on_estimate_and_plan(tab, folder):
    show(tab, folder, "demo/estimate", 1400)
    estimate = tab.evaluate(COLOURS_OF_LEGENDS)
    show(tab, folder, "demo/plan", 1400)
    plan = tab.evaluate(COLOURS_OF_LEGENDS)
    for word in ("gradients", "optimizer", "activations", "weights"):
        mine = {colour for name, colour in estimate.items() if name.startswith(word)}
        assert mine == {plan[word]}, word


def test_bars_of_a_step_under_a_second_are_full(tab, folder):
    show(tab, folder, "asked/plan-short", 1400)
    times, shares = tab.evaluate(
        """[JSON.parse(document.getElementById("data").textContent).points[0].best.map((b) => b.time_s),
            [...[...document.querySelectorAll("section")].find((s) => /Where the time goes/.test(s.innerText))
                .querySelectorAll(".bar")].map((bar) => [...bar.children]
                .reduce((sum, part) => sum + part.getBoundingClientRect().width, 0))]"""
    )
    assert len(times) > 3 and max(times) < 1
    longest = max(shares)
    assert longest > 400
    assert all(abs(share / longest - time / max(times)) < 0.01 for share, time in zip(shares, times))


def test_tables_sort_and_filter(tab, folder):
    show(tab, folder, "demo/replay", 1400)
    tab.evaluate(
        """window.table = [...document.querySelectorAll("section")].find((s) => /Kernels/.test(s.innerText));
        window.column = (i) => [...table.querySelectorAll("tbody tr")].filter((row) => !row.hidden)
            .map((row) => row.cells[i].innerText)"""
    )
    times = [int(text.replace(",", "")) for text in tab.evaluate("column(1)")]
    assert len(times) > 8 and times != sorted(times)
    tab.evaluate("table.querySelectorAll('button.sort')[1].click()")
    again = [int(text.replace(",", "")) for text in tab.evaluate("column(1)")]
    assert again == sorted(times, reverse=True)
    tab.evaluate("table.querySelector('input').focus()")
    for letter in "nccl":
        tab.press(letter, text=letter)
    names = tab.evaluate("column(0)")
    assert 0 < len(names) < len(times) and all("nccl" in name.lower() for name in names)


def test_flags_have_a_copy_button(tab, folder):
    show(tab, folder, "demo/plan", 420)
    tab.evaluate("document.querySelector('button.copy').click()")
    tab.settle()
    said = tab.evaluate("document.querySelector('button.copy').textContent")
    selected = tab.evaluate("getSelection().toString()")
    assert said == "Copied" or (said == "Press Ctrl+C" and "--micro-batch-size" in selected)


def test_heat_maps_fill_a_wide_screen(tab, folder):
    show(tab, folder, "demo/explore", 2560)
    boxes = tab.evaluate(
        "[...document.querySelectorAll('.maps')].map((m) => m.getBoundingClientRect()).map((b) => [b.left, b.right, b.top])"
    )
    assert len(boxes) == 4 and max(box[1] for box in boxes) > 2400
    assert len({box[0] for box in boxes}) == 4


def test_strips_of_links_are_named(tab, folder):
    show(tab, folder, "demo/flows", 420)
    names = tab.evaluate("[...document.querySelectorAll('.strips .name')].map((n) => n.textContent)")
    assert len(names) > 8 and all(" > " in name for name in names)


def test_demo_prints_every_command_before_it_runs_it(folder):
    """What it prints runs as it stands, and its answer follows."""
    parts = (folder / "demo.log").read_text().split("\n$ ")[1:]
    asked = [shlex.split(part.splitlines()[0]) for part in parts]
    script = DEMO.read_text().replace("\\\n", "")
    typed = [shlex.split(line)[1:] for line in script.splitlines() if line.startswith("run ")]
    values = {"$flopcast": "flopcast", "$out": str(folder / "demo")}
    for words in typed:
        words[:] = [re.sub(r"\$\w+", lambda name: values[name[0]], word) for word in words]
    assert asked == typed and len(asked) > 7
    estimate = next(part for words, part in zip(asked, parts) if "estimate" in words)
    assert "a step" in estimate and "The best" not in estimate


def test_demo_has_a_page_of_its_pages(tab, folder):
    """Its links are all that the demo made, and lead to what is there."""
    show(tab, folder, "demo/index", 1400)
    links = tab.evaluate("[...document.querySelectorAll('a')].map((link) => link.getAttribute('href'))")
    made = {f"{path.name}/" if path.is_dir() else path.name for path in (folder / "demo").iterdir()}
    assert set(links) == made - {"index.html"} and len(links) == len(set(links))
    assert str(folder / "demo" / "index.html") in (folder / "demo.log").read_text().splitlines()[-1]


def test_theme_can_be_chosen(tab, folder):
    show(tab, folder, "demo/estimate", 420)
    ground = "getComputedStyle(document.body).backgroundColor"
    before = tab.evaluate(ground)
    tab.evaluate("document.getElementById('theme').click()")
    assert tab.evaluate(ground) != before
