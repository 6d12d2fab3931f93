# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Daemons with the driver of m0_net as processes of this machine, and the programs that use them."""

import contextlib
import ctypes
import signal
import subprocess

from lnet_nodes import JACQUARD, PORT, daemon

PR_SET_PDEATHSIG = 1
LIMIT_S = 240
LIBC = ctypes.CDLL(None)


class Node:
    """A daemon, and what its processes are started with."""

    def __init__(self, address, path, process):
        self.address, self.path, self.process = address, str(path), process

    def command(self, what, *arguments):
        return [str(part) for part in (JACQUARD, "m0", what, "--socket", self.path, *arguments)]

    def ping(self, *arguments):
        return run(*self.command("ping", *arguments))

    def held(self):
        done = run(*self.command("show"))
        assert done.returncode == 0, done.stderr
        return {name.strip(): int(value) for name, value in (line.split(":") for line in done.stdout.splitlines()[1:])}

    def is_unused(self):
        held = self.held()
        return [held[what] for what in ("domains", "machines", "buffers", "event slots", "pinned pages")] == [0] * 5

    def server(self, tmid=12):
        return f"{self.address}@tcp:12345:39:{tmid}"


def run(*command, environment=None):
    return subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, timeout=LIMIT_S // 2)


def dies_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.alarm(LIMIT_S)


def begin(*command, **more):
    """It dies with the test, or after a time in which all should be over."""
    return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=dies_with_parent, **more)


@contextlib.contextmanager
def node(address, folder, *arguments):
    config = folder / f"{address}.yaml"
    config.write_text(f"net:\n  - net type: tcp\n    local NI(s):\n      - nid: {address}@tcp\n")
    path = folder / f"{address}.m0"
    with daemon(config, "--set", f"accept_port={PORT}", "--m0", path, *arguments) as (process, _):
        yield Node(address, path, process)
