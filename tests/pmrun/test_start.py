# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What processes are started with: number, arguments, environment, descriptors, input."""

import os
import subprocess
from pathlib import Path

import jacquard
import pytest
from launcher import PMRUN, environment, output, run


def test_pmi2_90_processes_and_executables(probe):
    assert output("-n", 4, "echo", "a b") == ["a b"] * 4
    assert output("-n", 2, probe, "who", ":", "-n", 1, probe, "who") == [
        "rank 0 of 3 appnum 0 spawned 0", "rank 1 of 3 appnum 0 spawned 0", "rank 2 of 3 appnum 1 spawned 0"]


@pytest.mark.parametrize("hosts", [(), ("-launcher", "fork", "-hosts", "a,b")], ids=["one", "two"])
def test_each_rank_has_a_session_of_its_own(hosts):
    """The kernel shares processors out by session: ranks in pmrun's would get what one process of another session gets."""
    lines = output(*hosts, "-n", 3, "sh", "-c", "echo $$ $(cut -d ' ' -f 5,6,7 /proc/$$/stat) $(cat /proc/$$/autogroup)")
    fields = [line.split() for line in lines]
    assert all(pid == group == session and terminal == "0" for pid, group, session, terminal, *_ in fields), lines
    switch = Path("/proc/sys/kernel/sched_autogroup_enabled")
    if switch.exists() and switch.read_text().strip() == "1":
        groups = {rest[0] for *_, rest in ((each[:4], each[4:]) for each in fields)}
        assert len(groups) == 3 and Path("/proc/self/autogroup").read_text().split()[0] not in groups, lines


@pytest.mark.parametrize("ranks", [1, 2, 17, 64])
def test_pmi2_31_every_rank_sees_what_all_have_put(probe, ranks):
    assert output("-n", ranks, probe, "exchange") == []


@pytest.mark.parametrize("ranks", [256, pytest.param(512, marks=pytest.mark.slow)])
def test_pmi2_33_many_ranks_on_one_node(probe, ranks):
    assert output("-n", ranks, probe, "exchange", timeout=300) == []


@pytest.mark.slow
def test_a_thousand_ranks(probe):
    assert len(output("-n", 1024, probe, "who", timeout=120)) == 1024


def test_pmi2_92_precedence(probe):
    def value(*options):
        return output(*options, "-n", 1, "sh", "-c", "echo $X", env=environment(X="inherited"))

    assert value() == ["inherited"]
    assert value("-genv", "X", "all") == ["all"]
    assert value("-genv", "X", "all", "-env", "X", "own") == ["own"]
    assert value("-envnone", "-genv", "PATH", "/bin") == [""]
    assert value("-genvlist", "X,PATH") == ["inherited"]
    assert output("-env", "PMI_RANK", "7", "-n", 1, "sh", "-c", "echo $PMI_RANK") == ["0"]


def test_pmi2_93_nothing_of_an_outer_launcher():
    outer = {"PMI_VERSION": "2", "PMI_ID": "3", "PMI_PORT": "x:1", "PMIX_RANK": "4", "HYDI_CONTROL_FD": "9",
             "MPI_LOCALNRANKS": "77", "FLUX_JOB_ID": "1"}
    names = {line.split("=")[0]: line.split("=", 1)[1] for line in output("-n", 1, "env", env=environment(**outer))}
    assert not {"PMI_VERSION", "PMI_ID", "PMI_PORT", "PMIX_RANK", "HYDI_CONTROL_FD", "FLUX_JOB_ID", "PMI_SPAWNED"} & set(names)
    assert names["MPI_LOCALNRANKS"] == "1" and names["PMI_SIZE"] == "1" and names["PMI_FD"] == "3"


def test_ranks_of_open_mpi_yield_where_processors_are_fewer():
    def value(ranks, *options):
        return set(output(*options, "-n", ranks, "sh", "-c", "echo $OMPI_MCA_mpi_yield_when_idle"))

    many = len(os.sched_getaffinity(0)) + 1
    assert value(many, "-ompi") == {"1"} and value(many) == value(1, "-ompi") == {""}
    assert value(many, "-ompi", "-genv", "OMPI_MCA_mpi_yield_when_idle", "0") == {"0"}


