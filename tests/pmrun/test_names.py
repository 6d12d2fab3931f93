# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Published names that several pmruns share: pmnameserver."""

import hmac
import os
import re
import signal
import socket
import subprocess
import sys

import pytest
from launcher import BUILD, PMRUN, default_signals, environment, run

NAMESERVER = PMRUN.parent / "pmnameserver"


class Server:
    """A name server with a key of its own; `port` is where it listens."""

    def __init__(self, folder, port=0):
        self.key = folder / "key"
        self.process = subprocess.Popen([NAMESERVER, "-local", "-port", str(port), "-key", self.key], stdout=subprocess.PIPE, text=True,
                                        stdin=subprocess.DEVNULL, preexec_fn=default_signals)
        said = re.fullmatch(r"pmnameserver: port (\d+), key (\S+)\n", self.process.stdout.readline())
        assert said and said[2] == str(self.key)
        self.port = int(said[1])
        self.options = ("-nameserver", f"127.0.0.1:{self.port}")
        self.env = environment(PMNAMESERVER_KEY=str(self.key))

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def run(self, *arguments, **options):
        return run(*self.options, *arguments, env=self.env, **options)

    def lookup(self, probe, *services):
        done = self.run("-n", 1, probe, "lookup", *services)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def start(self, *arguments):
        return subprocess.Popen([PMRUN, *self.options, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.env, preexec_fn=default_signals)

    def publish(self, probe, service, port, *options):
        """A job that has published, and lives until its input ends."""
        job = self.start(*options, "-n", 1, probe, "publish", service, port)
        assert job.stdout.readline() == "publish 1\n"
        return job


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    if server.process.poll() is None:
        assert server.end() == 0


def ends(job):
    _, errors = job.communicate(timeout=60)
    assert (job.returncode, errors) == (0, "")


def test_pmi2_58_names_of_another_pmrun(probe, server):
    job = server.publish(probe, "service", "port 1")
    assert server.lookup(probe, "service") == "port port 1\n"
    assert server.run("-n", 1, probe, "publish", "service", "port 2").stdout == "publish 0\n"  # 59: the first one stays
    assert server.lookup(probe, "service") == "port port 1\n"
    assert server.run("-n", 1, probe, "unpublish", "nothing").stdout == "unpublish 0\n"  # 60
    assert server.run("-n", 1, probe, "unpublish", "service").stdout == "unpublish 1\n"
    assert server.lookup(probe, "service") == "none: \n"
    ends(job)


def test_pmi2_58_a_name_goes_with_the_job_that_published_it(probe, server):
    job = server.publish(probe, "service", "1")
    ends(job)
    assert server.lookup(probe, "service") == "none: \n"
    job = server.publish(probe, "service", "2")
    job.kill()  # with its pmrun
    job.communicate(timeout=60)
    assert server.lookup(probe, "service") == "none: \n"


def test_pmi2_58_only_with_the_option(probe, server):
    job = server.publish(probe, "service", "1")
    assert run("-n", 1, probe, "lookup", "service").stdout == "none: \n"
    ends(job)


def test_pmi2_58_names_across_nodes(probe, server):
    """Rank 1, on the other node, publishes; its request goes up the tree, and on to the name server."""
    hosts = ("-launcher", "fork", "-hosts", "a,b")
    job = server.start(*hosts, "-stdin", 1, "-n", 1, probe, "who", ":", "-n", 1, probe, "publish", "far", "port")
    assert sorted(job.stdout.readline() for _ in range(2)) == ["publish 1\n", "rank 0 of 2 appnum 0 spawned 0\n"]
    done = server.run(*hosts, "-n", 1, probe, "who", ":", "-n", 1, probe, "lookup", "far")
    assert done.returncode == 0 and "port port\n" in done.stdout
    ends(job)


@pytest.mark.parametrize("service, port", [("a b;c=d", "tag#0$x;;=\\n %41"), ("\u00e4\u20ac\U0001f600", "\u00fc"), ("x" * 1024, "y" * 1024),
                                           (b"\xff\xfe not UTF-8", "p")], ids=["marks", "unicode", "longest", "bytes"])
def test_pmi2_58_any_bytes(probe, server, service, port):
    job = subprocess.Popen([PMRUN, *server.options, "-n", "1", probe, "publish", service, port], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=server.env)
    assert job.stdout.readline() == b"publish 1\n"
    done = subprocess.run([PMRUN, *server.options, "-n", "1", probe, "lookup", service], capture_output=True, env=server.env, timeout=60,
                          stdin=subprocess.DEVNULL, check=True)
    assert done.stdout == b"port " + port.encode() + b"\n"
    job.communicate(timeout=60)


def test_a_name_server_that_ends_and_comes_back(probe, server, tmp_path):
    first = server.publish(probe, "service", "1")
    second = server.start("-n", 1, probe, "lookup", "service", "service", "service")
    assert second.stdout.readline() == "port 1\n"
    server.end(signal.SIGKILL)
    assert "the connection is lost" in first.stderr.readline()
    assert "the connection is lost" in second.stderr.readline()
    second.stdin.write("x")
    second.stdin.flush()
    assert "name_server_unreachable" in second.stdout.readline()
    assert "Connection refused" in second.stderr.readline()
    again = Server(tmp_path, server.port)
    second.stdin.write("x")
    second.stdin.flush()
    assert second.stdout.readline() == "none: \n"  # it is a new one, and it is asked
    for job in (first, second):
        job.communicate(timeout=60)
        assert job.returncode == 0
    assert again.end() == 0


def test_pmi2_111_another_key_is_refused(probe, server, tmp_path):
    (tmp_path / "other").write_bytes(os.urandom(32))
    (tmp_path / "other").chmod(0o600)
    done = run(*server.options, "-n", 1, probe, "lookup", "service", env=environment(PMNAMESERVER_KEY=str(tmp_path / "other")))
    assert done.returncode == 0 and "name_server_unreachable" in done.stdout
    assert done.stderr == f"pmrun: name server 127.0.0.1:{server.port}: it does not have the same key (see PMNAMESERVER_KEY)\n"


def test_pmi2_113_key_file(server):
    assert server.key.stat().st_mode & 0o777 == 0o600 and server.key.stat().st_size == 32


def message(kind, service, number=1):
    """As pmrun sends it: (tyayayay), where a GVariant has the ends of all but the last array behind it."""
    body = number.to_bytes(8, sys.byteorder) + bytes([kind])
    places = []
    for text in (b"1.0", service, b"port"):
        body += text + b"\0"
        places.append(len(body))
    size = 1 if len(body) + 2 < 256 else 2
    body += b"".join(place.to_bytes(size, "little") for place in reversed(places[:-1]))
    return len(body).to_bytes(4, "big") + body


def connect(server, key=None):
    """A connection that has proven to know the key."""
    stream = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    hello = b"JQNAMES1" + bytes(8) + os.urandom(32)
    key = key or server.key.read_bytes()
    stream.sendall(hello)
    answer = stream.recv(64, socket.MSG_WAITALL)
    assert hmac.digest(key, b"server" + hello + answer[:32], "sha256") == answer[32:]
    stream.sendall(hmac.digest(key, b"client" + hello + answer[:32], "sha256"))
    return stream


def test_bad_messages_end_one_connection(probe, server):
    job = server.publish(probe, "service", "1")
    good = message(1, b"service")
    for bad in [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\5hello", good[:4] + bytes(len(good) - 4), message(9, b"service"),
                message(0, b"s" * 1025), message(0, b"s" * 4000)]:
        with connect(server) as stream:
            stream.sendall(bad)
            assert stream.recv(100) == b"", bad
    with connect(server) as stream:  # in pieces, and two at once
        for byte in good[:-1]:
            stream.sendall(bytes([byte]))
        stream.sendall(good[-1:] + good)
        length = int.from_bytes(stream.recv(4, socket.MSG_WAITALL), "big")
        first = stream.recv(length, socket.MSG_WAITALL)
        assert first[8] == 0 and first[9:11] == b"1\0"
        assert stream.recv(4 + length, socket.MSG_WAITALL)[4:] == first
    with connect(server) as stream:  # that of another kind of server
        stream.sendall(b"JQTREE1\n" + bytes(200))
        assert stream.recv(100) == b""
    assert server.lookup(probe, "service") == "port 1\n"
    ends(job)


def test_nobody_is_answered_before_the_proof(server):
    for said in [b"GET / HTTP/1.0\r\n\r\n" + bytes(64), b"JQNAMES1" + bytes(40) + bytes(32) + message(1, b"service")]:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as stream:
            stream.sendall(said)
            received = b""
            while len(received) <= 64 and (more := stream.recv(100)):
                received += more
            assert len(received) in (0, 64)  # nothing, or its own part of the proof


@pytest.mark.parametrize("make, word", [
    (lambda path: None, "no such file; pmnameserver makes it"),
    (lambda path: (path.write_bytes(bytes(32)), path.chmod(0o640)), "others must not have access"),
    (lambda path: (path.write_bytes(bytes(31)), path.chmod(0o600)), "32 bytes"),
    (lambda path: (path.write_bytes(bytes(33)), path.chmod(0o600)), "32 bytes"),
    (lambda path: os.mkfifo(path, 0o600), "a file of yours"),
], ids=["missing", "open", "short", "long", "fifo"])
def test_bad_keys(tmp_path, make, word):
    make(tmp_path / "key")
    done = run("-nameserver", "localhost", "-n", 1, "true", env=environment(PMNAMESERVER_KEY=str(tmp_path / "key")))
    assert done.returncode == 2 and done.stderr.startswith("pmrun: key of the name server ") and word in done.stderr
    assert done.stderr.count("\n") == 1
    if (tmp_path / "key").exists():
        done = subprocess.run([NAMESERVER, "-port", "0", "-key", tmp_path / "key"], text=True, capture_output=True, timeout=60, check=False)
        assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("where", ["", ":1", "host:0", "host:x", "[::1", "host:65536"])
def test_bad_name_servers(where):
    done = run("-nameserver", where, "-n", 1, "true")
    assert done.returncode == 2 and "a host is needed, or host:port" in done.stderr and done.stderr.count("\n") == 1


def test_bad_command_lines_of_the_name_server(server, tmp_path):
    def refused(*arguments):
        done = subprocess.run([NAMESERVER, *map(str, arguments)], text=True, capture_output=True, timeout=60, check=False)
        assert done.returncode == 2 and done.stdout == "", done
        return done.stderr

    assert "-port x: a number" in refused("-port", "x") and "-port 65536" in refused("-port", 65536)
    assert "Address already in use" in refused("-local", "-port", server.port, "-key", server.key)
    assert "usage:" in refused("word") and "usage:" in refused("-nosuch")
    assert "Not a directory" in refused("-port", 0, "-key", tmp_path / "key" / "key")
    helped = subprocess.run([NAMESERVER, "-help"], text=True, capture_output=True, check=True).stdout
    manual = (BUILD.parent / "docs/man/pmnameserver.1")
    assert "-port" in helped and (not manual.exists() or "\\-port" in manual.read_text())
