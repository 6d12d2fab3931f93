# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The figures of `./dev bench counts`: how they are computed from two runs, and what the measured programs print."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jacquard
import pytest

sys.path.insert(0, str(jacquard.ROOT / "harness"))
import counts  # noqa: E402


def test_a_figure_is_the_difference_of_two_runs_per_message():
    short = {name: 1000 for name in counts.FIGURES}
    long = {name: 1000 + 50 * i for i, name in enumerate(counts.FIGURES)}
    assert counts.per_message((100, short), (200, long)) == {name: 0.5 * i for i, name in enumerate(counts.FIGURES)}


@pytest.mark.parametrize("program,case", sorted({(case[0], case[1]) for case in counts.CASES.values()}))
def test_a_measured_program_counts_the_messages_of_all_ranks(program, case):
    done = subprocess.run([jacquard.build_directory() / "bin" / program, "--once", case, "20"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["messages"] == 20 * (64 if case == "random" else 2)
    assert found["events"] > found["messages"] and found["switches"] > 0


@pytest.mark.parametrize("name", sorted(set(counts.SCENARIOS) - {"theta-put-4k"}))
def test_a_measured_scenario_has_more_events_for_more_messages(tmp_path, name):
    text, messages, *_ = counts.SCENARIOS[name]
    events = []
    for length in (5, 10):
        path = tmp_path / f"{length}.yaml"
        path.write_text(text.replace("LENGTH", str(length)))
        result = jacquard.run(path)
        assert result.exit_code == jacquard.OK, result.report()
        events.append(result.data["events"])
    assert events[1] - events[0] >= 5 * messages


QUICK = {"smsg-pingpong", "fma-8", "bte-4k", "provider-pingpong"}
GROWTH = 1.05


def optimised_at_link_time():
    return re.search(r"^LTO:BOOL=ON$", (jacquard.build_directory() / "CMakeCache.txt").read_text(), re.M) is not None


@pytest.mark.skipif(subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode != 0, reason="fixed addresses are not allowed here")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full]) for name in counts.LABELS])
def test_no_figure_is_above_its_row_of_the_table(name):
    """Events and switches in every build. Instructions in builds that are optimised at link time, with AVX2, as the table's are."""
    found, row = counts.measured([name])[name], counts.documented(name)
    compared = ["events", "switches"]
    if optimised_at_link_time() and "avx2" in Path("/proc/cpuinfo").read_text().split():
        compared.append("instructions")
    for figure in compared:
        rounding = 0.05  # of the table
        assert found[figure] <= row[figure] * GROWTH + rounding, f"{figure}: ./dev bench counts --docs {name} writes a new row"


def test_an_unknown_case_is_refused():
    done = subprocess.run([jacquard.build_directory() / "bin" / "bench-smsg", "--once", "nothing", "20"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "no such case" in done.stderr
