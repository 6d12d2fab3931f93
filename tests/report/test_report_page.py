# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The page of sim-run --report in a browser: every view of runs of each kind, and what a click, a key or a field does."""

import json
import re
import sqlite3
import subprocess
import time

import pytest
from jacquard import runner

VIEWS = ("verdict", "spacetime", "topology", "latency", "time", "listing", "about")
# kind: scenario, text of the badge, pictures of which views the documentation has
RUNS = {
    "green": ("single-switch.yaml", "holds"),
    "lossy": ("quickstart.yaml", "holds"),
    "hang": ("stuck.yaml", "stuck"),
    "crash": (None, "does not hold"),
    "lnet": ("lnet/router-death.yaml", "holds"),
    "no messages": ("barrier.yaml", "holds"),
}
PICTURES = {("hang", "verdict"), ("lossy", "spacetime"), ("lossy", "topology"), ("lnet", "topology"), ("lossy", "latency"), ("lossy", "time")}


@pytest.mark.parametrize("kind", RUNS)
def test_every_view_is_drawn_without_an_error(page, reports, crash, kind):
    scenario, badge = RUNS[kind]
    path = reports(scenario or str(crash))
    for view in VIEWS:
        page.open(path, view) if view == VIEWS[0] else page.go(view)
        assert page.text("#badge").endswith(badge)
        assert page.run("return Array.from(document.querySelectorAll('.view')).filter((each) => !each.hidden).map((each) => each.id)") == [view]
        if view == "spacetime":
            assert page.painted("#spacetime-canvas") > 3 and page.count("#spacetime-info dt") > 3
        elif view == "topology":
            assert page.count("#topology-svg .router") > 0 and page.text("#topology-side") != ""
        elif view in ("latency", "time"):
            assert page.count(f"#{view} canvas") + page.count(f"#{view} .empty") > 0
            assert all(page.run("return Array.from(document.querySelectorAll(arguments[0])).map((each) => each.width > 0)", f"#{view} canvas"))
        elif view == "listing":
            assert page.count("#listing .row") > 1
        else:
            assert len(page.text(f"#{view}")) > 200
        if (kind, view) in PICTURES:
            page.picture(f"report-{kind}-{view}")
    assert page.errors() == []
    assert page.run("return performance.getEntriesByType('resource').length") == 0


def test_empty_views_say_so_in_plain_words(page, reports):
    page.open(reports("barrier.yaml"), "verdict")
    assert "This scenario injects no faults." in page.text("#verdict")
    page.go("latency")
    assert "there is nothing to draw by length" in page.text("#latency")
    page.go("topology")
    assert "No link carries anything" in page.text("#topology-side")
    page.go("time")
    assert "This run has no counters." in page.text("#time")


def test_queues_have_their_depth_and_connections_their_states(page, reports):
    page.open(reports("gni/client_server.yaml"), "time")
    assert "Connections by state" in page.text("#time") and "connected" in page.text("#time")
    page.type("#counter-filter", "CQ")
    assert re.search(r"[1-9]\d* counters( of \d+)?; of each kind", page.text("#time")) and "Completion queues: depth" in page.text("#time")
    page.type("#counter-filter", "SMSG")
    assert "SMSG: credits in use" in page.text("#time") and "node 21 to node 20" in page.text("#time")
    page.type("#counter-filter", "no such counter")
    assert page.text("#time").count("of each kind") == 1 and page.count("#time canvas") == 7
    assert page.errors() == []


def test_failure_leads_to_its_transfer(page, reports):
    page.open(reports("stuck.yaml"))
    story = page.text("#verdict .story")
    assert re.search(r"WHAT STRUCK\s+loss #1: PUT 0→4", story) and "ring.0 waits for completion queue 0" in story
    page.click("#verdict .story .fault-link")
    assert page.run("return location.hash") == "#spacetime/flow=21"
    info = page.text("#spacetime-info")
    assert info.startswith("Message 21") and "✕ lost" in info and "ring.0" in info and "ring.1" in info and "668.037 µs" in info
    # The lost transfer is red.
    lost = page.run("const canvas = document.getElementById('spacetime-canvas'), all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
                    "let red = 0; for (let i = 0; i < all.length; i += 4) red += all[i] > 190 && all[i + 1] < 70 && all[i + 2] < 80; return red")
    assert lost > 50
    page.picture("report-hang-spacetime")
    page.run("Array.from(document.querySelectorAll('#spacetime-info button')).find((each) => each.innerText === 'In the listing').click()")
    page.settle()
    assert page.run("return location.hash") == "#listing/flow=21"
    assert page.text("#listing-count").startswith("3 of ")
    page.picture("report-hang-listing")


