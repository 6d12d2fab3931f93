# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Links and routers that die between real processes, and the model's time: tests/live/paths.c on fabrics with such scenarios."""

import re
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fabric import BUILD, environment, fabric, run  # noqa: E402

PROGRAM = BUILD / "tests/live_paths"


def timed(file, test, scenario):
    """What the program says when the fault of a scenario (a function of its time in seconds) comes in its midst; the report's errors."""
    for seconds in 2, 8, 32:
        file.write_text(scenario(seconds))
        begin = time.monotonic()
        with fabric(file) as running:
            done = run(PROGRAM, test, begin + seconds - 0.1, time.monotonic() + seconds + 0.1, env=environment(**running.exports))
            running.end()
        if "late" not in done.stdout:
            assert done.returncode == 0, done
            return done.stdout, int(re.search(r"nid00000 .* (\d+) +0\n", running.report)[1])
    raise AssertionError("this machine is too slow")


MODEL = "live: {latency: model}\n"
# A link takes a millisecond; a lost packet is noticed soon.
SLOW = "params: {aries.link.green.hop_ns: 1e6, aries.link.black.hop_ns: 1e6, aries.fault.orb_timeout_ms: 20}"


def caught(file, shape, routers, more=""):
    """How many of 300 puts between nodes 0 and 4 a link takes with it."""
    text, errors = timed(file, "caught", lambda seconds: (
        f"seed: 5\nfabric: {{topology: dragonfly, {shape}}}\n"
        f"faults:\n  - {{at: link, do: down, routers: {routers}, time: {seconds}s}}\n{more}"))
    lost = int(re.search(r"lost (\d+) of 300", text)[1])
    assert errors == lost
    return lost


def test_a_dying_link_loses_what_is_in_flight_and_nothing_later(tmp_path):
    assert caught(tmp_path / "one.yaml", "groups: 1, chassis: 1, slots: 3", [0, 1]) == 300  # the only shortest path
    assert caught(tmp_path / "other.yaml", "groups: 1, chassis: 1, slots: 3", [1, 2]) == 0


def test_one_of_three_links_takes_its_share(tmp_path):
    # Three black links side by side, and both ways count: 1 - (2/3)².
    assert 100 < caught(tmp_path / "three.yaml", "groups: 1, chassis: 2, slots: 1", [0, 1]) < 230


def test_what_is_dead_from_the_beginning_is_avoided(tmp_path):
    # Two detours are left, there and back.
    lost = caught(tmp_path / "dead.yaml", "groups: 1, chassis: 1, slots: 4", [0, 2], "  - {at: link, do: down, routers: [0, 1]}\n")
    assert 150 < lost < 290


@pytest.mark.parametrize("what", ["at: link, routers: [0, 1]", "at: router, router: 1", "at: router, router: g0c0s0"])
def test_without_a_path_transactions_fail_until_there_is_one(tmp_path, what):
    timed(tmp_path / "cut.yaml", "cut_off", lambda seconds: (
        "fabric: {topology: dragonfly, groups: 1, chassis: 1, slots: 2}\n"
        f"faults: [{{{what}, do: up, time: {2 * seconds}s}}, {{{what}, do: down, time: {seconds}s}}]\n"))


def test_the_models_time(tmp_path):
    (tmp_path / "slow.yaml").write_text(f"fabric: {{topology: dragonfly, groups: 1, chassis: 2, slots: 2, {SLOW}}}\n{MODEL}")
    with fabric(tmp_path / "slow.yaml") as running:
        done = run(PROGRAM, "paced", 0.002, env=environment(**running.exports))
        assert done.returncode == 0, done
        running.end()
    assert re.search(r"nid00000 .* 0 +0\nnid00012 .* 0 +0\n", re.sub(r"(?m)^ +", "", running.report)), running.report


def test_links_die_in_the_models_time(tmp_path):
    assert caught(tmp_path / "one.yaml", f"groups: 1, chassis: 1, slots: 3, {SLOW}", [0, 1], MODEL) == 300
    timed(tmp_path / "cut.yaml", "cut_off", lambda seconds: (
        f"fabric: {{topology: dragonfly, groups: 1, chassis: 1, slots: 2, {SLOW}}}\n{MODEL}"
        f"faults: [{{at: link, routers: [0, 1], do: down, time: {seconds}s}}, {{at: link, routers: [0, 1], do: up, time: {2 * seconds}s}}]\n"))