def test_on_a_fabric_they_make_progress_without_threads_there():
    def values(ranks, *options):
        return set(output("--fabric", "--fabric-report", "none", *options, "-n", ranks, "sh", "-c",
                          "echo $OMPI_MCA_mpi_yield_when_idle $OMPI_MCA_mtl_ofi_control_progress $OMPI_MCA_mtl_ofi_data_progress"))

    many = len(os.sched_getaffinity(0)) + 1
    assert values(many, "-ompi") == {"1 manual manual"} and values(many) == values(1, "-ompi") == {""}
    assert values(many, "-ompi", "-genv", "OMPI_MCA_mtl_ofi_data_progress", "auto") == {"1 manual auto"}


def test_pmi2_100_input_goes_to_rank_0():
    assert output("-l", "-n", 3, "cat", stdin="one\ntwo\n") == ["[0] one", "[0] two"]
    assert output("-l", "-stdin", 2, "-n", 3, "cat", stdin="x\n") == ["[2] x"]
    assert output("-stdin", "none", "-n", 2, "cat", stdin="x\n") == []


def test_pmi2_100_input_to_another_node():
    text = "".join(f"line {i}\n" for i in range(50000))
    done = run("-launcher", "fork", "-hosts", "a,b", "-stdin", 1, "-n", 2, "cat", stdin=text)
    assert done.returncode == 0 and done.stdout == text


def test_pmi2_101_no_other_descriptor(probe, tmp_path):
    with open(tmp_path / "leak", "w") as leak:
        done = run("-n", 2, probe, "descriptors", pass_fds=[leak.fileno()])
    assert done.stdout == "3\n3\n"


def test_pmi2_49_universe(probe):
    for option, text in [((), "2"), (("-usize", 9), "9"), (("-usize", "INFINITE"), "(none)"), (("-usize", "system"), "(none)")]:
        assert output(*option, "-hosts", "localhost:2", "-n", 1, probe, "attribute", "universeSize") == [text]


def test_working_directory_and_path(tmp_path):
    (tmp_path / "own").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "own").chmod(0o755)
    (tmp_path / "script").write_text("echo of a shell $1\n")
    (tmp_path / "script").chmod(0o755)
    assert output("-wdir", tmp_path, "-n", 1, "./own") == [str(tmp_path)]
    assert output("-path", f"/nosuch:{tmp_path}", "-wdir", "/", "-n", 1, "own") == ["/"]
    assert output("-n", 1, tmp_path / "script", "yes") == ["of a shell yes"]


def test_configuration_file(tmp_path):
    (tmp_path / "job").write_text("# two\n-n 1 echo 'a b'\n-n 2 -env X=y sh -c 'echo $X'\n")
    assert output("-configfile", tmp_path / "job") == ["a b", "y", "y"]


@pytest.mark.parametrize("arguments, word", [
    (["-n", "0", "true"], "-n 0"), (["-n"], "needs a value"), (["-nosuch"], "not an option"), ([], "no program"),
    (["true", ":"], "no program after"), ([":", "true"], "no program before"), (["-hosts", "a:0", "true"], "slots"),
    (["-hostfile", "/nosuch", "true"], "/nosuch"), (["-exit-code", "x", "true"], "max, or, shell"),
])
def test_bad_command_lines(arguments, word):
    done = run(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("pmrun: ") and word in done.stderr and done.stderr.count("\n") == 1


def test_help_and_list_of_options():
    listed = [line.split("\t") for line in output("-list-options")]
    assert all(len(row) == 3 for row in listed) and {"n", "hosts", "bind-to"} <= {row[0] for row in listed}
    manual = (jacquard.ROOT / "docs/man/pmrun.1").read_text().replace("\\-", "-")
    assert all(f"-{row[0]}\\fR" in manual for row in listed)
    text = subprocess.run([PMRUN, "--help"], text=True, capture_output=True, check=True).stdout
    assert all(f"-{row[0]}" in text for row in listed)
