# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""LNet's scenarios hold with every seed: drops, delays, the death of a router, links that fail and come back. With each
of 500 seeds in the full suite, with a few otherwise."""

import jacquard
import pytest

SCENARIOS = sorted((jacquard.ROOT / "scenarios/lnet").glob("*.yaml"))
FEW, ALL = range(2, 4), range(1, 501)  # most files have seed 1, and are tests by themselves


def hold(path, seeds):
    result = jacquard.run(path, timeout=7200, options=["--seeds", f"{seeds[0]}-{seeds[-1]}"])
    runs = result.data["runs"]
    assert len(runs) == len(seeds)
    wrong = [(run["seed"], run["problems"]) for run in runs if run["exit"] != 0 or not run["ledger"]["balanced"]]
    assert not wrong, wrong


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_lnet_scenarios_hold_with_some_seeds(path):
    hold(path, FEW)


@pytest.mark.full
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_lnet_scenarios_hold_with_500_seeds(path):
    hold(path, ALL)
