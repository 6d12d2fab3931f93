# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""sim-run campaign --slurm with Slurm 22.05, the real one: slurm/cluster.py starts two node daemons on this machine."""

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import jacquard
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent / "slurm"))
import cluster # noqa: E402

FIRST = jacquard.ROOT / "docs/examples/first.yaml"
SET = {"faults": "[{at: aries.packet, do: drop, probability: 0.0002}]",
       "expect": "[{metric: pingpong.latency.max, below: 1ms}]"}
SAME = "number, seed, settings, verdict, exit, digest, signature, problem, virtual_time_ps, metrics"


@pytest.fixture(scope="module")
def slurm():
    if cluster.missing():
        pytest.skip(cluster.missing())
    for last in [False, True]: # a port that was free can be taken
        try:
            running = cluster.Cluster().__enter__()
            break
        except cluster.NotStarted:
            if last:
                raise
    yield running
    running.__exit__()


@pytest.fixture
def nightly(tmp_path):
    path = tmp_path / "nightly 1.yaml"
    path.write_text(yaml.safe_dump({"name": "nightly", "runs": [{"scenario": str(FIRST), "seeds": "1-40", "set": SET}]}))
    return path


def campaign(slurm, *words):
    return slurm.run([str(jacquard.sim_run()), "campaign", *map(str, words)])


def rows(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return list(database.execute(f"SELECT {SAME} FROM runs ORDER BY number"))
    finally:
        database.close()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The rows of the same campaign without Slurm."""
    path = tmp_path_factory.mktemp("local") / "nightly.yaml"
    path.write_text(yaml.safe_dump({"name": "nightly", "runs": [{"scenario": str(FIRST), "seeds": "1-40", "set": SET}]}))
    subprocess.run([jacquard.sim_run(), "campaign", path], check=False, capture_output=True, timeout=60)
    return rows(path.with_suffix(".sqlite"))


def test_job_arrays_give_the_rows_of_a_local_campaign(slurm, nightly, expected):
    done = campaign(slurm, nightly, "--slurm", "--partition", "all", "--chunk", "7", "-j2", "--sbatch=--time=2")
    results = nightly.with_suffix(".sqlite")
    assert done.returncode == 1, done.stdout
    assert f"{nightly}: 6 tasks submitted" in done.stdout
    assert len(expected) == 40 and rows(results) == expected
    assert not Path(f"{results}.tasks").exists()
    assert "40 of 40 runs (100.0 %)" in campaign(slurm, "status", nightly).stdout
    again = campaign(slurm, nightly, "--slurm")
    assert again.returncode == 1 and "0 tasks submitted" in again.stdout and rows(results) == expected


def test_without_waiting_status_collects(slurm, nightly, expected):
    done = campaign(slurm, nightly, "--slurm", "--no-wait", "--chunk=20")
    assert done.returncode == 0 and "2 tasks submitted" in done.stdout
    results, end = nightly.with_suffix(".sqlite"), time.monotonic() + 60
    while json.loads(campaign(slurm, "status", "--json", nightly).stdout)["done"] < 40:
        assert time.monotonic() < end, slurm.log()
        time.sleep(0.1)
    assert rows(results) == expected


def test_runs_of_cancelled_tasks_are_submitted_again(slurm, nightly, expected):
    """The first submission is held, so that its tasks never start, and cancelled."""
    held = campaign(slurm, nightly, "--slurm", "--no-wait", "--chunk=10", "--sbatch=--hold")
    assert held.returncode == 0 and "4 tasks submitted" in held.stdout
    waiting = campaign(slurm, nightly, "--slurm", "--no-wait")
    assert "4 tasks of an earlier command are in Slurm's queue" in waiting.stdout
    assert slurm.run(["scancel", "--name=nightly"]).returncode == 0
    end = time.monotonic() + 60
    while slurm.run(["squeue", "-h"]).stdout:
        assert time.monotonic() < end, slurm.log()
        time.sleep(0.1)
    done = campaign(slurm, nightly, "--slurm", "--chunk=10")
    assert done.returncode == 1 and "4 tasks submitted" in done.stdout
    assert rows(nightly.with_suffix(".sqlite")) == expected


def test_a_task_that_fails_is_said(slurm, nightly):
    """The task finds another scenario than the one that was submitted."""
    scenario = nightly.parent / "first.yaml"
    scenario.write_text(FIRST.read_text())
    nightly.write_text(yaml.safe_dump({"name": "nightly", "runs": [{"scenario": "first.yaml", "seeds": "1-4"}]}))
    held = campaign(slurm, nightly, "--slurm", "--no-wait", "--chunk=4", "--sbatch=--hold")
    assert held.returncode == 0, held.stdout
    job = slurm.run(["squeue", "-h", "-o", "%A"]).stdout.strip()
    text = scenario.read_text()
    scenario.write_text(text.replace("1000", "10"))
    slurm.run(["scontrol", "release", job])
    end, log = time.monotonic() + 60, nightly.with_suffix(".sqlite.tasks") / f"slurm-{job}_0.log"
    while not log.exists() or "has changed" not in log.read_text():
        assert time.monotonic() < end, slurm.log()
        time.sleep(0.1)
    assert "the campaign or a scenario has changed since it was submitted" in log.read_text()


def test_an_unknown_partition_is_one_line(slurm, nightly):
    done = campaign(slurm, nightly, "--slurm", "--partition=nowhere")
    assert done.returncode == 2 and done.stdout.count("\n") == 1 and done.stdout.startswith("sbatch: "), done.stdout
    assert campaign(slurm, nightly).returncode == 1 # without Slurm, the same campaign goes on
