# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Several nodes on this machine, and what guards their connections."""

import base64
import hmac
import os
import random
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from launcher import children, descendants, environment, output, processes_with, run, start, until

FORK = ("-launcher", "fork")


@pytest.mark.parametrize("hosts, ranks, mapping", [
    ("a,b", 4, "(vector,(0,2,1))"), ("a:2,b:2", 4, "(vector,(0,2,2))"), ("ha:2,hb:1,hc:3", 6, "(vector,(0,1,2),(1,1,1),(2,1,3))"),
    ("ha:2,hb:2,ha:2", 6, "(vector,(0,3,2))"), ("a,b,c", 7, "(vector,(0,3,1))"),
])
def test_pmi2_104_nodes_as_listed(probe, hosts, ranks, mapping):
    assert output(*FORK, "-hosts", hosts, "-n", ranks, probe, "attribute", "PMI_process_mapping") == [mapping] * ranks


def test_pmi2_31_exchange_over_a_deep_tree(probe):
    assert output(*FORK, "-fanout", 2, "-hosts", ",".join(f"n{i}" for i in range(12)), "-n", 24, probe, "exchange") == []


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nothing to choose")
def test_pmi2_67_host_files_bind(tmp_path):
    one, two = sorted(os.sched_getaffinity(0))[:2]
    (tmp_path / "hosts").write_text(f"a binding=user:{one}\nb binding=user:{two}\nc binding=none\nd\n")
    show = "echo $PMI_RANK $(awk '/Cpus_allowed_list/ { print $2 }' /proc/self/status)"
    bound = output(*FORK, "-hostfile", tmp_path / "hosts", "-bind-to", f"user:{two}", "-n", 4, "sh", "-c", show)
    free = output("-n", 1, "sh", "-c", show)[0].split()[1]
    assert bound == [f"0 {one}", f"1 {two}", f"2 {free}", f"3 {two}"]


def test_no_count_means_all_slots(probe):
    assert len(output(*FORK, "-hosts", "a:2,b:3", probe, "who")) == 5
    assert len(output(*FORK, "-hosts", "a:2,b:3", "-ppn", 1, probe, "who")) == 2


def test_host_file(tmp_path, probe):
    (tmp_path / "hosts").write_text("# nodes\na:2\n\nb:1  # one\n")
    assert output(*FORK, "-f", tmp_path / "hosts", "-l", "-n", 3, "sh", "-c", "echo $MPIR_CVAR_CH3_INTERFACE_HOSTNAME") == [
        "[0] a", "[1] a", "[2] b"]


@pytest.mark.parametrize("seed", range(20))
def test_pmi2_91_placement_is_hydras(tmp_path, seed):
    dice = random.Random(seed)
    hosts = "".join(f"h{i}:{dice.randint(1, 4)}\n" for i in range(dice.randint(1, 5)))
    (tmp_path / "hosts").write_text(hosts)
    arguments = ["-launcher", "fork", "-f", str(tmp_path / "hosts"), *(["-ppn", "2"] if dice.random() < 0.3 else []), "-l",
                 "-n", str(dice.randint(1, 20)), "printenv", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME"]
    # Hydra writes to proxies that have ended: it has to ignore SIGPIPE, as Python does and hands on by this.
    # Without the signal, it still gives up now and then; it does its work at another attempt.
    for _ in range(5):
        hydra = subprocess.run(["mpiexec.mpich", *arguments], text=True, capture_output=True, timeout=60, env=environment(),
                               stdin=subprocess.DEVNULL, check=False, restore_signals=False)
        if "Broken pipe" not in hydra.stderr:
            break
    assert hydra.returncode == 0, hydra.stderr
    assert output(*arguments) == sorted(hydra.stdout.splitlines())


def test_any_command_as_launcher(tmp_path, probe):
    script = tmp_path / "remote"
    script.write_text('#!/bin/sh\necho "$@" >>%s\nshift\nexec "$@"\n' % (tmp_path / "called"))
    script.chmod(0o755)
    done = run("-launcher", script, "-localhost", "127.0.0.1", "-hosts", "localhost,far.invalid", "-n", 2, probe, "exchange")
    assert done.returncode == 0, done.stderr
    called = (tmp_path / "called").read_text()
    assert re.fullmatch(r"far\.invalid \S.*/pmproxy\n", called)


def test_ssh_gets_quoted_words(tmp_path, probe):
    script = tmp_path / "ssh"
    script.write_text('#!/bin/sh\nwhile [ $# -gt 1 ]; do echo "$1" >>%s; shift; done\nexec sh -c "$1"\n' % (tmp_path / "called"))
    script.chmod(0o755)
    (tmp_path / "hosts").write_text("far.invalid user=me\n")
    done = run("-launcher", "ssh", "-launcher-exec", script, "-localhost", "127.0.0.1", "-f", tmp_path / "hosts", "-n", 2, probe,
               "exchange")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "called").read_text() == "-x\n-l\nme\nfar.invalid\n"


