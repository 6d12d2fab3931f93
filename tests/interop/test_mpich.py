# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Unmodified programs of Debian's MPICH under pmrun."""

import os
import re
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
    """The lines that pmrun prints. The ranks' shared memory is in a folder, because UCX needs 4.3 MiB per rank
    and /dev/shm of a container has 64 MiB."""
    return lambda *arguments: sorted(lines(arguments, {"UCX_POSIX_DIR": str(tmp_path)}))


def lines(arguments, environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "HYDI", "MPI", "SLURM"))}
    done = subprocess.run([PMRUN, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          env={**clean, **environment})
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


def expected(size, nodes=1):
    """One job of this size, whose ranks alternate between the nodes."""
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


# ---- names of two launchers ----------------------------------------------------------------------


@pytest.fixture
def name_server(tmp_path):
    server = subprocess.Popen([PMRUN.parent / "pmnameserver", "-local", "-port", "0", "-key", tmp_path / "key"], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    port = re.match(r"pmnameserver: port (\d+),", server.stdout.readline())[1]
    yield ["-nameserver", f"127.0.0.1:{port}"], {"PMNAMESERVER_KEY": str(tmp_path / "key")}
    server.terminate()
    server.communicate(timeout=60)
    assert server.returncode == 0


def test_pmi2_58_a_name_of_another_pmrun(tmp_path, name_server):
    """MPI_Publish_name in one pmrun, MPI_Lookup_name in another."""
    program = tmp_path / "names"
    options, environment = name_server
    command(["mpicc.mpich", "-Wall", "-Werror", Path(__file__).parent / "names.c", "-o", program])
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "HYDI", "MPI", "SLURM"))}

    def look_up(*more):
        done = subprocess.run([PMRUN, *more, "-n", "2", program, "lookup"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, env={**clean, **environment}, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    publisher = subprocess.Popen([PMRUN, *options, "-n", "2", program, "publish"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, env={**clean, **environment})
    assert publisher.stdout.readline() == "published, again refused\n"
    assert look_up(*options) == "found\n"
    assert look_up() == "no such name\n"  # a pmrun of its own
    publisher.communicate(timeout=120)
    assert publisher.returncode == 0
    assert look_up(*options) == "no such name\n"
