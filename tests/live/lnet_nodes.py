# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""LNet nodes as processes of this machine: a program that serves, jacquard lnetd, and what they are asked."""

import contextlib
import os
import signal
import subprocess
import time

import jacquard

JACQUARD = jacquard.build_directory() / "bin/jacquard"
EXCHANGE = jacquard.build_directory() / "tests/lnet_exchange"
CAPTURE = jacquard.build_directory() / "tests/lnet_capture"
PORT = 9988
MIB = 1 << 20
# What lnet_exchange sends in a round: a PUT with ACK and a GET with REPLY of each size.
SIZES = [0, 1, 7, 8, 100, 927, 928, 1024, 4095, 4096, 4097, 16384, 65535, 65536, 65537, 100000, 262144, 524289, 1000000,
         MIB - 1, MIB]


def options(address, *more):
    return dict(os.environ, LNET_OPTIONS=f"networks=tcp({address}) accept_port={PORT} {' '.join(more)}")


@contextlib.contextmanager
def serving(environment, command=(), ready="ready"):
    """A process that is ready; afterwards its standard input is closed, and it has to end well."""
    process = subprocess.Popen([*command, EXCHANGE, "serve"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == f"{ready}\n", process.stderr.read()
        yield process
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0 and output == "served\n", errors
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def daemon(config, *arguments, command=()):
    process = subprocess.Popen([*command, JACQUARD, "lnetd", *arguments, config], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        while not lines or lines[-1] != "ready\n":
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        yield process, lines[:-1]
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    finally:
        process.kill()
        process.wait()


def run(*command, environment=None):
    return subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, timeout=300)


def exchange(environment, nid, rounds=1, command=()):
    done = run(*command, EXCHANGE, "run", nid, rounds, environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{2 * len(SIZES) * rounds} messages\n"


def ping(address, *nids, command=(), more=()):
    return run(*command, JACQUARD, "lnet", "ping", "--networks", f"tcp({address})", "--set", f"accept_port={PORT}", *more, *nids)


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.02)
