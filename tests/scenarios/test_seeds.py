# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Seeds: other seeds are other runs, the same seed is the same run, and the ledger of the fault scenarios balances with
every seed."""

import jacquard
import pytest

FIRST = jacquard.ROOT / "docs/examples/first.yaml"
LOSS = {"faults": "[{at: aries.packet, do: drop, probability: 0.01}]", "expect": "[]"}
FAULTS = sorted((jacquard.ROOT / "scenarios/faults").glob("*.yaml"))
SEEDS, SEEDS_FULL = 10, 200
TIMEOUT = 7200  # seconds: a busy machine takes long for many seeds


def campaign(path, seeds, settings=None):
    return jacquard.run(path, set=settings, options=["--seeds", f"1-{seeds}"], timeout=TIMEOUT).data["runs"]


def test_other_seeds_inject_other_faults():
    runs = campaign(FIRST, 8, LOSS)
    assert len({run["digest"] for run in runs}) == 8
    assert len({run["faults"][0]["fired"] for run in runs}) > 1


def test_a_run_of_a_campaign_is_the_run_of_its_seed():
    for run in campaign(FIRST, 3, LOSS):
        alone = jacquard.run(FIRST, seed=run["seed"], set=LOSS)
        assert (alone.digest, alone.metrics) == (run["digest"], run["metrics"])


def test_a_seed_on_the_command_line_is_the_seed_in_the_file():
    assert jacquard.run(FIRST, seed=5, set=LOSS).digest == jacquard.run(FIRST, set={"seed": 5, **LOSS}).digest


def broken(path, seeds):
    runs = campaign(path, seeds)
    assert len(runs) == seeds
    return [f"seed {run['seed']}: {run.get('error') or run['ledger']['violations']}" for run in runs
            if "error" in run or not run["ledger"]["balanced"]]


@pytest.mark.slow
@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_every_ledger_balances(path):
    assert not broken(path, SEEDS)


@pytest.mark.full
@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_every_ledger_balances_with_many_seeds(path):
    assert not broken(path, SEEDS_FULL)
