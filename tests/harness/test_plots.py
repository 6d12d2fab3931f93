# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""jacquard plot: the pictures contain the values of the results, and bad input is one line."""

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import jacquard
import pytest
from jacquard import heat, plot, results, style

plt = style.pyplot
CAMPAIGN = """name: c
runs:
  - scenario: SCENARIO
    seeds: 1-4
    sweep: {jobs.pingpong.args.bytes: [8, 1KiB]}
    set:
      jobs.pingpong.args.iterations: 300
      faults: "[{label: loss, at: aries.packet, do: drop, probability: 0.0005}]"
      expect: "[{ledger: balanced}, {metric: pingpong.latency.max, below: 1ms}]"
"""


def histogram(factor, count=9000):
    return {"type": "histogram", "unit": "ps", "count": count, "min": factor * 1000000, "mean": factor * 2e6,
            "p50": factor * 2000000, "p90": factor * 3000000, "p99": factor * 4000000, "p999": factor * 5000000,
            "max": factor * 6000000}


def result(metrics, exit_code=0, **more):
    return {"schema": 1, "exit": exit_code, "metrics": metrics, "problems": ["it hangs"] if exit_code else [],
            "scenario": {"name": "s", "seed": 1}, "jobs": [{"name": "a"}], **more}


def gauge(value):
    return {"a.bandwidth": {"type": "gauge", "unit": "bytes/s", "value": value}}


def runs_of(*loaded):
    return plot.all_runs([results.Results(f"file{at}", results.of_json("x.json", json.dumps(one))) for at, one in enumerate(loaded)])


def axes_of(draw, *arguments):
    _, axes = plt.subplots()
    draw(axes, *arguments)
    return axes


def drawn(*words):
    return plot.main(list(map(str, words)))


@pytest.fixture
def refused(capsys):
    """Calls the command; returns its line on standard error."""
    def call(*words):
        assert drawn(*words) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and err.startswith("jacquard plot: "), err
        return err

    return call


@pytest.fixture(scope="module")
def adversarial(tmp_path_factory):
    """A folder of --out: 10 ms of set-up, and 0.2 ms in which links between groups are full."""
    folder = tmp_path_factory.mktemp("out") / "adversarial"
    jacquard.run(jacquard.ROOT / "scenarios/workloads/traffic_adversarial.yaml", set={"expect": "[]"}, options=["--out", str(folder)])
    return folder


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign")
    (folder / "c.yaml").write_text(CAMPAIGN.replace("SCENARIO", str(jacquard.ROOT / "docs/examples/first.yaml")))
    subprocess.run([jacquard.sim_run(), "campaign", folder / "c.yaml", "--quiet"], capture_output=True)
    return folder / "c.sqlite"


def test_cdf_shows_quantiles_of_json_and_buckets_of_folders():
    axes = axes_of(plot.cdf, runs_of(result({"a.latency": histogram(1)}), result({"a.latency": histogram(2)})), "a.latency")
    lines = [list(line.get_xdata()) for line in axes.lines]
    assert lines == [[1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12]] and axes.get_xlabel() == "a.latency (µs)"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["file0 (9,000 values)", "file1 (9,000 values)"]
    few = axes_of(plot.cdf, runs_of(result({"a.latency": histogram(1, 20)})), "a.latency")
    assert list(few.lines[0].get_xdata()) == [1, 2, 3, 6]  # 20 values have no 99th percentile
    run = results.Run({}, 1, True, "", {"m": dict(histogram(1, 4), p50=1000)}, buckets={"m": [(1000, 3), (9000, 1)]})
    steps = axes_of(plot.cdf, [("", run)], "m").lines[0]
    assert list(steps.get_xdata()) == [1, 1, 9] and list(steps.get_ydata()) == [1, 4, 8]


