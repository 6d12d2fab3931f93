# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the tests of this folder share: pairs of processes on a fabric of their own."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import jacquard

PROGRAMS = jacquard.build_directory() / "tests/live"
PLUGIN = jacquard.build_directory() / "lib/libfabric"
SKIPPED = 77
# More than any program takes here, also where ten of them share the processors.
TIMEOUT_S = 400


@contextmanager
def fabric():
    """The environment of processes that share a fabric, which nobody else uses."""
    # Not pytest's own folders: the path of a socket has 107 bytes at most.
    folder = Path(tempfile.mkdtemp(prefix="jacquard-"))
    try:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("JACQUARD_", "GNIX_", "PMI", "FI_"))}
        yield dict(clean, JACQUARD_FABRIC=str(folder / "fabric"), FI_PROVIDER_PATH=str(PLUGIN))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def together(commands, environments, pass_fds=(), before_next=None):
    """Runs them at the same time; [(exit code, output)]. `before_next` must be true before the next one starts. When one fails
    the others have a few seconds more. None outlives this."""
    started, outputs = [], []
    try:
        for command, environment in zip(commands, environments):
            output = tempfile.TemporaryFile(mode="w+")
            outputs.append(output)
            # Where others' libraries may leave what they write when a process crashes.
            started.append(subprocess.Popen(list(map(str, command)), env=environment, pass_fds=pass_fds, cwd=tempfile.gettempdir(),
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT))
            if before_next is not None and len(started) < len(commands):
                wait_until(lambda: before_next() or started[-1].poll() is not None, TIMEOUT_S)
        wait_until(lambda: all(each.poll() is not None for each in started) or any(each.poll() for each in started), TIMEOUT_S)
        wait_until(lambda: all(each.poll() is not None for each in started), 5)
        return [(each.poll() if each.poll() is not None else "still running", text(output))
                for each, output in zip(started, outputs)]
    finally:
        for each in started:
            if each.poll() is None:
                each.kill()
                each.wait()


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def text(output):
    output.seek(0)
    return output.read()


def pair(program, options, environments):
    """Both sides of a program of functional/: [(exit code, output)]."""
    server, client = socket.socketpair()
    with server, client:
        return together([[PROGRAMS / program, "-t", TIMEOUT_S // 2, *options, "-S", server.fileno()],
                         [PROGRAMS / program, "-t", TIMEOUT_S // 2, *options, "-C", client.fileno()]],
                        environments, (server.fileno(), client.fileno()))


def report(program, results):
    return "\n".join(f"{program}, {side}: exit code {code}\n{output}"
                     for side, (code, output) in zip(("server", "client"), results))