def test_crash_has_its_backtrace_and_rank(page, reports, crash):
    page.open(reports(str(crash)))
    assert "Crashes" in page.text("#verdict") and "ring.2 on node 2" in page.text("#verdict") and "findings_ring.c" in page.text("#verdict")
    page.go("spacetime", row="ring.2")
    assert page.text("#spacetime-info").startswith("ring.2")


def test_search_in_the_listing(page, reports):
    page.open(reports("stuck.yaml"), "listing")
    whole = page.text("#listing-count")
    page.type("#listing-search", "loss #1")
    assert page.text("#listing-count") == f"1 of {whole.split(' of ')[1]}"
    assert "loss #1: PUT 0→4, 8 B at offset 0 B" in page.text("#listing .row:not(.head)") and page.text("#listing mark") == "loss #1"
    page.type("#listing-search", "no such event")
    assert page.text("#listing-count").startswith("0 of ") and page.count("#listing .row:not(.head)") == 0
    page.type("#listing-search", "")
    page.type("#listing-rank", "ring.3")
    assert page.run("return Array.from(document.querySelectorAll('#listing .row:not(.head) span:nth-child(2)')).every((each) => each.innerText.includes('ring.3'))")


def fills(page):
    return page.run("return Array.from(document.querySelectorAll('#topology-svg rect.router')).map((each) => each.getAttribute('fill'))")


def set_time(page, interval):
    page.run("const slider = document.getElementById('topology-time'); slider.value = arguments[0]; slider.dispatchEvent(new Event('input'))", interval)
    page.settle()


