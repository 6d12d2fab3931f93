# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Processes that ranks start."""

import pytest
from launcher import output, run

FORK = ("-launcher", "fork", "-hosts", "a,b")


@pytest.mark.parametrize("hosts", [(), FORK], ids=["one", "two"])
def test_pmi2_63_spawned_processes(probe, hosts):
    lines = output(*hosts, "-n", 2, probe, "spawn", probe, 3)
    assert lines == [f"rank {rank} of 3 appnum 0 spawned 1" for rank in range(3)] + ["spawn good errors 0 0 0"]


def test_pmi2_67_info(probe, tmp_path):
    (tmp_path / "own").write_text("#!/bin/sh\necho $PMI_SPAWNED $PMI_SIZE $MPIR_CVAR_CH3_INTERFACE_HOSTNAME; pwd\n")
    (tmp_path / "own").chmod(0o755)
    lines = output(*FORK, "-n", 1, probe, "spawn", "own", 1, "path", tmp_path, "wdir", tmp_path, "host", "b", "unknown", "x")
    assert lines == sorted(["1 1 b", str(tmp_path), "spawn good errors 0"])
    (tmp_path / "hosts").write_text("b\n")
    assert "1 1 b" in output(*FORK, "-n", 1, probe, "spawn", tmp_path / "own", 1, "hostfile", tmp_path / "hosts")


def test_pmi2_68_missing_program(probe):
    done = run("-n", 2, probe, "spawn", "./nosuch", 2)
    assert done.returncode == 0 and done.stdout == "spawn bad errors 2 2\n" and "./nosuch" in done.stderr


def test_host_of_another_launch(probe):
    assert "spawn bad" in run("-n", 1, probe, "spawn", probe, 1, "host", "elsewhere").stdout


def test_quota_of_spawned_processes(probe):
    assert "spawn bad" in run("-max-spawned", 2, "-n", 1, probe, "spawn", probe, 3).stdout
