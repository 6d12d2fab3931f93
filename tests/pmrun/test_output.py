# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the ranks print: whole lines, labels, files."""

import os
import re
import select
import subprocess

import pytest
from launcher import PMRUN, environment, output, run, states, until


def test_pmi2_99_labels_of_both_streams():
    done = run("-l", "-n", 2, "sh", "-c", "echo out; echo error >&2; printf unfinished")
    assert sorted(done.stdout.splitlines()) == ["[0] out", "[0] unfinished", "[1] out", "[1] unfinished"]
    assert sorted(done.stderr.splitlines()) == ["[0] error", "[1] error"] and done.stdout.endswith("\n")


@pytest.mark.parametrize("hosts", [(), ("-launcher", "fork", "-hosts", "a,b:3,c")], ids=["one", "three"])
def test_pmi2_99_no_line_is_cut(probe, hosts):
    """A million lines: 7,813 on each of both streams of 64 ranks."""
    count = 7813
    done = run("-l", *hosts, "-n", 64, probe, "lines", count, "both", timeout=300)
    pattern = re.compile(r"\[(\d+)\] line (\d+) of rank (\d+) abcdefghijklmnopqrstuvwxyz")
    next_of = dict.fromkeys(range(64), 0)
    for line in done.stdout.splitlines():
        match = pattern.fullmatch(line)
        assert match and match[1] == match[3], line
        assert int(match[2]) == next_of[int(match[1])]  # in order within a rank
        next_of[int(match[1])] += 1
    assert set(next_of.values()) == {count}
    pattern = re.compile(r"\[(\d+)\] error (\d+) of rank \1")
    next_of = dict.fromkeys(range(64), 0)
    for line in done.stderr.splitlines():
        match = pattern.fullmatch(line)
        assert match and int(match[2]) == next_of[int(match[1])], line
        next_of[int(match[1])] += 1
    assert set(next_of.values()) == {count} and 2 * 64 * count >= 10**6


def test_patterns():
    lines = output("-launcher", "fork", "-hosts", "ha,hb", "-prepend-pattern", "%r %p %h %% %t: ", "-n", 2, "echo", "x")
    assert re.fullmatch(r"0 0 ha % \d+\.\d+: x", lines[0]) and re.fullmatch(r"1 1 hb % \d+\.\d+: x", lines[1])


def test_files_for_each_rank(tmp_path):
    done = run("-outfile-pattern", tmp_path / "out-%r", "-errfile-pattern", tmp_path / "err-%h-%r", "-hosts", "localhost", "-n", 2,
               "sh", "-c", "echo o$PMI_RANK; printf e$PMI_RANK >&2")
    assert (done.stdout, done.stderr) == ("", "")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "out-0": "o0\n", "out-1": "o1\n", "err-localhost-0": "e0", "err-localhost-1": "e1"}


def test_one_process_is_passed_through_as_it_is():
    assert run("-n", 1, "printf", "no end").stdout == "no end"


def test_a_slow_reader_gets_all(probe):
    """The reader begins when pmrun's own output is full, so that the ranks that have not ended wait for it, too."""
    reader, writer = os.pipe()
    job = subprocess.Popen([PMRUN, "-n", "8", probe, "lines", "40000"], stdin=subprocess.DEVNULL, stdout=writer, env=environment())
    # A pipe is full when all its buffers are in use, even if some of them are not full.
    until(lambda: select.select([], [writer], [], 0)[1] == [] and set(states(probe, "lines")) == {"S"})
    os.close(writer)
    with open(reader, encoding="ascii") as lines:
        assert sum(1 for _ in lines) == 8 * 40000
    assert job.wait(timeout=60) == 0


def test_nobody_reads_any_more():
    done = subprocess.run(f"'{PMRUN}' -n 2 yes | head -1", shell=True, capture_output=True, text=True, timeout=60, env=environment())
    assert done.stdout == "y\n"


def test_verbose_says_why(probe):
    text = run("-verbose", "-n", 1, probe).stderr
    assert "1 processes on 1 hosts" in text and "rank 0 of job" in text