def test_a_launcher_that_fails():
    done = run("-launcher", "false", "-hosts", "localhost,far.invalid", "-n", 2, "true")
    assert done.returncode == 255 and "node far.invalid: false ended (exit status 1)" in done.stderr


# ---- unauthenticated clients ----------------------------------------------------------------------------------


def sockets_of(pid, state):
    """TCP sockets of a process in that state of /proc/net/tcp: addresses and ports."""
    sockets = {os.readlink(link)[8:-1] for link in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(link).startswith("socket:[")}
    tables = [path for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if path.exists()]
    rows = [line.split() for path in tables for line in path.read_text().splitlines()[1:]]
    return [(row[1].split(":")[0], int(row[1].split(":")[1], 16)) for row in rows if row[3] == state and row[9] in sockets]


def listening(pid):
    return sockets_of(pid, "0A")


def test_pmi2_110_unauthenticated_clients_are_closed(probe):
    job = start(*FORK, "-hosts", "a,b", "-n", 2, probe, "signal")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    (address, port), = listening(job.pid)
    assert address == "0100007F"  # the loopback interface only
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    for client in clients:
        client.settimeout(60)
    assert [client.recv(1000) for client in clients[:24]] == [b""] * 24  # the oldest: there are 16 of a user at most
    clients[-1].sendall(b"GET / HTTP/1.0\r\n" + 40 * b"\r\n")
    assert clients[-1].recv(1000) == b""  # nothing is revealed, and it is closed
    assert clients[-2].recv(1000) == b""  # the silent one, too
    job.terminate()
    out, errors = job.communicate(timeout=60)
    assert job.returncode == 0 and out == "15\n15\n" and errors == ""


def test_pmi2_111_a_wrong_proof_is_refused(probe):
    job = start(*FORK, "-hosts", "a,b", "-n", 2, probe, "signal")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    (_, port), = listening(job.pid)
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(60)
    client.sendall(b"JQTREE1\n" + (1).to_bytes(4, "big") + (2).to_bytes(4, "big") + bytes(32))
    assert len(client.recv(64, socket.MSG_WAITALL)) == 64
    client.sendall(bytes(32))
    assert client.recv(1000) == b""
    job.terminate()
    job.communicate(timeout=60)
    assert job.returncode == 0


@pytest.fixture
def remote(tmp_path):
    """A launcher for hosts that are not this one: keeps what the pmproxy is told, and starts it here when `go` is opened."""
    (tmp_path / "remote").write_text(f'#!/bin/sh\nshift\ntouch {tmp_path}/called\ntest ! -p {tmp_path}/go || read -r line <{tmp_path}/go\n'
                                     f'tee {tmp_path}/orders | "$@"\n')
    (tmp_path / "remote").chmod(0o755)
    return tmp_path / "remote"


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
@pytest.mark.parametrize("name, address", [("::1", "00000000000000000000000001000000"), ("[::1]", "00000000000000000000000001000000"),
                                           ("127.0.0.1", "0000000000000000FFFF00000100007F")])
def test_servers_are_reached_by_ipv6_and_ipv4(probe, remote, name, address):
    job = start("-launcher", remote, "-localhost", name, "-hosts", "localhost,far.invalid", "-n", 2, probe, "stay")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    assert [at for at, _ in sockets_of(job.pid, "01")] == [address]  # one socket takes both; this is what was connected to
    job.terminate()
    job.communicate(timeout=60)


