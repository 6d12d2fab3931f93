# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Unmodified programs of Debian's Open MPI under pmrun --ompi: one job of N, not N jobs of one."""

import os
import subprocess
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

PMRUN = jacquard.build_directory() / "bin/pmrun"


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    program = tmp_path_factory.mktemp("openmpi") / "ring"
    command(["mpicc.openmpi", Path(__file__).parent / "ring.c", "-o", program])
    return program


@pytest.mark.parametrize("size", [1, 2, 4])
def test_pmi2_106_one_job(ring, size):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI", "FLUX", "SLURM"))}
    done = subprocess.run([PMRUN, "--ompi", "-n", str(size), ring], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, env=clean)
    assert done.returncode == 0, done
    found = [line.rsplit(" ", 1)[0] for line in done.stdout.splitlines()]
    assert sorted(found) == sorted(f"{rank} of {size}: {(rank - 1) % size} {size * (size - 1) // 2}" for rank in range(size))
