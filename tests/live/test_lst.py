# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""jacquard lst between ordinary processes: data, statistics, groups, sessions, bad commands."""

import contextlib
import errno
import os
import re
import signal
import subprocess

import jacquard
import pytest

JACQUARD = jacquard.build_directory() / "bin/jacquard"
HOSTILE = jacquard.build_directory() / "tests/lst_hostile"
PORT = 9988


@pytest.fixture
def hosts():
    """Addresses of this machine that no other test uses."""
    pid = os.getpid()
    return lambda number: f"127.{192 + (pid >> 8) % 60}.{pid % 256}.{number}"


def options(address):
    return ["--networks", f"tcp({address})", "--set", f"accept_port={PORT}"]


@contextlib.contextmanager
def serving(*addresses, command=()):
    """Test nodes that are ready; afterwards they have to end well."""
    nodes = [subprocess.Popen([*command, JACQUARD, "lst", "serve", *options(address)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) for address in addresses]
    try:
        for node in nodes:
            while (line := node.stdout.readline()) != "ready\n":
                assert line, node.stderr.read()
        yield nodes
        for node in nodes:
            if node.poll() is None:
                node.send_signal(signal.SIGTERM)
                _, errors = node.communicate(timeout=60)
                assert node.returncode == 0, errors
    finally:
        for node in nodes:
            node.kill()
            node.wait()


def lst(address, *commands, file=None):
    text = "\n".join(commands) + "\n"
    if file is not None:
        file.write_text(text)
    return subprocess.run([JACQUARD, "lst", *options(address), *([file] if file else [])], input=None if file else text,
                          capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize("size", ["8", "4097", "64K", "1M"])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_lnet_100_brw_with_full_check(hosts, kind, size):
    """Each of two clients sends 8 streams of 20 RPCs to each of two servers, and no byte is wrong."""
    with serving(*(hosts(number) for number in (2, 3, 4, 5))):
        done = lst(hosts(1), "new_session brw", f"add_group servers {hosts('[2-3]')}@tcp", f"add_group clients {hosts('[4,5]')}@tcp",
                   f"add_test --concurrency 8 --loop 20 --distribute 1:2 --from clients --to servers brw {kind} check=full size={size}",
                   "run", "query --wait", "show_error clients servers", "end_session")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "Total 0 error nodes in clients\nTotal 0 error nodes in servers\nsession is ended\n" in done.stdout


def test_stat_prints_rates_of_messages_and_of_rpcs(hosts, tmp_path):
    with serving(hosts(2), hosts(3)):
        done = lst(hosts(1), "new_session s", f"add_group servers {hosts(2)}@tcp", f"add_group clients {hosts(3)}@tcp",
                   "add_test --concurrency 4 --from clients --to servers ping", "run", "stat --delay 1 --rate --avg clients",
                   "stat --delay 1 --bw --read --max --mbs servers", "stop", file=tmp_path / "commands")
    assert done.returncode == 0, done.stderr
    [(received, sent, rpcs)] = re.findall(
        r"\[LNet Rates of clients\]\n\[R\] Avg: (\d+) +RPC/s\n\[W\] Avg: (\d+) +RPC/s\n\[RPCs of clients\]\n\[S\] Avg: (\d+)", done.stdout)
    # A ping RPC is one message in each direction. Besides, there are four under way at each reading, and those of stat itself.
    assert int(rpcs) > 0
    assert all(int(messages) == pytest.approx(int(rpcs), rel=0.02, abs=10) for messages in (sent, received))
    assert re.search(r"\[LNet Bandwidth of servers\]\n\[R\] Max: \d+\.\d\d +MB/s\n", done.stdout)


@pytest.mark.parametrize("check", ["simple", "full"])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_lnet_100_brw_with_an_offset(hosts, kind, check):
    """The data begins 4,088 bytes inside a page of the client, and ends in the fourth page."""
    with serving(hosts(2), hosts(3)):
        done = lst(hosts(1), "new_session s", f"add_group servers {hosts(2)}@tcp", f"add_group clients {hosts(3)}@tcp",
                   f"add_test --concurrency 2 --loop 20 --from clients --to servers brw {kind} c={check} off=4088 s=9001",
                   "run", "query --wait", "stat --delay 1 --rate clients", "show_error clients servers")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "Total 0 error nodes in clients\nTotal 0 error nodes in servers\n" in done.stdout


def test_stat_and_errors_of_a_list_of_nids(hosts):
    nids = hosts("[2-3]") + "@tcp"
    with serving(hosts(2), hosts(3)):
        done = lst(hosts(1), "new_session s", f"add_group servers {hosts(2)}@tcp", f"add_group clients {hosts(3)}@tcp",
                   "add_test --concurrency 4 --from clients --to servers ping", "run",
                   f"stat --delay 1 --rate --avg {nids} clients", f"show_error {nids}", "stop")
    assert done.returncode == 0, done.stderr
    [both, clients] = re.findall(r"\[RPCs of (\S+)\]\n\[S\] Avg: (\d+)", done.stdout)
    # Only the client sends RPCs, so the average of both nodes is half of it.
    assert both[0] == nids and clients[0] == "clients"
    assert 0 < int(both[1]) < int(clients[1])
    assert f"Total 0 error nodes in {nids}\n" in done.stdout


def test_states_of_nodes(hosts):
    """A node of another session is busy, and joins when that one is over; one that does not exist is down."""
    with serving(hosts(2), hosts(3)) as nodes:
        other = subprocess.Popen([JACQUARD, "lst", *options(hosts(1))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        other.stdin.write(f"new_session other\nadd_group g {hosts(2)}@tcp\n")
        other.stdin.flush()
        assert other.stdout.readline().startswith("SESSION: other") and "added" in other.stdout.readline()
        mine = subprocess.Popen([JACQUARD, "lst", *options(hosts(4))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        mine.stdin.write(f"new_session mine\nadd_group g {hosts('[2,3]')}@tcp\n")
        output, _ = mine.communicate(timeout=60)
        assert mine.returncode == 1 and "lst: g: Device or resource busy" in output
        other.communicate("exit\n", timeout=60)
        done = lst(hosts(4), "new_session mine", f"add_group g {hosts(2)}@tcp", f"ping --nodes {hosts('[2-3]')}@tcp",
                   "update_group g --remove " + f"{hosts(2)}@tcp", f"add_group g {hosts(3)}@tcp", "list_group g", "list_group")
        assert done.returncode == 0, done.stderr
        assert f"12345-{hosts(2)}@tcp: Active [session: mine id: {hosts(4)}@tcp]\n" in done.stdout
        assert f"12345-{hosts(3)}@tcp: Unknown [session: <NULL> id: LNET_NID_ANY]\n" in done.stdout
        assert f"12345-{hosts(3)}@tcp: Active\nTotal 1 nodes\n" in done.stdout
        assert "     1     0     0     0     1  g\n" in done.stdout
        nodes[1].kill()
        nodes[1].wait()
        done = lst(hosts(4), "new_session mine", f"add_group g {hosts('[2,3]')}@tcp")
        assert done.returncode == 1 and "lst: g:" in done.stderr


@pytest.mark.parametrize("seed", range(3))
def test_hostile_consoles(hosts, seed):
    """Random fields, lengths and services, sessions that end meanwhile, and less bulk data than announced: the node goes on."""
    with serving(hosts(2)):
        done = subprocess.run([HOSTILE, f"{hosts(2)}@tcp", str(seed), "20000"], capture_output=True, text=True, timeout=200,
                              env=dict(os.environ, LNET_OPTIONS=f"networks=tcp({hosts(1)}) accept_port={PORT}"))
        assert done.returncode == 0 and int(re.fullmatch(r"\d+ messages, (\d+) replies\n", done.stdout)[1]) > 1000, done.stdout + done.stderr
        with open(f"/proc/{node.pid}/status", encoding="ascii") as status:  # 65536 request buffers of each service at most
            used = int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])
        assert used < 1 << 20
        done = lst(hosts(3), "new_session --force s", f"add_group all {hosts(2)}@tcp",
                   "add_test --loop 20 --from all --to all brw write check=full size=64K", "run", "sleep 1", "stat --count 1 all", "stop")
        assert done.returncode == 0, done.stderr


def hostile(hosts, *arguments):
    return subprocess.run([HOSTILE, f"{hosts(2)}@tcp", *arguments], capture_output=True, text=True, timeout=200,
                          env=dict(os.environ, LNET_OPTIONS=f"networks=tcp({hosts(1)}) accept_port={PORT}"))


@pytest.mark.parametrize("seed", ["1", "2"])
def test_hostile_consoles(hosts, seed):
    """Random fields, lengths and services, sessions that end meanwhile, and less bulk data than announced: the node goes on."""
    with serving(hosts(2)) as [node]:
        done = hostile(hosts, seed, "10000")
        assert done.returncode == 0 and int(re.fullmatch(r"\d+ messages, (\d+) replies\n", done.stdout)[1]) > 1000, done.stdout + done.stderr
        with open(f"/proc/{node.pid}/status", encoding="ascii") as status:  # 65536 request buffers of each service at most
            used = int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])
        assert used < 1 << 20
        done = lst(hosts(3), "new_session --force s", f"add_group all {hosts(2)}@tcp",
                   "add_test --loop 20 --from all --to all brw write check=full size=64K", "run", "sleep 1", "stop")
        assert done.returncode == 0, done.stderr


@pytest.mark.slow  # the limit leaves no room for the memory of a sanitizer
def test_a_batch_without_memory_may_run_again(hosts):
    """1024 streams with buffers of 1 MiB do not fit into a node's 900 MiB: it says so each time, and goes on."""
    with serving(hosts(2), command=("prlimit", f"--as={900 << 20}")):
        done = hostile(hosts, "hungry")
        assert done.returncode == 0 and done.stdout.split() == ["0", "0", str(errno.ENOMEM), str(errno.ENOMEM)], done.stdout + done.stderr
        done = lst(hosts(3), "new_session --force t", f"add_group all {hosts(2)}@tcp", "add_test --loop 20 --from all --to all ping", "run", "stop")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command, message", [
    ("fly", "lst: fly: there is no such command"),
    ("add_group g", "usage: add_group NAME NIDS..."),
    ("add_group g nowhere", "lst: nowhere: this is no NID"),
    ("add_group g *@tcp", "too many nodes"),
    ("new_session again", "there is a session"),
    ("add_test --from a --to b ping", "lst: a: there is no such group"),
    ("add_test --from a --to b brw size=2M", "a size is a number up to 1M"),
    ("add_test --from a --to b brw off=4", "an offset is a multiple of 8 up to 4088"),
    ("add_test --from a --to b brw off=4096", "an offset is a multiple of 8 up to 4088"),
    ("stat 127.0.0.[1-x]@tcp", "lst: 127.0.0.[1-x]@tcp: this is no NID"),
    ("add_test --from a --to b brw check=some", "a check is none, simple or full"),
    ("add_test --concurrency 0 --from a --to b ping", "lst: --concurrency: the number"),
    ("add_test --distribute 3 --from a --to b ping", "a distribution is D:S"),
    ("run none", "lst: none: No such file or directory"),
    ("stat nobody --delay 1", "lst: nobody: No such file or directory"),
    ("del_group nobody", "lst: nobody: No such file or directory"),
    ("ping 'open", "a quote is not closed"),
    ("sleep long", "usage: sleep SECONDS"),
])
def test_bad_commands(hosts, command, message):
    """One line says what is wrong, and the commands behind are not executed."""
    done = lst(hosts(1), "new_session s", command, "show_session")
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
    assert "GROUPS:" not in done.stdout


def test_commands_without_a_session_and_bad_options(hosts):
    assert "there is no session" in lst(hosts(1), "show_session").stderr
    for words, message in ((["--networks"], "unknown or incomplete option"), (["--networks", "tcp(10.255.255.1)"], "LNet does not start: Cannot assign requested address"),
                           (["/does/not/exist"], "No such file"), (["--set", "x"], "NAME=VALUE is needed")):
        done = subprocess.run([JACQUARD, "lst", *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