def test_curve_averages_seeds_and_draws_a_line_per_other_setting():
    rows = [{"set": {"size": size, "how": how}, "seed": seed, "result": result(gauge(1e9 * seed * scale))}
            for scale, how in [(1, "put"), (2, "get")] for size in ["8", "4KiB"] for seed in [1, 3]]
    axes = axes_of(plot.curve, runs_of(rows), "size", "a.bandwidth", "linear")
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines] == [
        ([8, 4096], [2, 2]), ([8, 4096], [4, 4])]
    assert axes.get_ylabel() == "a.bandwidth (GB/s)" and len(axes.collections) == 2  # bands from the smallest to the largest
    assert [text.get_text() for text in axes.get_xticklabels()] == ["8", "4KiB"]
    for name, label in (("jobs.0.args.bytes", "bytes"), ("jobs.pingpong.args.bytes", "bytes of pingpong"), ("fabric.fidelity", "fabric.fidelity")):
        renamed = [{**row, "set": {name: row["set"]["size"], "how": row["set"]["how"]}} for row in rows]
        assert axes_of(plot.curve, runs_of(renamed), name, "a.bandwidth").get_xlabel() == label


def test_failed_runs_are_marked_and_do_not_count():
    rows = [{"set": {"size": "8"}, "seed": 1, "result": result(gauge(1e9))}, {"set": {"size": "8"}, "seed": 2, "result": result(gauge(5e9), 1)},
            {"set": {"size": "16"}, "seed": 1, "result": result({}, 3)}, {"set": {"size": "16"}, "seed": 2, "result": {"error": "refused", "exit": 2}}]
    axes = axes_of(plot.curve, runs_of(rows), "size", "a.bandwidth")
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in crosses] == [(8, 5), (16, 0), (16, 0)]
    assert list(axes.lines[0].get_ydata()) == [1] and sorted(text.get_text() for text in axes.texts) == ["1/2", "2/2"]
    assert "failed: 3 of 4 runs" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert plot.distribution(runs_of(result({"m": histogram(1)}, 1))[0][1], "m")
    shown = axes_of(plot.cdf, runs_of(result({"m": histogram(1)}, 1), result({}, 1)), "m")
    assert [text.get_text() for text in shown.get_legend().get_texts()] == ["file0 ✕ failed (9,000 values)", "file1 ✕ failed: no values"]


def test_texts_do_not_overlap(campaign):
    """All texts of a curve, a comparison and a heat map have boxes of their own."""
    loaded = [results.read(campaign)]
    figure = plt.figure(figsize=(8, 6), layout="constrained")
    plot.compare(figure, plot.grouped(loaded), ["pingpong.latency", "pingpong.latency.max"])
    curve, axes = style.pages()
    rows = [{"set": {"n": str(n)}, "seed": seed, "result": result(gauge(n * 1e9), int(seed == 2))} for n in range(1, 60) for seed in (1, 2)]
    plot.curve(axes, runs_of(rows), "n", "a.bandwidth")
    for one in (figure, curve):
        one.draw_without_rendering()
        for panel in one.axes:
            left, right = panel.get_xlim()
            ticks = [tick.label1 for tick in panel.xaxis.get_major_ticks() if left <= tick.get_loc() <= right]
            texts = [*panel.texts, *ticks, *panel.get_yticklabels(), panel.xaxis.label]
            boxes = [text.get_window_extent() for text in texts if text.get_text()]
            assert len(boxes) > 5 and not any(left.overlaps(right) for at, left in enumerate(boxes) for right in boxes[at + 1:])
            assert all(one.bbox.padded(1).containsx(box.x0) and one.bbox.padded(1).containsx(box.x1) for box in boxes)


def test_a_campaign_is_drawn_with_its_failures(campaign, tmp_path):
    runs = results.read(campaign).runs
    assert len(runs) == 8 and 0 < sum(not run.ok for run in runs) < 8
    assert plot.varying(runs) == ["jobs.pingpong.args.bytes"] and any(run.why == "" for run in runs) and any("pingpong.latency.max below" in run.why for run in runs)
    for kind, name in (("curve", "c.pdf"), ("compare", "c.svg")):
        assert drawn(kind, campaign, "--metric", "pingpong.latency.max", "-o", tmp_path / name) == 0
    text = (tmp_path / "c.svg").read_text()
    assert "of 4 failed" in text and "<dc:date>" not in text


