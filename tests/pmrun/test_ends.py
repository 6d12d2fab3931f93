# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""How jobs end: exit status, what is said, signals, and that nothing is left."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from launcher import PMRUN, children, default_signals, environment, processes_with, run, start, states, until


def test_pmi2_94_status():
    def status(script, *options):
        return run(*options, "-n", 3, "sh", "-c", script).returncode

    assert status("exit 0") == 0
    assert status("exit $((PMI_RANK * 2))") == 4
    assert status("exit $((PMI_RANK * 2))", "-exit-code=or") == 6
    assert status("kill -SEGV $$") == 11
    assert status("kill -SEGV $$", "-exit-code", "shell") == 139


def test_pmi2_94_message_of_a_signal():
    done = run("-n", 2, "sh", "-c", "test $PMI_RANK = 0 || kill -SEGV $$; sleep 100")
    assert done.returncode == 11 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "rank 1 (pid " in done.stderr and "killed by signal 11 (SEGV); ending job" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("-launcher", "fork", "-hosts", "a,b")], ids=["one", "two"])
def test_pmi2_94_a_killed_rank_ends_the_job_at_once(arguments):
    job = start("-verbose", *arguments, "-n", 8, "sh", "-c", "echo $$; exec sleep 1000")
    pids = [int(job.stdout.readline()) for _ in range(8)]
    os.kill(pids[5], signal.SIGKILL)
    _, said = job.communicate(timeout=60)
    assert job.returncode == 9 and f"(pid {pids[5]}, node " in said and "killed by signal 9 (KILL); ending job" in said
    assert "sending SIGKILL" not in said  # it did not take as long as the stubborn are given: two seconds
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_all_exit_codes():
    done = run("-print-all-exitcodes", "-n", 5, "sh", "-c", "test $PMI_RANK = 3 && exit 2; exit 0")
    assert done.returncode == 2 and "ranks 0-2,4: exit status 0; 3: exit status 2" in done.stderr


def test_pmi2_95_exit_without_finalize(probe):
    done = run("-n", 3, probe, "leave", 0)
    assert done.returncode == 1 and "rank 1 " in done.stderr and "without having finalized" in done.stderr
    assert processes_with(str(probe)) == []


def test_exit_with_a_status_before_finalize(probe):
    done = run("-n", 3, probe, "leave", 5)
    assert done.returncode == 5 and "rank 1 " in done.stderr and "exit status 5" in done.stderr


def test_pmi2_96_status_after_finalize(probe):
    done = run("-n", 3, probe, "after", 3)
    assert (done.returncode, done.stderr) == (3, "")


def test_pmi2_19_abort(probe):
    done = run("-n", 3, probe, "abort")
    assert done.returncode == 1 and "rank 1 " in done.stderr and "first line\nsecond line\n" in done.stderr


def test_pmi2_20_abort_of_pmi_1(tmp_path):
    script = 'printf "cmd=init pmi_version=1 pmi_subversion=1\\ncmd=abort exitcode=7\\n" >&3; sleep 100'
    assert run("-n", 2, "sh", "-c", script).returncode == 7


def test_pmi2_21_abort_of_one(probe):
    done = run("-n", 3, probe, "abort-alone")
    assert done.returncode == 1 and "rank 1 of job" in done.stderr and "only I" in done.stderr


def test_pmi2_62_survivors(probe):
    done = run("-disable-auto-cleanup", "-n", 3, probe, "survive")
    assert done.returncode == 9 and done.stdout == "1\n1\n" and "the others go on" in done.stderr


def test_pmi2_97_signals_are_passed_on(probe):
    for number in [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGINT]:
        job = start("-n", 2, probe, "signal")
        assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        job.send_signal(number)
        out, _ = job.communicate(timeout=60)
        assert out == f"{number.value}\n" * 2 and job.returncode == 0


def test_pmi2_97_second_interrupt_ends_the_stubborn(probe):
    job = start("-n", 2, probe, "stubborn")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    job.send_signal(signal.SIGINT)
    assert "once more" in job.stderr.readline()
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=60)
    assert job.returncode == 255 and processes_with(str(probe)) == []


TREES = pytest.mark.parametrize("arguments", [(), ("-launcher", "fork", "-hosts", "a,b")], ids=["one", "two"])


