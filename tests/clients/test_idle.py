# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Parking changes nothing (docs/internals/engine.md, Polling): random programs (idle.c) with the polls left out that repeat
themselves, and with each of them simulated."""

import json
import subprocess
from pathlib import Path

import pytest
from jacquard.installed import Installed, command

SOURCE = Path(__file__).parent / "idle.c"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


@pytest.fixture(scope="module")
def program(installed, tmp_path_factory):
    program = tmp_path_factory.mktemp("program") / "idle"
    command(["gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", SOURCE, "-o", program,
             *installed.pkg_config("--cflags", "--libs", "cray-ugni", "cray-pmi")])
    return program


def run(installed, program, folder, seed, counts, parking):
    """The part of the result that must not depend on parking, and the number of events."""
    scenario = folder / "idle.yaml"
    limits = {} if parking is None else {"parking": parking}
    scenario.write_text(json.dumps({"limits": limits, "jobs": [
        {"name": "p", "program": str(program), "nodes": "0-1", "ranks_per_node": 2, "argv": [str(seed), str(counts)]}]}))
    done = subprocess.run([installed.sim_run, scenario, "--json"], text=True, capture_output=True, timeout=120,
                          env=installed.environment)
    assert done.returncode == 0, f"seed {seed}\n{done.stdout}{done.stderr}"
    data = json.loads(done.stdout)
    found = sorted(line for line in done.stderr.splitlines() if " found " in line)
    assert len(found) == 4, done.stderr
    return (data["digest"], data["virtual_time_ps"], found), data["events"]


def compare(installed, program, folder, seeds, counts, parking):
    """The numbers of events with parking and without."""
    events, events_off = 0, 0
    for seed in seeds:
        (parked, some), (polled, all_of_them) = (run(installed, program, folder, seed, counts, how) for how in (parking, "off"))
        assert parked == polled, f"seed {seed}"
        events, events_off = events + some, events_off + all_of_them
    return events, events_off


def programs_that_count(installed, program, folder, seeds):
    """The programs act at the n-th idle pass and read clocks and memory in idle passes, so no pass is skipped."""
    events, events_off = compare(installed, program, folder, seeds, 1, None)
    assert events == events_off


def programs_that_only_poll(installed, program, folder, seeds):
    """The scenario sets limits.parking: all. The programs are parked, and find the same events at the same times in the same order."""
    events, events_off = compare(installed, program, folder, seeds, 0, "all")
    assert events < events_off


def test_programs_that_count(installed, program, tmp_path):
    programs_that_count(installed, program, tmp_path, range(1, 21))


def test_programs_that_only_poll(installed, program, tmp_path):
    programs_that_only_poll(installed, program, tmp_path, range(1, 61))


@pytest.mark.full
def test_many_programs_that_count(installed, program, tmp_path):
    programs_that_count(installed, program, tmp_path, range(1000, 2000))


@pytest.mark.full
def test_many_programs_that_only_poll(installed, program, tmp_path):
    programs_that_only_poll(installed, program, tmp_path, range(1000, 5000))
