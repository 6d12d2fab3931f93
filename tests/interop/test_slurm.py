# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Our client libraries and pmrun with Slurm 22.05, the real one: two node daemons on this machine.

slurm/cluster.py starts it (about a second) and ends it with all its processes; no accounting, no cgroups, no root. Each
test is a job of `srun --mpi=pmi2`: tests/pmi/peer.c, which Hydra gets too; slurm/job.c, with what Slurm does its own way;
slurm/pmi1.c for libpmi.so.0; slurm/mpi.c, MPICH's own client, to tell a fault of the set-up from ours; slurm/wire.py,
which asks Slurm without a library or listens to one. Programs are compiled with our header and with Slurm's, and each
runs with both libraries."""

import json
import re
import sys
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

sys.path.insert(0, str(Path(__file__).parent / "slurm"))
import cluster # noqa: E402

OURS = jacquard.build_directory() / "lib/pmi"
PMRUN = jacquard.build_directory() / "bin/pmrun"
HEADERS = jacquard.ROOT / "stack/pmi2/include"
HERE = Path(__file__).parent / "slurm"
STRICT = ["-Wall", "-Wextra", "-Werror", "-pthread"]
SRUN = ["srun", "--quiet", "--mpi=pmi2"] # quiet: no message while a job waits for the end of the previous one
HALVES = ["-N", "2", "-n", "4", "--ntasks-per-node=2"]
# The header and the library: ours or Slurm's.
LIBRARIES = pytest.mark.parametrize("program, library", [("ours", OURS), ("slurms", OURS), ("slurms", None), ("ours", None)],
                                    ids=["ours", "slurms-ours", "slurms", "ours-slurms"])


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


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """<name>-ours and <name>-slurms are compiled with our header and Slurm's; both are linked with a library of the same name."""
    folder = tmp_path_factory.mktemp("programs")
    for name, source in [("peer", jacquard.ROOT / "tests/pmi/peer.c"), ("job", HERE / "job.c")]:
        command(["gcc", *STRICT, f"-I{HEADERS}", source, "-o", folder / f"{name}-ours", f"-L{OURS}", "-l:libpmi2.so.0"])
        command(["gcc", "-Wall", "-Werror", "-Wno-unused", "-pthread", source, "-o", folder / f"{name}-slurms", "-l:libpmi2.so.0"])
    command(["gcc", *STRICT, f"-I{HEADERS}", HERE / "pmi1.c", "-o", folder / "pmi1", f"-L{OURS}", "-l:libpmi.so.0"])
    return folder


@pytest.fixture
def job(slurm, programs, tmp_path):
    def run(name, *arguments, options=HALVES, library=OURS, before=()):
        environment = {"JOB_FILE": str(tmp_path / "file"), "PEER_FILE": str(tmp_path / "file")}
        if library is not None:
            environment["LD_LIBRARY_PATH"] = str(library)
        return slurm.run([*SRUN, "--label", *options, *before, programs / name, *arguments], **environment)

    return run


def assert_ok(done, ranks=4):
    """Each rank prints its line once, with the number of its task."""
    said = [line for line in done.stdout.splitlines() if line.endswith(": ok")]
    assert done.returncode == 0 and len(said) == ranks, done.stdout
    for line in said:
        found = re.fullmatch(rf" *(\d+): rank (\d+) of {ranks}, app -1(, spawned 0)?: ok", line)
        assert found and found[1] == found[2], line
    assert len(set(said)) == ranks


# ---- our library and theirs, by either header ----------------------------------------------------


@LIBRARIES
def test_pmi2_13_pmi2_1_init(job, program, library):
    assert_ok(job(f"peer-{program}", "init", library=library))


@LIBRARIES
def test_pmi2_25_longest_key_and_value(job, program, library):
    assert_ok(job(f"job-{program}", "limits", library=library))


