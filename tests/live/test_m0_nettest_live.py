# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""jacquard m0 nettest: a console, servers and clients as processes of two daemons."""

import contextlib
import os
import signal

import jacquard
import pytest
from lnet_nodes import wait_until
from m0_nodes import begin, node, run


@pytest.fixture
def two(tmp_path):
    """Addresses of this machine that no other test uses."""
    net = f"127.{64 + (os.getpid() >> 8) % 128}.{os.getpid() % 256}"
    with node(f"{net}.1", tmp_path) as one, node(f"{net}.2", tmp_path) as other:
        yield one, other


@contextlib.contextmanager
def waiting(*places):
    """Nodes that wait for a console, and their addresses."""
    processes = []
    try:
        for at, *more in places:
            processes.append(begin(*at.command("nettest-node", *more)))
        addresses = []
        for process in processes:
            addresses.append(process.stdout.readline().strip())
            assert process.stdout.readline() == "ready\n", process.stderr.read()
        yield processes, addresses
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            _, errors = process.communicate(timeout=60)
            assert process.returncode in (0, -signal.SIGKILL), errors
    finally:
        for process in processes:
            process.kill()
            process.wait()


def numbers(line):
    """ "clients sent_total 5 sent_failed 0 …" → role, {name: value}"""
    role, *words = line.split()
    return role, dict(zip(words[::2], map(int, words[1::2]), strict=True))


def test_two_servers_and_two_clients(two):
    """Messages, then pairs; the console prints statistics while it waits, and all is released in the end."""
    one, other = two
    with waiting((one, "--tmid", 20), (one, "--batched"), (other,), (other, "--batched")) as (_, addresses):
        assert addresses[0] == one.server(20)
        where = ("--servers", ",".join(addresses[:2]), "--clients", ",".join(addresses[2:]))
        done = run(*other.command("nettest", *where, "--messages", 400, "--bytes", 5000))
        assert done.returncode == 0, done.stderr
        *live, clients, servers = done.stdout.splitlines()
        assert live and all(line.startswith("sent ") and "; rtt " in line for line in live)
        for role, line in (("clients", clients), ("servers", servers)):
            name, values = numbers(line)
            assert name == role
            assert values["sent_total"] == values["received_total"] == values["transfers_total"] == 800
            assert values["lost"] == values["timed_out"] == 0 and values["time_finish"] > values["time_start"]
            assert not any(value for field, value in values.items() if field.endswith(("_failed", "_bad")) or "bulk" in field)
        assert numbers(clients)[1]["rtt_count"] == 800
        done = run(*one.command("nettest", *where, "--test", "bulk", "--messages", 60, "--bytes", 100000, "--pairs", 4))
        assert done.returncode == 0, done.stderr
        for line in done.stdout.splitlines()[-2:]:
            values = numbers(line)[1]
            assert values["bulk_sent_total"] == values["bulk_received_total"] == values["transfers_total"] == 120
    wait_until(one.is_unused)
    wait_until(other.is_unused)


def test_nodes_that_die(two):
    """A client that is killed costs its own messages; without a server, messages are lost. The other nodes can have another test."""
    one, other = two
    with waiting((one,), (other,), (other,)) as (processes, addresses):
        long = ("--servers", addresses[0], "--messages", 10**9)
        console = begin(*one.command("nettest", *long, "--clients", ",".join(addresses[1:])))
        assert console.stdout.readline().startswith("sent ")
        processes[2].kill()
        output, errors = console.communicate(timeout=60)
        assert console.returncode == 1 and errors == "jacquard: m0: nettest: Connection timed out\n", output
        short = ("--servers", addresses[0], "--clients", addresses[1], "--messages", 100)
        done = run(*one.command("nettest", *short))
        assert done.returncode == 0, done.stderr
    wait_until(one.is_unused)
    wait_until(other.is_unused)


def test_wrong_command_lines(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "JACQUARD_M0"}
    tool = jacquard.build_directory() / "bin/jacquard"
    for arguments in (["nettest"], ["nettest", "--servers", "a"], ["nettest", "--servers", "a", "--clients", "b"], ["nettest", "--test", "pong"],
                      ["nettest", "--bytes", "0"], ["nettest", "--pairs", "65"], ["nettest", "--batched"], ["nettest-node", "x"],
                      ["nettest-node", "--bytes", "1"], ["nettest-node", "--tmid", "4096"], ["nettest-node"]):
        done = run(tool, "m0", *arguments, environment=environment)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    done = run(tool, "m0", "nettest", "--help", environment=environment)
    assert done.returncode == 0 and "--concurrency N" in done.stdout
    for address in ("x", "127.0.0.1@tcp:12345:39:*"):
        done = run(tool, "m0", "nettest", "--socket", tmp_path / "none", "--servers", address, "--clients", "b", environment=environment)
        assert done.returncode == 1 and done.stderr.endswith("No such file or directory\n")