@TREES
def test_pmi2_97_sigterm_ends_the_stubborn(probe, arguments):
    job = start(*arguments, "-n", 4, probe, "stubborn")
    assert [job.stdout.readline() for _ in range(4)] == ["ready\n"] * 4
    job.terminate()
    _, errors = job.communicate(timeout=60)
    assert job.returncode == signal.SIGTERM and "sending SIGKILL" in errors and processes_with(f"{probe}\0stubborn") == []


def test_pmi2_97_sigterm_does_not_wait_for_a_node(probe):
    """The pmproxy of a node is stopped: it neither passes a signal on nor says that anything has ended."""
    job = start("-launcher", "fork", "-hosts", "a,b", "-n", 2, probe, "stubborn")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    proxy, = [pid for pid in children(job.pid) if "pmproxy" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(proxy, signal.SIGSTOP)
    job.terminate()
    _, errors = job.communicate(timeout=60)
    assert job.returncode == signal.SIGTERM and "do not report the ends of their processes" in errors
    until(lambda: processes_with(f"{probe}\0stubborn") == [])


def test_pmi2_97_sigterm_does_not_wait_for_a_reader(probe):
    """Nobody reads the output: it fills the pipe and pmrun's own buffer, and the ranks wait."""
    reader, writer = os.pipe()
    job = subprocess.Popen([PMRUN, "-n", "2", probe, "lines", "1000000000"], stdin=subprocess.DEVNULL, stdout=writer,
                           stderr=subprocess.DEVNULL, env=environment(), preexec_fn=default_signals)
    os.close(writer)
    until(lambda: len(states(probe, "lines")) == 2 and states(probe, "lines") == ["S", "S"])
    job.terminate()
    assert job.wait(timeout=60) == signal.SIGTERM
    os.close(reader)
    assert processes_with(f"{probe}\0lines") == []


def test_stop_and_continue(probe):
    job = start("-n", 2, probe, "signal")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    job.send_signal(signal.SIGTSTP)
    until(lambda: states(probe, "signal") == ["T", "T"])
    job.send_signal(signal.SIGCONT)
    job.communicate(timeout=60)


@TREES
def test_pmi2_98_nothing_outlives_pmrun(probe, arguments):
    # A shell and its child: the kernel kills only the former with pmrun.
    job = start(*arguments, "-n", 4, "sh", "-c", f"{probe} stubborn & wait")
    assert [job.stdout.readline() for _ in range(4)] == ["ready\n"] * 4
    assert len(processes_with(f"{probe}\0stubborn")) >= 4
    job.kill()
    job.communicate(timeout=60)
    until(lambda: processes_with(f"{probe}\0stubborn") == [])


def test_pmi2_98_nothing_outlives_pmproxy(probe):
    job = start("-launcher", "fork", "-hosts", "a,bb", "-n", 4, probe, "stubborn")
    assert [job.stdout.readline() for _ in range(4)] == ["ready\n"] * 4
    proxy = [pid for pid in children(job.pid) if "pmproxy" in open(f"/proc/{pid}/cmdline").read()]
    os.kill(proxy[0], signal.SIGKILL)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 255 and "node bb " in errors
    until(lambda: processes_with(str(probe)) == [])


def test_pmi2_102_time_limit(probe):
    for options, more in [(("-timeout", "0.3"), {}), ((), {"MPIEXEC_TIMEOUT": "2"})]:
        done = run(*options, "-n", 2, probe, "hang", env=environment(**more))
        assert done.returncode == 255 and "time limit" in done.stderr


def test_pmi2_103_no_such_program(tmp_path):
    (tmp_path / "data").write_text("x")
    done = run("-n", 2, "./nosuch")
    assert done.returncode == 127 and "./nosuch" in done.stderr and "No such file" in done.stderr and "rank 0" in done.stderr
    assert run("-n", 1, tmp_path / "data").returncode == 126
    assert run("-exit-code=or", "-n", 1, "./nosuch").returncode == 255
    assert "working directory" in run("-wdir", "/nosuch", "-n", 1, "true").stderr
    touched = tmp_path / "touched"
    assert run("-n", 1, "touch", touched, ":", "-n", 1, "./nosuch").returncode == 127 and not touched.exists()


def test_children_that_keep_the_output_open():
    done = run("-n", 2, "sh", "-c", "sleep 100 & echo done")
    assert (done.returncode, done.stdout) == (0, "done\ndone\n")