@LIBRARIES
def test_pmi2_29_pmi2_30_missing_key(job, program, library):
    assert_ok(job(f"job-{program}", "missing", library=library))


@LIBRARIES
def test_pmi2_31_pmi2_27_exchange(job, program, library):
    assert_ok(job(f"peer-{program}", "exchange", library=library))


@LIBRARIES
def test_pmi2_38_any_source(job, program, library):
    assert_ok(job(f"job-{program}", "sources", library=library))


@LIBRARIES
def test_pmi2_56_pmi2_54_attributes(job, program, library):
    assert_ok(job(f"job-{program}", "attributes", library=library))


@LIBRARIES
def test_pmi2_58_pmi2_61_names_across_nodes(job, program, library):
    assert_ok(job(f"job-{program}", "names", library=library))


@LIBRARIES
def test_pmi2_1_ring(job, program, library):
    assert_ok(job(f"job-{program}", "ring", library=library))


@LIBRARIES
def test_pmi2_108_charm(job, program, library):
    assert_ok(job(f"peer-{program}", "charm", library=library))


@LIBRARIES
def test_pmi2_15_finalize_while_others_work(job, program, library):
    assert_ok(job(f"job-{program}", "leave", library=library))


# ---- our library ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks, options", [(1, ["-N", "1"]), (2, ["-N", "2"]), (17, ["-N", "2"]), (64, ["-N", "2", "-m", "cyclic"])])
def test_pmi2_31_sizes(job, ranks, options):
    assert_ok(job("peer-ours", "exchange", options=[*options, "-n", str(ranks)]), ranks)


def test_pmi2_31_256_ranks(job):
    assert_ok(job("job-ours", "all", options=["-N", "2", "-n", "256"]), 256)


def test_pmi2_26_too_long(job):
    assert_ok(job("job-ours", "refused"))


def test_pmi2_44_fence_is_a_barrier(job):
    assert_ok(job("peer-ours", "barrier"))


def test_pmi2_19_abort(job):
    done = job("peer-ours", "abort")
    assert done.returncode != 0 and ": ok" not in done.stdout, done.stdout


PLACEMENTS = [(4, [*HALVES], "(vector,(0,2,2))"),
              (2, ["-N", "2", "-n", "2"], "(vector,(0,2,1))"),
              (3, ["-N", "1", "-n", "3"], "(vector,(0,1,3))"),
              (5, ["-N", "2", "-n", "5"], "(vector,(0,1,4),(1,1,1))"),
              (4, [*HALVES, "-m", "cyclic"], "(vector,(0,2,1),(0,2,1))"),
              (6, ["-N", "2", "-n", "6", "--ntasks-per-node=3", "-m", "plane=2"], "(vector,(0,2,2),(0,1,2))"),
              (6, ["-N", "2", "-n", "6", "-m", "cyclic"], "(vector,(0,2,1),(0,1,1),(0,1,1),(0,1,1),(0,1,1))")]


@pytest.mark.parametrize("ranks, options, mapping", PLACEMENTS, ids=[f"{ranks}-{i}" for i, (ranks, *_) in enumerate(PLACEMENTS)])
def test_pmi2_46_mapping(job, ranks, options, mapping):
    """Slurm's text, and what libpmi.so.0 makes of it is where the ranks are. It speaks PMI-2's frames here."""
    done = job("job-ours", "mapping", options=options)
    assert_ok(done, ranks)
    placed = dict(re.findall(r"placed (\d+) (n\d) ", done.stdout))
    assert len(placed) == ranks and done.stdout.count(mapping + "\n") == ranks, done.stdout

    done = job("pmi1", options=options)
    assert done.returncode == 0, done.stdout
    said = re.findall(r"rank (\d+): on (n\d) with ([\d ]+)", done.stdout)
    assert sorted(rank for rank, *_ in said) == sorted(placed)
    for rank, node, clique in said:
        assert node == placed[rank] and clique.split() == sorted((r for r in placed if placed[r] == node), key=int), done.stdout


