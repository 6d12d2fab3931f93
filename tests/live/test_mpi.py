# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Programs of Debian's Open MPI over the provider gni between real processes, started by its own mpirun and by pmrun. Each
program (tests/live/mpi) looks at every byte it gets and prints its line only when all was right."""

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fabric import PMRUN, environment, fabric, run  # noqa: E402

PROGRAMS = Path(__file__).parent / "mpi"

# What Open MPI needs to take libfabric, and nothing else. One-sided communication over messages, or by RMA and atomics.
COMPONENTS = {
    "cm": {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include": "gni", "osc": "pt2pt"},
    "btl": {"pml": "ob1", "btl": "ofi,self", "btl_ofi_mode": "2", "btl_ofi_provider_include": "gni", "osc": "rdma",
            "osc_rdma_btls": "ofi", "osc_rdma_acc_use_amo": "0"},
}

pytestmark = pytest.mark.skipif(not (shutil.which("mpicc.openmpi") and shutil.which("mpirun.openmpi")),
                                reason="Open MPI is not installed (./dev setup)")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Compiles a program, once."""
    folder = tmp_path_factory.mktemp("mpi")

    @functools.cache
    def path_of(name):
        done = subprocess.run(["mpicc.openmpi", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", PROGRAMS / f"{name}.c",
                               "-o", folder / name, "-lpthread"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return folder / name

    return path_of


@pytest.fixture(scope="module")
def machine():
    with fabric() as running:
        yield running


def is_right(done, name, ranks):
    assert done.returncode == 0 and done.stdout == f"{name}: right on {ranks} ranks\n", (done.returncode, done.stdout, done.stderr)


def by_pmrun(program, arguments, components, ranks, *options):
    settings = [word for name, value in COMPONENTS[components].items() for word in ("--genv", f"OMPI_MCA_{name}", value)]
    return run(PMRUN, "--fabric", *options, "--ompi", *settings, "-n", ranks, program, *arguments)


def by_mpirun(program, arguments, components, ranks, machine):
    settings = [word for name, value in COMPONENTS[components].items() for word in ("--mca", name, value)]
    env = environment(**{name: value for name, value in machine.exports.items() if not name.startswith("OMPI_")})
    return run("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", *settings, "-n", ranks, program, *arguments, env=env)


RUNS = [("ring", "", 2), ("ring", "", 8), ("collectives", "", 3), ("collectives", "", 8), ("onesided", "", 4),
        ("onesided", "allocate", 2), ("large", "64", 2), ("large", "4", 5), ("threads", "", 3), ("heat", "", 2), ("heat", "160 60", 6)]


def name_of(value):
    return value.replace(" ", "") if isinstance(value, str) else None


@pytest.mark.parametrize("fault", [
    "{at: aries.packet, do: fail, status: DATA_ERR, kind: request, probability: 0.05}",
    "{at: aries.packet, do: drop, probability: 0.02}",
    "{at: aries.datagram, do: drop, probability: 0.3}",
], ids=["failing", "lost", "datagrams"])
def test_the_program_is_right_under_faults(programs, fault, tmp_path):
    """The same faults as in simulation: the provider sends again what did not arrive. It does so five times: probabilities are such
    that six failures in a row are for practical purposes impossible (0.05^6 of 1,440 transfers), for here no seed says who is struck."""
    file = tmp_path / "faults.yaml"
    file.write_text(f"name: faults\nseed: 7\nfabric: {{preset: mini2}}\nfaults:\n  - {fault}\n")
    done = run(PMRUN, "--fabric", file, "--ompi", "-n", 4, programs("ring"))
    is_right(done, "ring", 4)
    rows = [line.split() for line in done.stderr.splitlines() if line.lstrip().startswith("nid")]
    errors = sum(int(row[-2]) for row in rows)
    assert len(rows) == 4 and (errors > 0) == ("packet" in fault), done.stderr


def test_too_many_losses_are_an_error_and_no_crash(programs, tmp_path):
    """One packet in three: more than the provider's attempts. Also injected messages fail, of which Open MPI has no request: it
    must end by itself, with an MPI error or because it could not read its queue, and not look behind a context of NULL."""
    file = tmp_path / "faults.yaml"
    file.write_text("name: lossy\nseed: 3\nfabric: {preset: mini2}\nfaults:\n  - {at: aries.packet, do: drop, probability: 0.3}\n")
    done = run(PMRUN, "--fabric", file, "--ompi", "-n", 4, programs("ring"))
    assert done.returncode != 0 and "right on" not in done.stdout, (done.returncode, done.stdout, done.stderr)
    assert "MPI_ERR" in done.stderr or "aborting the MPI job" in done.stderr, done.stderr
    assert "Signal:" not in done.stderr and "killed by signal 11" not in done.stderr, done.stderr


@pytest.mark.parametrize("seed", [4, 6])
def test_last_message_is_sent_again_during_finalize(programs, tmp_path, seed):
    """A rank whose last message was lost waits in MPI_Finalize for the process manager, and does not poll; the message must come
    all the same. The program ends: right, or with an error where all attempts of a message were lost."""
    file = tmp_path / "faults.yaml"
    file.write_text(f"name: lossy\nseed: {seed}\nfabric: {{preset: mini2}}\nfaults:\n  - {{at: aries.packet, do: drop, probability: 0.3}}\n")
    done = run(PMRUN, "--fabric", file, "--ompi", "-n", 4, programs("heat"))
    assert done.stdout == "heat: right on 4 ranks\n" if done.returncode == 0 else "MPI" in done.stderr, (done.returncode, done.stderr)


@pytest.mark.parametrize("name, arguments, ranks", RUNS, ids=name_of)
def test_pmrun_by_messages(programs, name, arguments, ranks):
    done = by_pmrun(programs(name), arguments.split(), "cm", ranks)
    is_right(done, name, ranks)
    assert f"fabric: {ranks} processes on {ranks} of 16 nodes" in done.stderr  # it was on that fabric, a rank on each node


# Open MPI's osc/rdma waits for ever in windows of attached memory of another node, over any provider.
@pytest.mark.parametrize("name, arguments, ranks", [("ring", "", 3), ("collectives", "", 2), ("onesided", "-dynamic", 2), ("large", "16", 2),
                                                    ("onesided", "allocate -dynamic", 3), ("heat", "", 4)], ids=name_of)
def test_pmrun_by_rma(programs, name, arguments, ranks):
    is_right(by_pmrun(programs(name), arguments.split(), "btl", ranks, "--fabric-report", "none"), name, ranks)


@pytest.mark.parametrize("name, arguments, ranks", [("ring", "", 4), ("collectives", "", 4), ("onesided", "", 2), ("large", "16", 4),
                                                    ("threads", "2", 2), ("heat", "160 60", 8)], ids=name_of)
def test_mpirun_by_messages(programs, machine, name, arguments, ranks):
    is_right(by_mpirun(programs(name), arguments.split(), "cm", ranks, machine), name, ranks)


# Open MPI's osc/rdma crashes when it swaps in memory that ranks of one node share.
@pytest.mark.parametrize("name, arguments, ranks", [("ring", "", 2), ("onesided", "", 2), ("onesided", "allocate -swaps", 2),
                                                    ("heat", "", 2)], ids=name_of)
def test_mpirun_by_rma(programs, machine, name, arguments, ranks):
    is_right(by_mpirun(programs(name), arguments.split(), "btl", ranks, machine), name, ranks)


@pytest.mark.parametrize("name, arguments", [("ring", ""), ("collectives", ""), ("onesided", "")], ids=name_of)
def test_in_the_models_time(programs, name, arguments, tmp_path):
    """Two nodes of two groups, and 20 us between these."""
    file = tmp_path / "paced.yaml"
    file.write_text("live: {latency: model}\nfabric: {preset: xc-2-groups, params: {aries.link.blue.hop_ns: 20000}}\n"
                    "jobs: [{name: far, nodes: '0,400', ranks_per_node: 2, workload: smsg_pingpong}]\n")
    done = run(PMRUN, "--fabric", file, "--ompi", "-n", 4, programs(name), *arguments.split())
    is_right(done, name, 4)


def test_several_ranks_on_a_node(programs):
    done = by_pmrun(programs("ring"), [], "cm", 4, "--ppn", "2")
    is_right(done, "ring", 4)
    assert "fabric: 4 processes on 2 of 16 nodes" in done.stderr


def test_without_a_fabric_it_would_not_run(programs):
    """That the others pass says something: with this configuration nothing but gni can carry the messages."""
    settings = [word for name, value in COMPONENTS["cm"].items() for word in ("--mca", name, value)]
    done = run("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", *settings, "-n", 2, programs("ring"),
               env=environment(FI_PROVIDER_PATH="/nonexistent"))
    assert done.returncode != 0 and "right" not in done.stdout
