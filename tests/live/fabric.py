# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Fabrics of sim-run --live, and programs on them."""

import contextlib
import os
import shlex
import signal
import subprocess
import time

import jacquard

BUILD = jacquard.build_directory()
PMRUN = BUILD / "bin/pmrun"
SIM_RUN = BUILD / "bin/sim-run"
OUTER = ("PMI", "HYDI", "MPI", "OMPI", "FLUX", "SLURM", "JACQUARD_", "FI_", "CRAY_")


def environment(**more):
    """Ours, without what says where we are ourselves."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OUTER)}
    clean.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    clean.update(more)
    return clean


def run(*command, timeout=240, env=None, cwd=None):
    """The finished process; when it takes too long, nothing of its group is left."""
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=env or environment(), cwd=cwd, start_new_session=True) as process:
        try:
            out, error = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, error = process.communicate()
            raise AssertionError(f"{' '.join(map(str, command))}: not done in {timeout} s\n{out}\n{error}") from None
    return subprocess.CompletedProcess(command, process.returncode, out, error)


def wait_for(condition, seconds=120):
    """Until it holds, and what it returned; that it never does is an error."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.01)
    return found


class Fabric:
    """A fabric that runs: what processes need, and its report when it has ended."""

    def __init__(self, process, exports, said):
        self.process, self.exports, self.said, self.report = process, exports, said, None

    def end(self, number=signal.SIGTERM):
        if self.report is None:
            self.process.send_signal(number)
            self.report, self.errors = self.process.communicate(timeout=120)
        return self.process.returncode


@contextlib.contextmanager
def fabric(*arguments, env=None):
    process = subprocess.Popen([SIM_RUN, "--live", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=env or environment())
    exports = {}
    try:
        for line in process.stdout:
            if not line.startswith("export "):
                break
            name, value = shlex.split(line)[1].split("=", 1)
            exports[name] = value
        else:
            raise AssertionError(f"no fabric: {process.communicate(timeout=120)[1]}")
        running = Fabric(process, exports, line)
        yield running
        running.end()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
