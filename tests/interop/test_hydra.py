# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""pmrun and Hydra's mpiexec side by side: the same command gives the same status, environment and bytes of PMI-2."""

import subprocess
import sys
from pathlib import Path

import jacquard
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "pmrun"))
from launcher import environment, processes_with, until  # noqa: E402

PMRUN = jacquard.build_directory() / "bin/pmrun"
BOTH = pytest.mark.parametrize("launcher", [PMRUN, "mpiexec.mpich"], ids=["pmrun", "hydra"])
WIRE = Path(__file__).parent / "hydra_wire.py"


def run(launcher, *arguments, **more):
    # Hydra writes to proxies that have ended: it has to ignore SIGPIPE, as Python does and hands on by this.
    return subprocess.run([launcher, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          env=environment(**more), restore_signals=False, check=False)


def test_pmi2_24_pmi2_45_pmi2_75_pmi2_76_pmi2_79_pmi2_80_pmi2_82_same_bytes():
    said = {}
    for launcher in (PMRUN, "mpiexec.mpich"):
        done = run(launcher, "-n", 1, sys.executable, WIRE)
        assert done.returncode == 0, done
        said[launcher] = done.stdout.splitlines()
    ours, hydras = said.values()
    # pmrun exports the port under two names, because clients read one or the other (D-19).
    assert hydras[15] == "cmd=name-lookup-response;port=port 1;found=TRUE;rc=0;"
    hydras[15] = hydras[15].replace("found", "value=port 1;found")
    assert len(hydras) == 20 and ours == hydras


def test_pmi2_60_pmi2_79_pmi2_84_pmi2_85_same_lines():
    ours, hydras = (run(launcher, "-n", 1, sys.executable, WIRE, "lines") for launcher in (PMRUN, "mpiexec.mpich"))
    assert (ours.returncode, hydras.returncode) == (0, 0), (ours, hydras)
    assert hydras.stdout.count("\n") == 14 and "cmd=get_result rc=-1 msg=key_nix_not_found value=unknown\n" in hydras.stdout
    assert "rc=1 msg=service_not_found\n" in hydras.stdout
    assert ours.stdout.splitlines() == hydras.stdout.splitlines()


@BOTH
def test_pmi2_20_status_of_an_abort(launcher):
    script = 'printf "cmd=init pmi_version=1 pmi_subversion=1\\ncmd=abort exitcode=7\\n" >&$PMI_FD; sleep 100'
    assert run(launcher, "-n", 2, "sh", "-c", script).returncode == 7


@BOTH
def test_pmi2_92_precedence(launcher):
    def value(*options):
        done = run(launcher, *options, "-n", 1, "sh", "-c", "echo $X $PMI_RANK", X="inherited")
        assert done.returncode == 0, done
        return done.stdout

    assert value() == "inherited 0\n"
    assert value("-genv", "X", "all") == "all 0\n"
    assert value("-genv", "X", "all", "-env", "X", "own") == "own 0\n"
    assert value("-genvlist", "X,PATH") == "inherited 0\n"
    assert value("-env", "PMI_RANK", "7") == "inherited 0\n"  # the system's own


@BOTH
def test_pmi2_94_status(launcher):
    """Hydra combines the statuses of ranks by bitwise or."""
    joined = [] if launcher != PMRUN else ["-exit-code=or"]
    assert run(launcher, "-n", 3, "true").returncode == 0
    assert run(launcher, *joined, "-n", 3, "sh", "-c", "exit $((PMI_RANK * 2))").returncode == 6
    assert run(launcher, "-n", 1, "sh", "-c", "kill -SEGV $$").returncode == 11  # with several failing ranks Hydra's proxy sometimes fails


@BOTH
def test_pmi2_96_status_after_finalize(launcher):
    """The other ranks finish normally, after the failing one."""
    script = """
import os, socket, sys
rank, channel = os.environ["PMI_RANK"], socket.socket(fileno=int(os.environ["PMI_FD"]))
lines = channel.makefile("rw")
def ask(text):
    lines.write(text + "\\n")
    lines.flush()
    return lines.readline()
ask("cmd=init pmi_version=1 pmi_subversion=1")
ask("cmd=barrier_in")
ask("cmd=finalize")
print("finalized", flush=True)
sys.exit(3 if rank == "1" else 0)
"""
    done = run(launcher, "-n", 3, sys.executable, "-c", script)
    assert done.returncode == 3 and done.stdout.count("finalized\n") == 3, done


@BOTH
def test_pmi2_98_nothing_outlives_the_launcher(launcher, tmp_path):
    mark = tmp_path / "stay"
    mark.write_text("#!/bin/sh\necho ready\nread -r nothing <&$PMI_FD\n")
    job = subprocess.Popen([launcher, "-n", "4", "sh", str(mark)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                           env=environment(), restore_signals=False)
    assert [job.stdout.readline() for _ in range(4)] == ["ready\n"] * 4
    job.kill()
    job.communicate(timeout=60)
    until(lambda: processes_with(f"sh\0{mark}") == [])


@BOTH
def test_pmi2_102_time_limit(launcher):
    done = run(launcher, "-n", 2, "sleep", "100", MPIEXEC_TIMEOUT="2")
    said = (done.stdout + done.stderr).lower()
    assert done.returncode == 255 and ("time limit" in said or "timed out" in said), done


@BOTH
def test_pmi2_103_no_such_program(launcher):
    joined = [] if launcher != PMRUN else ["-exit-code=or"]
    done = run(launcher, *joined, "-n", 2, "./nosuch")
    # On a busy machine mpiexec may write to its proxy after that has ended, and then prints only that.
    named = "./nosuch" in done.stdout + done.stderr or (launcher != PMRUN and "Broken pipe" in done.stderr)
    assert done.returncode == 255 and named, done