def test_heat_is_a_part_of_the_time_in_which_the_network_was_used(adversarial, tmp_path):
    links = results.read(adversarial, links=True).links[""]
    data = json.loads((adversarial / "metrics.json").read_text())
    busiest = max(links, key=lambda link: link["load"])
    used = busiest["busy_ps"] / busiest["load"]
    assert 0.8 < busiest["load"] <= 1 and float(busiest["busy"]) < 0.03
    assert 0.19e9 < used < 0.21e9 < data["virtual_time_ps"] / 20
    groups, local = heat.dragonfly(links)
    assert (groups.rows, groups.columns, local.rows, local.columns) == (5, 5, 10, 4)
    assert max(groups.loads[0, 1]) > 0.8 and (0, 0) not in groups.loads
    assert drawn("heat", adversarial, "-o", tmp_path / "heat.svg") == 0
    assert re.search(r"part of the (19|20)\d µs in which the network was used", (tmp_path / "heat.svg").read_text())


@pytest.mark.parametrize("name, says", [("faults/link_down.yaml", "✕: dead, or lost something"), ("single-switch.yaml", "from the switches"),
                                        ("two-networks.yaml", "ethernet: part of")])
def test_heat_runs_a_scenario(name, says, tmp_path):
    assert drawn("heat", jacquard.ROOT / "scenarios" / name, "-o", tmp_path / "h.svg") == 0
    assert says in (tmp_path / "h.svg").read_text()


def test_cdf_of_a_trace(adversarial, tmp_path):
    trace = tmp_path / "t.pftrace"
    jacquard.run(jacquard.ROOT / "scenarios/stuck.yaml", options=["--trace", str(trace)])
    run = results.read(trace).runs[0]
    assert run.metrics["messages"]["count"] == 20 and run.metrics["messages.put"]["count"] == 20  # the 21st was lost
    assert 500_000 < run.metrics["messages"]["p50"] < 2_000_000
    assert drawn("cdf", trace, "-o", tmp_path / "t.png") == 0


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_program_writes_the_same_file_twice(tmp_path, suffix):
    (tmp_path / "result.json").write_text(json.dumps(result({"a.latency": histogram(1)})))
    written = []
    for name in ["one", "two"]:
        output = tmp_path / f"{name}.{suffix}"
        subprocess.run([sys.executable, jacquard.ROOT / "harness/jacquard/__main__.py", "plot", "cdf", tmp_path / "result.json", "--metric",
                        "a.latency", "-o", output], check=True, capture_output=True)
        written.append(output.read_bytes())
    assert written[0] == written[1] and len(written[0]) > 1000


@pytest.mark.parametrize("text, says", [
    ("", "empty"), ('{"schema": 1, "metr', "no complete JSON"), ("[1]", "not a result of jacquard sweep"), ("{}", "it has no metrics"), ("3", "not a result"),
    (json.dumps(result({}, schema=2)), "schema 2; this version reads schema 1"), ('{"schema": 2, "runs": []}', "schema 2"),
    ('{"schema": 1, "runs": []}', "no runs"), ('{"schema": 1, "runs": [7]}', "not a result"), ("[]", "no runs"), ('{"metrics": 3}', "not a result"),
    (json.dumps(result({"a.latency": {"unit": "ps", "type": "histogram", "count": 3}})), "metric a.latency has no min"),
    (json.dumps(result({"a.latency": dict(histogram(1), count=0)})), "a.latency has no values: 0 were recorded"),
    (json.dumps(result({"a.other": histogram(1)})), "there are: a.other"), (json.dumps({"schema": 1, "runs": [{"error": "bad", "exit": 2}]}), "1 of 1 runs failed"),
    ("[" * 100_000, "nested too deeply"), ('{"metrics": {"a.latency": NaN}}', "NaN is not a number of JSON"), ('{"metrics": {"a.latency": 3}}', "not an object of objects"),
    (json.dumps(result({"a.latency": dict(histogram(1), p50="x")})), "metric a.latency: p50: not a number"),
    ("SQLite format 3\0 and no more", "no complete results of a campaign"), ("\n\5abc", "not a trace of sim-run"), ("\xff\xfe\xfd", "")])
@pytest.mark.parametrize("kind", ["curve", "cdf", "compare"])
def test_bad_results_are_one_line(refused, tmp_path, text, says, kind):
    path = tmp_path / "r.json"
    path.write_bytes(text.encode("latin-1"))
    said = refused(kind, path, "--metric", "a.latency", "-o", tmp_path / "x.svg")
    assert kind == "cdf" and "no histogram" in said or says in said
    assert not (tmp_path / "x.svg").exists()


