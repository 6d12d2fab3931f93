# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""`./dev bench peers`: its ratios, the traffic of the other programs where they are installed, and what it answers to bad input."""

import shutil
import subprocess
import sys

import jacquard
import pytest

sys.path.insert(0, str(jacquard.ROOT / "harness"))
import peers  # noqa: E402


def run(*arguments, **more):
    return subprocess.run([sys.executable, jacquard.ROOT / "harness" / "peers.py", *arguments], capture_output=True, text=True, **more)


def test_ratios_say_how_many_times_better_the_first_is():
    figures = {"ours": [4.0, 8.0, 6.0], "theirs": [2.0, 2.0, 2.0]}
    assert peers.row("rate", "M/s", figures, 1, True)["better_than"] == {"theirs": 3.0}
    assert peers.row("time", "us", figures, 1, False)["better_than"] == {"theirs": pytest.approx(1 / 3)}
    assert peers.row("time", "us", figures, 2, False)["medians"] == {"ours": 12.0, "theirs": 4.0}


@pytest.mark.skipif(shutil.which("smpicc") is None, reason="libsimgrid-dev is not installed")
@pytest.mark.parametrize("pattern", sorted(peers.PATTERNS))
def test_each_simulator_delivers_the_messages(tmp_path, pattern):
    for _, command in peers.simulators(tmp_path).values():
        peers.run(*command(pattern, 20))


@pytest.mark.parametrize("arguments,line", [
    (("simulate",), "no such part: simulate; there are simulated, live"),
    (("--rounds", "0"), "--rounds: at least 1"),
])
def test_bad_arguments(arguments, line):
    done = run(*arguments)
    assert done.returncode == 2 and done.stderr.endswith(f"error: {line}\n")


@pytest.mark.parametrize("part,line", [
    ("simulated", "peers: simulated: there is no smpicc: install libsimgrid-dev"),
    ("live", "peers: live: there is no mpicc.openmpi: install openmpi-bin, libopenmpi-dev and ucx-utils"),
])
def test_what_is_not_installed_is_named(tmp_path, part, line):
    done = run(part, env={"PATH": str(tmp_path), "PYTHONPATH": str(jacquard.ROOT / "harness")})
    assert done.returncode == 1 and done.stderr == f"{line}\n" and done.stdout == ""
