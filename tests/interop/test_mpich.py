# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Unmodified programs of Debian's MPICH under pmrun."""

import os
import subprocess
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

PMRUN = jacquard.build_directory() / "bin/pmrun"


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    program = tmp_path_factory.mktemp("mpich") / "ring"
    command(["mpicc.mpich", Path(__file__).parent / "ring.c", "-o", program])
    return program


@pytest.fixture
def run(tmp_path):
    """pmrun's lines. The ranks' shared memory lies in a folder: UCX wants 4.3 MiB for each, and /dev/shm of a container has 64."""
    return lambda *arguments: sorted(lines(arguments, {"UCX_POSIX_DIR": str(tmp_path)}))


def lines(arguments, environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "HYDI", "MPI", "SLURM"))}
    done = subprocess.run([PMRUN, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          env={**clean, **environment})
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


def expected(size, nodes=1):
    """One job of that many, in turn on the nodes."""
    near = [len(range(rank % nodes, size, nodes)) for rank in range(size)]
    return sorted(f"{rank} of {size}: {(rank - 1) % size} {size * (size - 1) // 2} {near[rank]}" for rank in range(size))


@pytest.mark.parametrize("size", [1, 2, 3, 8, 16])
def test_pmi2_105_ring_and_sum(run, ring, size):
    assert run("-n", size, ring) == expected(size)


@pytest.mark.parametrize("size", [2, 5, 8])
def test_pmi2_104_two_nodes(run, ring, size):
    assert run("-launcher", "fork", "-hosts", "a,b", "-n", size, ring) == expected(size, 2)


@pytest.mark.parametrize("size", [1, 4, 16])
def test_pmi2_86_by_a_port(run, ring, size):
    assert run("-pmi-port", "-n", size, ring) == expected(size)
