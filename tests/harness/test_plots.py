# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The pictures contain the values of the results."""

import json
import subprocess
import sys

import jacquard
import plots
import pytest

plt = plots.plt


def histogram(factor):
    return {"type": "histogram", "unit": "ps", "count": 9, "min": factor * 1000000, "mean": factor * 2e6,
            "p50": factor * 2000000, "p90": factor * 3000000, "p99": factor * 4000000, "p999": factor * 5000000,
            "max": factor * 6000000}


def test_latency_lines_in_microseconds():
    _, axes = plt.subplots()
    plots.latency([("one", {"metrics": {"a.latency": histogram(1)}}), ("two", {"metrics": {"a.latency": histogram(2)}})],
                  "a.latency", axes)
    assert [list(line.get_xdata()) for line in axes.lines] == [[1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12]]
    assert axes.get_xlabel() == "a.latency (µs)"


def test_curve_averages_seeds_and_draws_a_line_per_other_setting():
    rows = [{"set": {"size": size, "how": how}, "seed": seed,
             "result": {"metrics": {"a.bandwidth": {"type": "gauge", "unit": "bytes/s", "value": 1e9 * seed * scale}}}}
            for scale, how in [(1, "put"), (2, "get")] for size in ["8", "4KiB"] for seed in [1, 3]]
    _, axes = plt.subplots()
    plots.curve(rows, "size", "a.bandwidth", axes)
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines] == [
        ([8, 4096], [2, 2]), ([8, 4096], [4, 4])]
    assert axes.get_ylabel() == "a.bandwidth (GB/s)"


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_program_writes_the_same_file_twice(tmp_path, suffix):
    (tmp_path / "result.json").write_text(json.dumps({"metrics": {"a.latency": histogram(1)}}))
    written = []
    for name in ["one", "two"]:
        output = tmp_path / f"{name}.{suffix}"
        subprocess.run([sys.executable, jacquard.ROOT / "harness/plots.py", "latency", tmp_path / "result.json", "--metric",
                        "a.latency", "-o", output], check=True, capture_output=True)
        written.append(output.read_bytes())
    assert written[0] == written[1] and len(written[0]) > 1000


def test_unknown_metric_names_the_known_ones():
    with pytest.raises(SystemExit, match="a.latency"):
        plots.field_of({"metrics": {"a.latency": histogram(1)}}, "a.latenzy.p50")