# ---- bytes ---------------------------------------------------------------------------------------


def test_pmi2_45_pmi2_76_pmi2_82_raw(slurm):
    done = slurm.run([*SRUN, *HALVES, sys.executable, HERE / "wire.py", "raw"])
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == [f"rank {rank}: ok" for rank in range(4)], done.stdout


def listen(job, folder, *arguments):
    """The messages between each rank of the program and Slurm."""
    folder.mkdir()
    assert_ok(job(*arguments, before=[sys.executable, HERE / "wire.py", "listen", folder]))
    return [[json.loads(line) for line in (folder / str(rank)).read_text().splitlines()] for rank in range(4)]


def test_pmi2_80_pmi2_15_order_of_keys_and_end(job, tmp_path):
    for said in listen(job, tmp_path / "said", "peer-ours", "exchange"):
        replies = [text for who, text in said if who == "S"]
        assert len(replies) > 20 and replies[0] == "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"
        assert all(re.match(r"cmd=[a-z-]+-response;rc=\d+;", text) for text in replies[1:]), replies
        ending = [entry for entry in said if entry != ["S end", ""]][-3:]
        assert ending == [["C", "cmd=finalize;"], ["S", "cmd=finalize-response;rc=0;"], ["C end", ""]]


def test_pmi2_82_pmi2_53_thrid_is_not_repeated(job, tmp_path):
    """Calls of several threads overlap; from the first overlap on they carry `thrid`, and a call that waits does not block them."""
    for said in listen(job, tmp_path / "said", "job-ours", "threads"):
        assert any(who == "C" and ";thrid=" in text for who, text in said)
        assert not any(who == "S" and "thrid" in text for who, text in said)


# ---- MPICH, pmrun --------------------------------------------------------------------------------


def test_pmi2_105_mpich_as_a_control(slurm, tmp_path):
    """The client inside MPICH speaks PMI-1."""
    command(["mpicc.mpich", HERE / "mpi.c", "-o", tmp_path / "mpi"])
    done = slurm.run([*SRUN, *HALVES, tmp_path / "mpi"])
    assert done.returncode == 0, done.stdout
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of 4: sum 6" for rank in range(4)]


@pytest.mark.parametrize("options", [["-launcher", "slurm", "-n", "4"], []], ids=["named", "found"])
def test_pmi2_90_pmrun_in_an_allocation(slurm, programs, options):
    """pmrun reads from the allocation what its options leave out: the hosts, their slots, and how to reach them."""
    done = slurm.run(["salloc", "--quiet", *HALVES, PMRUN, *options, programs / "job-ours", "mapping"], LD_LIBRARY_PATH=str(OURS))
    assert done.returncode == 0 and done.stdout.count("of 4, app 0: ok") == 4, done.stdout
    placed = dict(re.findall(r"placed (\d+) (n\d) \(vector,\(0,2,2\)\)", done.stdout))
    assert placed == {"0": "n1", "1": "n1", "2": "n2", "3": "n2"}, done.stdout


def test_pmi2_90_pmrun_in_a_batch_job(slurm, programs, tmp_path):
    script = tmp_path / "script"
    output, end = tmp_path / "output", tmp_path / "end"
    script.write_text(f"#!/bin/sh\nLD_LIBRARY_PATH='{OURS}' '{PMRUN}' -l {programs}/peer-ours exchange\necho status $?\ntouch {end}\n")
    done = slurm.run(["sh", "-c", f"sbatch --quiet {' '.join(HALVES)} --output={output} {script} &&"
                                  f" until [ -e {end} ]; do sleep 0.1; done"]) # sbatch --wait polls every ten seconds
    assert done.returncode == 0, done.stdout
    lines = sorted(output.read_text().splitlines())
    assert lines == [*(f"[{rank}] rank {rank} of 4, app 0, spawned 0: ok" for rank in range(4)), "status 0"], lines
