# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Several nodes on this machine, and what guards their connections."""

import os
import random
import re
import socket
import subprocess
from pathlib import Path

import pytest
from launcher import children, environment, output, processes_with, run, start, until

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
    for _ in range(5):  # on a busy machine it dies of a signal now and then
        hydra = subprocess.run(["mpiexec.mpich", *arguments], text=True, capture_output=True, timeout=60, env=environment(),
                               stdin=subprocess.DEVNULL, check=False)
        if hydra.returncode >= 0:
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


# ---- strangers ----------------------------------------------------------------------------------


def listening(pid):
    """TCP ports that a process listens on, with the addresses."""
    sockets = {os.readlink(link)[8:-1] for link in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(link).startswith("socket:[")}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [(row[1].split(":")[0], int(row[1].split(":")[1], 16)) for row in rows if row[3] == "0A" and row[9] in sockets]


def test_pmi2_110_strangers_are_closed(probe):
    job = start(*FORK, "-hosts", "a,b", "-n", 2, probe, "signal")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    (address, port), = listening(job.pid)
    assert address == "0100007F"  # the loopback interface only
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    strangers[0].sendall(b"GET / HTTP/1.0\r\n" + 40 * b"\r\n")
    strangers[0].settimeout(10)
    assert strangers[0].recv(1000) == b""  # nothing is revealed, and it is closed
    strangers[1].settimeout(20)
    assert strangers[1].recv(1000) == b""  # the silent one, too
    job.terminate()
    out, errors = job.communicate(timeout=60)
    assert job.returncode == 0 and out == "15\n15\n" and errors == ""


def test_pmi2_111_a_wrong_proof_is_refused(probe):
    job = start(*FORK, "-hosts", "a,b", "-n", 2, probe, "signal")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    (_, port), = listening(job.pid)
    stranger = socket.create_connection(("127.0.0.1", port))
    stranger.settimeout(20)
    stranger.sendall(b"JQTREE1\n" + (1).to_bytes(4, "big") + (2).to_bytes(4, "big") + bytes(32))
    assert len(stranger.recv(64, socket.MSG_WAITALL)) == 64
    stranger.sendall(bytes(32))
    assert stranger.recv(1000) == b""
    job.terminate()
    job.communicate(timeout=60)
    assert job.returncode == 0


def test_pmi2_113_no_secret_where_others_look(probe):
    job = start(*FORK, "-verbose", "-hosts", "a,b", "-n", 2, probe, "signal")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    proxy, = [pid for pid in children(job.pid) if b"pmproxy" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert Path(f"/proc/{proxy}/cmdline").read_bytes().count(b"\0") == 1  # no argument
    for pid in [proxy, *processes_with(str(probe))]:
        assert b"KEY" not in Path(f"/proc/{pid}/environ").read_bytes()
    job.terminate()
    _, errors = job.communicate(timeout=60)
    assert not re.search(r"[0-9a-f]{32}", errors)


# ---- ports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("auth", [(), ("-auth", "challenge"), ("-auth", "draft")], ids=["user", "challenge", "draft"])
def test_pmi2_86_port(probe, auth):
    assert output("-pmi-port", *auth, "-n", 20, probe, "exchange") == []


def test_pmi2_86_port_of_pmi_1():
    script = ('exec 5<>/dev/tcp/${PMI_PORT%:*}/${PMI_PORT#*:}; echo "cmd=initack pmiid=$PMI_ID" >&5;'
              'for i in 1 2 3 4; do read -r line <&5; echo "$line"; done; sleep 0.2')
    lines = run("-pmi-port", "-n", 1, "bash", "-c", script).stdout.splitlines()
    assert lines == ["cmd=initack", "cmd=set size=1", "cmd=set rank=0", "cmd=set debug=0"]


def test_pmi2_111_a_port_with_a_challenge_refuses_who_cannot_answer():
    script = ('exec 5<>/dev/tcp/${PMI_PORT%:*}/${PMI_PORT#*:}; echo "cmd=initack pmiid=$PMI_ID" >&5; read -r line <&5 || echo closed')
    assert run("-pmi-port", "-auth", "challenge", "-n", 1, "bash", "-c", script).stdout == "closed\n"