def test_time_slider_changes_load_and_faults(page, reports):
    page.open(reports("faults/link_down.yaml"), "topology")
    # Intervals before the first failure, between it and the repair, and after the second repair.
    before, down, after = page.run("return [350e6, 365e6, 450e6].map((time) => Math.floor(Data.toActive(time) / Data.loadWidth))")
    assert before < down < after
    seen = []
    for interval, dead in ((before, 0), (down, 2), (after, 0)):
        set_time(page, interval)
        assert page.count("#topology-svg .linkline.dead") == dead
        assert ("✕" in page.run("return document.getElementById('topology-svg').textContent.replace(/router.*?s\\d+/g, '')")) == (dead > 0)
        seen.append((fills(page), page.text("#topology-said"), page.text("#topology-side")))
        if dead:
            page.picture("report-fault-topology")
    assert len({str(each[0]) for each in seen}) == 3 and len({each[1] for each in seen}) == 3 and "✕ g0-c0s0 → g0-c0s1" in seen[1][2]
    page.run("document.querySelector('#topology-svg rect.router').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    page.settle()
    assert page.text("#topology-selected") == "g0-c0s0"


def test_lnet_router_dies_on_the_slider(page, reports):
    page.open(reports("lnet/router-death.yaml"), "topology")
    sign = "return Array.from(document.querySelectorAll('#topology-svg .sign')).filter((each) => each.textContent === '✕').length"
    set_time(page, 0)
    early = fills(page)
    assert page.run(sign) == 0
    set_time(page, page.run("return Math.floor(Data.activeEnd / Data.loadWidth) - 1"))
    assert page.run(sign) == 1 and page.count("#topology-svg .linkline.dead") == 2 and fills(page) != early


def test_zoom_pan_and_filters_of_the_space_time_diagram(page, reports):
    page.open(reports("quickstart.yaml"), "spacetime")
    current = "return Page.views[1].made.current()"
    whole = page.run(current)
    page.key("#spacetime-canvas", "+")
    zoomed = page.run(current)
    assert zoomed["domain"][1] - zoomed["domain"][0] < whole["domain"][1] - whole["domain"][0]
    page.key("#spacetime-canvas", "ArrowRight")
    assert page.run(current)["domain"][0] > zoomed["domain"][0]
    page.key("#spacetime-canvas", "]")
    assert page.run(current)["rows"][1] - page.run(current)["rows"][0] < 64
    page.key("#spacetime-canvas", "0")
    assert page.run(current)["rows"] == [0, 64]
    page.type("#spacetime-ranks", "pingpong, incast.3")
    assert page.run(current)["rows"] == [0, 17] and 0 < page.run(current)["drawn"][0] < whole["drawn"][0]
    page.type("#spacetime-ranks", "nobody")
    assert page.painted("#spacetime-canvas") > 1
    page.type("#spacetime-ranks", "")
    page.type("#spacetime-flow", str(page.run("return Data.messages.flow[5]")))
    assert page.run(current)["selected"]["message"] == 5
    page.key("#spacetime-canvas", "Escape")
    assert page.run(current)["selected"] is None
    colors = page.painted("#spacetime-canvas")
    for layer in ("calls", "waits", "messages", "losses"):
        page.click(f"#spacetime [data-layer={layer}]")
    assert page.painted("#spacetime-canvas") < colors
    # A wheel turn zooms around the pointer; a click there selects.
    page.key("#spacetime-canvas", "0")
    before = page.run(current)["domain"]
    page.run("const canvas = document.getElementById('spacetime-canvas'), at = canvas.getBoundingClientRect();"
             "canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: -240, clientX: at.x + 400, clientY: at.y + 200, bubbles: true, cancelable: true, view: window}))")
    page.settle()
    after = page.run(current)["domain"]
    assert before[0] < after[0] and after[1] < before[1]
    assert page.errors() == []


def test_keys_and_tabs_change_the_view(page, reports):
    page.open(reports("stuck.yaml"))
    for number, view in enumerate(VIEWS, 1):
        page.key("body", str(number))
        assert page.run("return location.hash") == f"#{view}"
        assert page.run("return document.querySelector('[role=tab][aria-selected=true]').getAttribute('aria-controls')") == view
    page.key("#tab-about", "ArrowRight")
    assert page.run("return location.hash") == "#verdict" and page.run("return document.activeElement.id") == "tab-verdict"


def test_dark_and_light(page, reports):
    background = "return getComputedStyle(document.body).backgroundColor"
    page.open(reports("stuck.yaml"), "spacetime/flow=21")
    light = page.run(background)
    page.dark(True)
    page.open(reports("stuck.yaml"), "spacetime/flow=21")
    dark = page.run(background)
    assert light == "rgb(255, 255, 255)" and sum(map(int, re.findall(r"\d+", dark))) < 150
    assert page.painted("#spacetime-canvas") > 3 and page.errors() == []


HOSTILE = "</script><img src=x onerror=document.title='taken'><!-- &lt; \\u003c \u2028"
PROGRAM = """
#include <run/workload.h>
static int hostile(struct rank *rank)
{
    rank_record_latency(rank, TEXT, 1000000);
    return rank_fail(rank, "%s\\xff\\xfe end", TEXT);
}
static const struct workload workload = {"hostile", "says something", "none", NULL, 1, hostile};
WORKLOAD(workload)
"""


def test_hostile_texts_stay_texts(page, reports, tmp_path):
    (tmp_path / "hostile.c").write_text(PROGRAM.replace("TEXT", json.dumps(HOSTILE, ensure_ascii=False)))
    subprocess.run(["gcc", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{runner.ROOT / 'workloads/include'}", tmp_path / "hostile.c", "-o", tmp_path / "<b>hostile&.so"], check=True)
    scenario = tmp_path / "hostile.yaml"
    scenario.write_text(f"name: hostile\ndescription: {json.dumps(HOSTILE, ensure_ascii=False)}\nfabric: {{preset: mini2}}\n"
                        "jobs:\n  - {name: ring, nodes: 0-3, program: \"./<b>hostile&.so\"}\n")
    path = reports(str(scenario), "--set", f"description={json.dumps(HOSTILE)}")
    for view in VIEWS:
        page.open(path, view)
        assert page.count("img") == 0 and page.count("b") <= 1 and page.run("return document.title") == "hostile – Jacquard report"
        assert page.run("return document.scripts.length") == 2
    page.open(path)
    assert page.run("return document.querySelector('#header .description').textContent") == HOSTILE
    assert f"{HOSTILE}\ufffd\ufffd end" in page.run("return document.getElementById('verdict').textContent")
    page.go("latency")
    assert f"ring.{HOSTILE}" in page.run("return document.getElementById('latency').textContent")
    page.go("about")
    assert "onerror" in page.run("return document.getElementById('scenario').textContent") and "onerror" in page.run("return document.getElementById('command').textContent")
    # Even an element that was injected would execute nothing: the page allows its own script only.
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=data:, onerror=\"document.title=1\"><script>document.title=2</' + 'script>')")
    page.settle()
    assert page.run("return document.title") == "hostile – Jacquard report"


def test_a_campaign_has_its_causes_runs_and_metrics(page, campaign):
    path, results = campaign
    failed = [run for run in results["runs"] if run["exit"] != 0]
    assert 0 < len(failed) < 12 and len(results["runs"]) == 20
    page.open(path, "verdict")
    assert page.text("#badge") == f"✘ {len(failed)} runs do not hold"
    text = page.text("#verdict")
    assert f"✘ {len(failed)} runs failed: expected: pingpong.latency.max below" in text
    assert f"--seed {failed[0]['seed']}" in page.text("#verdict pre") and "jobs.pingpong.args.bytes=1KiB" in text
    assert page.count("#verdict tbody tr") == 3
    page.picture("report-campaign-verdict")
    page.click("#verdict .cause .link")
    assert page.text("#runs-count") == "1 of 20 runs" and failed[0]["problem"] in page.text("#runs tbody")
    page.type("#runs-search", "holds")
    assert page.text("#runs-count") == f"{20 - len(failed)} of 20 runs"
    page.type("#runs-search", "no run has this")
    assert page.text("#runs .empty") == "No run matches."
    page.go("metrics")
    assert page.count("#metrics canvas") == 1 and page.count("#metrics .scroll tbody tr") == 3
    medians = sorted(run["metrics"]["pingpong.latency"]["p50"] for run in results["runs"][:12])
    assert f"{medians[0] / 1000:.4g} ns" in page.text("#metrics .scroll tbody tr")
    page.picture("report-campaign-metrics")
    page.go("about")
    assert "sim-run campaign losses.yaml" in page.text("#command") and "seeds: 1-12" in page.text("#scenario")
    assert page.errors() == []
    assert page.run("return performance.getEntriesByType('resource').length") == 0


def results_in(path):
    with sqlite3.connect(path) as results:
        if not results.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchall():
            return 0
        return results.execute("SELECT count(*) FROM runs").fetchone()[0]


def test_a_campaign_of_ten_thousand_runs(page, campaign, tmp_path):
    """Results as of 10,000 runs, made of the first ones: the page is below 20 MB, and finds any run."""
    seeds = 10_000
    (tmp_path / "many.yaml").write_text(f"name: many\nruns: [{{scenario: {runner.ROOT / 'docs/examples/first.yaml'}, seeds: 1-{seeds}}}]\n")
    command = [runner.sim_run(), "campaign"]
    begun = subprocess.Popen([*command, tmp_path / "many.yaml", "--quiet"])
    while not (tmp_path / "many.sqlite").exists() or results_in(tmp_path / "many.sqlite") == 0:
        assert begun.poll() is None
        time.sleep(0.02)
    begun.terminate()
    assert begun.wait(60) == 143
    with sqlite3.connect(tmp_path / "many.sqlite") as results:
        names = [row[1] for row in results.execute("PRAGMA table_info(runs)") if row[1] not in ("number", "seed", "own_seed")]
        have = [row[0] for row in results.execute("SELECT number FROM runs ORDER BY number")]
        for number in sorted(set(range(seeds)) - set(have)):  # those that were under way have none either
            results.execute(f"INSERT INTO runs (number, seed, own_seed, {', '.join(names)}) SELECT ?, ?, ?, {', '.join(names)} FROM runs WHERE number = ?",
                            (number, number + 1, number + 1, have[number % len(have)]))
    done = subprocess.run([*command, "status", tmp_path / "many.yaml", "--report", tmp_path / "many.html"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "many.html").stat().st_size < 20_000_000
    page.open(tmp_path / "many.html", "runs")
    assert page.text("#runs-count") == "10\u202f000 of 10\u202f000 runs; the first 500 are listed"
    page.type("#runs-search", "9999")
    assert int(page.text("#runs-count").split()[0]) < 500 and "9999" in page.text("#runs tbody")
    page.go("metrics")
    assert page.count("#metrics canvas") > 0
    assert page.errors() == []


def test_a_campaign_without_results_says_so(page, tmp_path):
    (tmp_path / "empty.yaml").write_text(f"name: '<b>&'\nruns: [{{scenario: {runner.ROOT / 'docs/examples/first.yaml'}, seeds: 1}}]\n")
    command = [runner.sim_run(), "campaign"]
    assert subprocess.run([*command, tmp_path / "empty.yaml", "--quiet"], capture_output=True).returncode == 0
    with sqlite3.connect(tmp_path / "empty.sqlite") as results:
        results.execute("DELETE FROM runs")
    done = subprocess.run([*command, "status", tmp_path / "empty.yaml", "--report", tmp_path / "empty.html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page.open(tmp_path / "empty.html", "verdict")
    assert page.text("h1") == "<b>&" and page.text("#badge") == "… not finished" and "No run has a result yet." in page.text("#verdict")
    page.go("metrics")
    assert page.text("#metrics .empty") == "No run has a metric."
    page.go("runs")
    assert page.text("#runs .empty") == "No run matches."
    assert page.errors() == []


def test_a_page_of_a_campaign_that_cannot_be_written_is_one_line(campaign, tmp_path):
    path, _ = campaign
    for arguments, said in ((["status", "--report", tmp_path / "none" / "x.html"], "No such file"), (["results", "--report", tmp_path / "x.html"], "--report: allowed: ")):
        done = subprocess.run([runner.sim_run(), "campaign", arguments[0], path.with_suffix(".yaml"), *arguments[1:]], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr
