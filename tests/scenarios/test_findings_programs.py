# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What sim-run says of an ordinary program that leaves completions unread, overwrites a source, crashes, or spins."""

import re
import subprocess

import pytest

import jacquard
from jacquard import runner

SOURCE = jacquard.ROOT / "tests" / "scenarios" / "findings_ring.c"

SCENARIO = """
name: programs
limits: {{compute: 2s}}
fabric: {{preset: mini2}}
jobs:
  - {{name: ring, program: {program}, nodes: 0-3, argv: [{how}]}}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "ring.so"
    include = [f"-I{jacquard.ROOT / folder}" for folder in ("sim/aries/include", "stack/pmi2/include")]
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-DCRAY_CONFIG_GHAL_ARIES", "-shared", "-fPIC", *include,
                    SOURCE, "-o", path], check=True)
    return path


def run(program, tmp_path, how):
    scenario = tmp_path / "programs.yaml"
    scenario.write_text(SCENARIO.format(program=program, how=how))
    screen = subprocess.run([runner.sim_run(), scenario], stdout=subprocess.PIPE, text=True)
    result = runner.run(scenario)
    assert screen.returncode == result.exit_code
    return result, screen.stdout


def test_right_program_holds(program, tmp_path):
    result, screen = run(program, tmp_path, "right")
    assert result.ok and result.data["findings"] == {}, result.report()
    assert "HOLDS: expectations and ledger" in screen


def test_completions_that_nobody_reads(program, tmp_path):
    result, screen = run(program, tmp_path, "unread")
    assert result.exit_code == 1
    assert list(result.data["findings"]) == ["aries.completion-unread"]
    assert [finding["text"] for finding in result.data["findings"]["aries.completion-unread"]["first"]] == [
        f"6 completions of posts to ring.{right} were never read from queue 0" for right in (1, 2, 3, 0)]
    # The NIC posted 24 events of arrivals, which were read, and 24 of completions, which were not.
    (book,) = [book for book in result.ledger["books"] if book["book"] == "aries.event"]
    assert (book["opened"], book["delivered"], book["settled_error"]) == (48, 24, 24)
    assert re.search(r"ring\.0, [0-9.]+ [mu]s, \w+: 6 completions of posts to ring\.1 were never read from queue 0", screen)
    assert "DOES NOT HOLD" in screen


def test_source_overwritten_before_the_completion(program, tmp_path):
    result, screen = run(program, tmp_path, "overwrite")
    assert result.exit_code == 1
    assert list(result.data["findings"]) == ["aries.source-changed"]
    sentence = (r"ring\.2, [0-9.]+ [mu]s.*: changed bytes 128–135 of the source of PUT to ring\.3 \(8192 bytes\) between GNI_PostRdma "
                r"\([0-9.]+ µs\) and the NIC's read \([0-9.]+ µs\)")
    assert re.search(sentence, screen), screen


def test_crash(program, tmp_path):
    result, screen = run(program, tmp_path, "crash")
    assert result.exit_code == 1
    assert list(result.data["findings"]) == ["program.crash"] and result.data["jobs"][0]["exit"] == 139
    assert re.search(r"ring\.2, [0-9.]+ us, PMI2_Init: SIGSEGV, an address near NULL, in main at findings_ring\.c:\d+ \(ring\.so\)", screen), screen
    assert re.search(r"backtrace of ring\.2 on node 2 at [0-9.]+ us:\n  #0 main at findings_ring\.c:\d+", screen), screen


def test_loop_without_a_call(program, tmp_path):
    result, screen = run(program, tmp_path, "spin")
    assert result.exit_code == 1
    assert list(result.data["findings"]) == ["program.spin"] and result.data["jobs"][0]["exit"] == 137
    assert re.search(r"ring\.2, [0-9.]+ us, PMI2_Init: computes without a call since [0-9.]+ us", screen), screen
