# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The page of 4,000 ranks and more than 100,000 messages: each interaction changes what is drawn. The processor time that each costs is
printed (pytest -s), not judged: docs/report.md has a table of it."""

import statistics

import pytest

SCENARIO = """name: many
fabric: {preset: daint30}
jobs:
  - {name: halo, nodes: 0-3999, workload: halo3d, args: {steps: 5}}
faults:
  - {label: loss, at: aries.packet, do: drop, skip: 40000, count: 8}
"""
TIMES = 5  # of each interaction
VIEW = "return JSON.stringify(Page.views[1].made.current())"


class Meter:
    """Processor time of the browser's main thread, which runs the page's script, layout and painting."""

    def __init__(self, page):
        self.page, self.costs = page, {}
        page.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})

    def now(self):
        metrics = self.page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return 1000 * next(each["value"] for each in metrics if each["name"] == "TaskDuration")

    def measure(self, name, act, *arguments):
        before = self.now()
        act(*arguments)
        self.page.settle()
        self.costs.setdefault(name, []).append(self.now() - before)

    def table(self):
        return "\n".join(f"{name:40} {statistics.median(costs):7.1f} ms {max(costs):7.1f} ms" for name, costs in self.costs.items())


@pytest.fixture(scope="module")
def many(reports, tmp_path_factory):
    scenario = tmp_path_factory.mktemp("many") / "many.yaml"
    scenario.write_text(SCENARIO)
    return reports(str(scenario))


def different(values):
    return len(set(values)) == len(values)


@pytest.mark.slow
def test_each_interaction_with_a_large_run_changes_the_picture(page, many):
    assert many.stat().st_size < 20_000_000
    meter = Meter(page)
    meter.measure("open the page", page.open, many)
    assert page.run("return Data.rows.name.length") == 4000 and page.run("return Data.messages.all") > 100_000 and page.run("return Data.messages.count") > 50_000
    for view in ("spacetime", "topology", "latency", "time", "listing"):
        meter.measure(f"first sight: {view}", page.go, view)

    page.go("spacetime")
    for _ in range(TIMES):
        meter.measure("nothing: the frames that are waited for", page.run, "return 0")
    seen = [page.run(VIEW)]
    for name, key in (("zoom", "+"), ("pan", "ArrowRight"), ("zoom ranks", "]")):
        for _ in range(TIMES):
            meter.measure(f"space-time: {name}", page.key, "#spacetime-canvas", key)
            seen.append(page.run(VIEW))
    assert different(seen)
    for _ in range(TIMES):
        meter.measure("space-time: show all", page.key, "#spacetime-canvas", "0")
    assert page.run(VIEW) != seen[-1]
    for ranks in ("0-99", "7", "0-1999", "halo.3", ""):
        meter.measure("space-time: filter ranks", page.type, "#spacetime-ranks", ranks)
    for layer in ("calls", "waits", "messages", "losses", "calls"):
        meter.measure("space-time: layer", page.click, f"#spacetime [data-layer={layer}]")

    for layer in ("calls", "waits", "messages", "losses", "calls"):
        page.click(f"#spacetime [data-layer={layer}]")
    hover = ("const canvas = document.getElementById('spacetime-canvas'), at = canvas.getBoundingClientRect();"
             "canvas.dispatchEvent(new MouseEvent('mousemove', {clientX: at.x + arguments[0], clientY: at.y + 200, bubbles: true}));"
             "canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: at.x + arguments[0], clientY: at.y + 200, bubbles: true}))")
    for step in range(TIMES):
        meter.measure("space-time: pointer moves", page.run, hover, 300 + 100 * step)

    page.go("topology")
    intervals = page.run("return Math.floor(Data.activeEnd / Data.loadWidth)")
    slider = "const slider = document.getElementById('topology-time'); slider.value = arguments[0]; slider.dispatchEvent(new Event('input'))"
    seen = []
    for step in range(1, TIMES + 1):
        meter.measure("topology: time slider", page.run, slider, intervals * step // (TIMES + 1))
        seen.append(page.text("#topology-said"))
    assert different(seen)
    for key in "+-+-+":
        meter.measure("topology: zoom", page.key, "#topology-svg", key)

    page.go("listing")
    whole = page.text("#listing-count")
    for text in ("halo.17", "loss", "PUT", "no such event", "wait"):
        meter.measure("listing: search", page.type, "#listing-search", text)
        assert page.text("#listing-count") != whole
    page.type("#listing-search", "")
    for step in range(1, TIMES + 1):
        meter.measure("listing: scroll", page.run, "const box = document.querySelector('#listing .lines'); box.scrollTop = box.scrollHeight * arguments[0] / 7", step)
    assert page.errors() == []
    print(f"\n{'':40} {'median':>10} {'largest':>10}\n{meter.table()}")