def test_other_bad_input_is_one_line(refused, tmp_path, campaign, adversarial):
    good, out = tmp_path / "g.json", tmp_path / "x.svg"
    good.write_text(json.dumps(result({"a.latency": histogram(1)})))
    assert "a.latency" in refused("cdf", good, "--metric", "a.latenzy", "-o", out)
    assert "No such file" in refused("cdf", tmp_path / "none", "-o", out)
    assert "No such file" in refused("cdf", tmp_path / "none.yaml", "-o", out)
    assert "not a folder written by" in refused("heat", tmp_path, "-o", out)
    assert "ends with .png, .svg, .pdf" in refused("cdf", good, "-o", tmp_path / "x.gif")
    assert "no font Nowhere Sans; there are: " in refused("cdf", good, "--font", "Nowhere Sans", "-o", out)
    assert "nothing varies" in refused("curve", good, "--metric", "a.latency", "-o", out)
    assert "bytes: no such setting; there are: seed" in refused("curve", good, "--x", "bytes", "--metric", "a.latency", "-o", out)
    assert "heat shows one run" in refused("heat", campaign, "-o", out)
    assert "heat needs a folder" in refused("heat", good, "-o", out)
    assert "no network x; there are: (the first)" in refused("heat", adversarial, "--network", "x", "-o", out)
    assert refused("cdf", good, "-o", good / "x.svg").endswith("Not a directory\n")
    (tmp_path / "bad.yaml").write_text("jobs: 3\n")
    assert "bad.yaml:1" in refused("heat", tmp_path / "bad.yaml", "-o", out)
    old = tmp_path / "old"
    old.mkdir()
    (old / "metrics.json").write_text(good.read_text())
    (old / "links.csv").write_text("router,busy\n1,2\n")
    assert "another version of sim-run" in refused("heat", old, "-o", out)
    (old / "histograms.csv").write_text("metric,value,count\na.latency,10,3\na.lat")
    assert "not complete" in refused("cdf", old, "-o", out)
    copy = tmp_path / "c.sqlite"
    copy.write_bytes(campaign.read_bytes())
    database = sqlite3.connect(copy)
    database.execute("PRAGMA user_version = 2")
    database.commit()
    database.close()
    assert "results of version 2; this version reads 1" in refused("compare", copy, "-o", out)
    copy.write_bytes(campaign.read_bytes()[:9000])
    assert "no complete results of a campaign" in refused("compare", copy, "-o", out)
    lost = tmp_path / "t.pftrace"
    lost.write_bytes((adversarial / "trace.pftrace").read_bytes()[:100_000])
    assert "not a trace of sim-run: broken" in refused("cdf", lost, "-o", out)


def test_without_any_font_it_is_one_line(refused, tmp_path, monkeypatch):
    (tmp_path / "g.json").write_text(json.dumps(result({"a.latency": histogram(1)})))

    def no_font(*_, **__):
        raise ValueError("Failed to find font DejaVu Sans, and fallback to the default font was disabled\nmore")

    monkeypatch.setattr(style.font_manager, "findfont", no_font)
    monkeypatch.setattr(style.pyplot.Figure, "savefig", no_font)
    assert "x.svg: Failed to find font DejaVu Sans" in refused("cdf", tmp_path / "g.json", "-o", tmp_path / "x.svg")


def test_without_matplotlib_it_says_what_to_install(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('No module named matplotlib')\n")
    done = subprocess.run([sys.executable, jacquard.ROOT / "harness/jacquard/__main__.py", "plot", "cdf", "x", "-o", "x.svg"],
                          env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr == "jacquard plot: pictures need matplotlib (Debian: python3-matplotlib): No module named matplotlib\n"


def test_labels_of_files_with_the_same_name_differ(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "r.json").write_text(json.dumps(result({"a.latency": histogram(1)})))
    assert drawn("compare", *sorted(tmp_path.glob("*/r.json")), "-o", tmp_path / "x.svg", "--title", "A & B") == 0
    text = Path(tmp_path / "x.svg").read_text()
    assert "r (2)" in text and "A &amp; B" in text