OTHERS = """
import os, socket, sys
os.setuid(65534)
held = []
for _ in range(300):
    held.append(socket.socket())
    held[-1].setblocking(False)
    held[-1].connect_ex(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_pmi2_110_another_user_does_not_delay_a_launch(probe, remote, tmp_path):
    """300 connections of another user that say nothing are there first: more than all places, for longer than a pmproxy waits."""
    os.mkfifo(tmp_path / "go")
    job = start("-launcher", remote, "-localhost", "127.0.0.1", "-hosts", "localhost,far.invalid", "-n", 2, probe, "exchange")
    until((tmp_path / "called").exists)
    port = listening(job.pid)[0][1]
    with subprocess.Popen([sys.executable, "-c", OTHERS, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as others:
        assert others.stdout.readline() == "ready\n"
        (tmp_path / "go").write_text("go\n")
        _, errors = job.communicate(timeout=60)
        assert (job.returncode, errors) == (0, "")
        others.stdin.close()


def places_of(pid):
    """What can be read of a process: its command line, by others; and its environment, which its programs inherit."""
    return [Path(f"/proc/{pid}/cmdline").read_bytes(), Path(f"/proc/{pid}/environ").read_bytes()]


def forms_of(secret):
    """A secret as it may be written: as it is, in hexadecimal, in base64 of any alignment; whole, or a quarter of it."""
    parts = [secret[at:at + 8] for at in range(0, len(secret), 8)]
    forms = {form for part in parts for form in (part, part.hex().encode(), part.hex().upper().encode())}
    for skip in range(3):
        text = base64.b64encode(bytes(skip) + secret)
        forms |= {text[4:20], text[20:36]}
    return forms


def key_of(orders):
    """Of the tree: a length of four bytes, then a GVariant that begins with a version of four bytes and the key."""
    return orders[8:40]


def proves(port, key):
    """Whether the server on that port knows the key: it says so by an HMAC over its nonce and ours."""
    hello = b"JQTREE1\n" + (1).to_bytes(4, "big") + (2).to_bytes(4, "big") + bytes(range(32))
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(hello)
        answer = client.recv(64, socket.MSG_WAITALL)
    return hmac.digest(key, b"above" + hello + answer[:32], "sha256") == answer[32:]


@pytest.mark.parametrize("arguments", [(), ("-pmi-port", "-auth", "challenge")], ids=["descriptor", "port"])
def test_pmi2_113_no_secret_where_others_read(probe, remote, tmp_path, arguments):
    """The keys themselves are looked for: the tree's, out of what a pmproxy is told, and the clients', derived from it."""
    job = start(*arguments, "-verbose", "-launcher", remote, "-localhost", "127.0.0.1", "-hosts", "localhost,far.invalid",
                "-n", 4, probe, "stay")
    assert [job.stdout.readline() for _ in range(4)] == ["ready\n"] * 4
    tree = key_of((tmp_path / "orders").read_bytes())
    assert proves(listening(job.pid)[-1][1], tree)  # this is the key
    client = hmac.digest(tree, b"clients", "sha256")
    forms = forms_of(tree) | forms_of(client)

    below = [job.pid, *descendants(job.pid)]
    assert set(processes_with(f"{probe}\0stay")) <= set(below) and len(below) >= 8  # pmrun, a keeper, launcher, pmproxy, ranks
    for pid in below:
        for place in places_of(pid):
            assert not any(form in place for form in forms), (pid, place)
    job.terminate()
    out, errors = job.communicate(timeout=60)
    assert job.returncode == signal.SIGTERM and "node far.invalid is connected" in errors
    assert not any(form in (out + errors).encode() for form in forms)


def test_pmi2_113_key_of_clients_is_derived(remote, tmp_path):
    """What the test above looks for is what a process reads, once, from PMI_KEY_FD; it is not the servers' key."""
    show = "od -An -v -tx1 <&$PMI_KEY_FD | tr -d ' \\n'; od -An -v -tx1 <&$PMI_KEY_FD; echo"
    done = run("-pmi-port", "-auth", "challenge", "-launcher", remote, "-localhost", "127.0.0.1", "-hosts", "far.invalid", "-n", 1, "sh",
               "-c", show)
    tree = key_of((tmp_path / "orders").read_bytes())
    assert done.returncode == 0 and done.stdout == hmac.digest(tree, b"clients", "sha256").hex() + "\n", done


# ---- ports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("auth", [(), ("-auth", "challenge"), ("-auth", "draft")], ids=["user", "challenge", "draft"])
def test_pmi2_86_port(probe, auth):
    assert output("-pmi-port", *auth, "-n", 20, probe, "exchange") == []


def test_pmi2_86_port_of_pmi_1():
    script = ('exec 5<>/dev/tcp/${PMI_PORT%:*}/${PMI_PORT#*:}; echo "cmd=initack pmiid=$PMI_ID" >&5;'
              'for i in 1 2 3 4; do read -r line <&5; echo "$line"; done')
    lines = run("-pmi-port", "-n", 1, "bash", "-c", script).stdout.splitlines()
    assert lines == ["cmd=initack", "cmd=set size=1", "cmd=set rank=0", "cmd=set debug=0"]


def test_pmi2_111_a_port_with_a_challenge_refuses_who_cannot_answer():
    script = ('exec 5<>/dev/tcp/${PMI_PORT%:*}/${PMI_PORT#*:}; echo "cmd=initack pmiid=$PMI_ID" >&5; read -r line <&5 || echo closed')
    assert run("-pmi-port", "-auth", "challenge", "-n", 1, "bash", "-c", script).stdout == "closed\n"
