# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""liblnet and jacquard lnetd between ordinary processes: data, captures, routers, hostile peers, bad configurations."""

import contextlib
import json
import os
import random
import shutil
import socket
import struct
import threading
from collections import Counter

import jacquard
import pytest
from lnet_nodes import CAPTURE, EXCHANGE, JACQUARD, MIB, PORT, SIZES, daemon, descriptors, exchange, options, ping, run, serving, wait_until


@pytest.fixture
def hosts():
    """Addresses of this machine that no other test uses: the net 127.x.y.0/24 belongs to this process."""
    pid = os.getpid()
    return lambda number: f"127.{64 + (pid >> 8) % 128}.{pid % 256}.{number}"


# ---- data ---------------------------------------------------------------------------------------


def test_two_processes_exchange_all_sizes(hosts):
    with serving(options(hosts(1))):
        exchange(options(hosts(2)), f"{hosts(1)}@tcp", 3)
        exchange(options(hosts(3)), f"{hosts(1)}@tcp")


@pytest.mark.parametrize("parameter", ["ksocklnd.protocol=1", "ksocklnd.protocol=2", "ksocklnd.zero_copy=1",
                                       "ksocklnd.tx_buffer_size=4096", "ksocklnd.rx_buffer_size=65536"])
def test_they_exchange_with_other_parameters(hosts, parameter):
    with serving(options(hosts(1))):
        exchange(options(hosts(2), parameter), f"{hosts(1)}@tcp")
    with serving(options(hosts(1), parameter)):
        exchange(options(hosts(2)), f"{hosts(1)}@tcp")


def test_checksums_of_protocol_2(hosts):
    parameters = ["ksocklnd.protocol=2", "ksocklnd.enable_csum=1"]
    with serving(options(hosts(1), *parameters)):
        exchange(options(hosts(2), *parameters), f"{hosts(1)}@tcp")


def test_a_server_that_starts_again(hosts):
    """The former incarnation's connections are gone; a client that comes later does not notice."""
    for _ in range(3):
        with serving(options(hosts(1))):
            exchange(options(hosts(2)), f"{hosts(1)}@tcp")


# ---- captures -----------------------------------------------------------------------------------


def tshark(file, *arguments, port=PORT):
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    done = run("tshark", "-r", file, *(() if port == 988 else ("-d", f"tcp.port=={port},lnet")), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def assert_sound(file, port=PORT):
    """Nothing is malformed, cut or out of order. Wireshark does not show the payload of a PUT, and calls that bad_buflen."""
    assert tshark(file, "-Y", "_ws.malformed && !(lnet.bad_buflen && lnet.msg_type==1)", port=port) == []
    assert tshark(file, "-Y", "tcp.analysis.lost_segment || tcp.analysis.out_of_order || tcp.analysis.retransmission || _ws.short"
                              " || tcp.analysis.ack_lost_segment", port=port) == []


def test_lnet_96_capture_is_decoded_by_tshark(hosts, tmp_path):
    file = tmp_path / "exchange.pcapng"
    with serving(options(hosts(1))):
        exchange(dict(options(hosts(2)), LNET_EXCHANGE_PCAP=str(file)), f"{hosts(1)}@tcp")
    fields = ("lnet.msg_type", "lnet.ptl_index", "lnet.payload_length", "lnet.nid.addr")
    rows = [line.split("\t") for line in
            tshark(file, "-Y", "lnet", "-T", "fields", *(part for field in fields for part in ("-e", field)))]
    kinds = Counter(kind for row in rows for kind in row[0].split(","))
    # 0 ACK, 1 PUT, 2 GET, 3 REPLY: each message once, in both directions
    assert kinds == {"0": len(SIZES), "1": len(SIZES), "2": len(SIZES), "3": len(SIZES)}
    lengths = {kind: sorted(int(row[2]) for row in rows if row[0] == kind) for kind in ("0", "1", "2", "3")}
    assert lengths["1"] == lengths["3"] == SIZES
    assert set(lengths["0"]) == set(lengths["2"]) == {0}
    assert {row[1] for row in rows if row[0] in ("1", "2")} == {"40"}
    # The target's NID comes first.
    assert {row[3] for row in rows if row[0] in ("1", "2")} == {f"{hosts(1)},{hosts(2)}"}
    assert {row[3] for row in rows if row[0] in ("0", "3")} == {f"{hosts(2)},{hosts(1)}"}
    assert_sound(file)


def test_lnet_96_capture_of_a_simulation_is_decoded_by_tshark(tmp_path):
    """Two simulated nodes, on the acceptor's own port: the dissector needs no help."""
    file = tmp_path / "simulated.pcapng"
    done = run(CAPTURE, environment=dict(os.environ, LNET_CAPTURE_FILE=str(file)))
    assert done.returncode == 0, done.stdout + done.stderr
    sent = dict(line.split() for line in (tmp_path / "simulated.pcapng.counts").read_text().splitlines())
    rows = [line.split("\t") for line in
            tshark(file, "-Y", "lnet", "-T", "fields", "-e", "lnet.msg_type", "-e", "lnet.msg_dst_match_bits", port=988)]
    kinds = Counter(kind for row in rows for kind in row[0].split(","))
    assert kinds == {"0": int(sent["ack"]), "1": int(sent["put"]), "2": int(sent["get"]), "3": int(sent["reply"])}
    assert len(tshark(file, "-Y", "lnet.ksm_type==0xc0", port=988)) == int(sent["noop"]) > 0
    assert_sound(file, port=988)


def test_lnet_96_capture_of_a_scenario_has_the_runs_counts(tmp_path):
    """PUT and GET in the capture are those that LNet's counters have."""
    file = tmp_path / "put.pcapng"
    done = run(jacquard.sim_run(), jacquard.ROOT / "scenarios/lnet/put.yaml", "--pcap", file, "--json")
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    kinds = Counter(kind for line in tshark(file, "-Y", "lnet", "-T", "fields", "-e", "lnet.msg_type", port=988)
                    for kind in line.split(","))
    assert kinds["1"] > 0 and sum(kinds.values()) == metrics["lnet.send_count"]["value"]
    assert_sound(file, port=988)


def test_captures_that_cannot_be_written(tmp_path):
    scenario = jacquard.ROOT / "scenarios/lnet/put.yaml"
    for path in ("/dev/full", tmp_path / "no" / "folder"):
        done = run(jacquard.sim_run(), scenario, "--pcap", path)
        assert done.returncode == 2 and str(path) in done.stderr
    done = run(jacquard.sim_run(), scenario, "--pcap", tmp_path / "x", "--seeds", "1-2")
    assert done.returncode == 2 and "--pcap: not together with" in done.stderr


# ---- lnetd and ping -------------------------------------------------------------------------------


def config_file(path, *nids, routing=False, more=""):
    text = "net:\n" + "".join(
        f"    - net type: {nid.split('@')[1]}\n      local NI(s):\n        - nid: {nid}\n          status: up\n"
        "          statistics:\n              send_count: 0\n" for nid in nids)
    if routing:
        text += "routing:\n    - cpt[0]:\n          tiny:\n              npages: 0\n    - enable: 1\n"
    path.write_text(text + more)
    return path


def test_a_file_of_an_old_release(hosts, tmp_path):
    """Up to Lustre 2.9 the network has the NID and the tunables; sections that are not known are warnings."""
    config = tmp_path / "node.yaml"
    config.write_text(f"network: []\nroute:\nnet:\n  - net: tcp\n    nid: {hosts(1)}@tcp\n    interfaces: {{0: eth7}}\n"
                      "    tunables: {peer_timeout: -1, peer_credits: 12}\n")
    with daemon(config, "--set", f"accept_port={PORT}", "--control", tmp_path / "socket") as (_, lines):
        assert f"12345-{hosts(1)}@tcp\n" in lines
        done = run(JACQUARD, "lnetctl", "--socket", tmp_path / "socket", "net", "show", "-v")
        assert "peer_credits: 12" in done.stdout and "peer_timeout: 180" in done.stdout


def test_ping_a_daemon(hosts, tmp_path):
    config = config_file(tmp_path / "node.yaml", "0@lo", f"{hosts(1)}@tcp", f"{hosts(2)}@tcp1")
    with daemon(config, "--set", f"accept_port={PORT}") as (_, lines):
        assert lines == ["12345-0@lo\n", f"12345-{hosts(1)}@tcp\n", f"12345-{hosts(2)}@tcp1\n"]
        done = ping(hosts(3), f"{hosts(1)}@tcp", more=["--count", "3"])
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(f"primary nid: {hosts(1)}@tcp") == 3
        assert done.stdout.count(f"        - nid: {hosts(2)}@tcp1") == 3
        # a node that does not run, and a NID that the daemon does not have
        done = ping(hosts(3), f"{hosts(9)}@tcp", f"{hosts(2)}@tcp", more=["--timeout", "1"])
        assert done.returncode == 1 and done.stdout.count("errno: -5") == 2


def test_two_networks_share_an_address(hosts, tmp_path):
    config = config_file(tmp_path / "node.yaml", f"{hosts(1)}@tcp", f"{hosts(1)}@tcp7")
    with daemon(config, "--set", f"accept_port={PORT}"):
        for net in ("tcp", "tcp7"):
            done = run(JACQUARD, "lnet", "ping", "--networks", f"{net}({hosts(2)})", "--set", f"accept_port={PORT}",
                       f"{hosts(1)}@{net}")
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text, line, why", [
    ("net:\n  - net type: tcp\n    local NI(s):\n      - nid: 1.2.3@tcp\n", 4, "is no NID of tcp"),
    ("net:\n  - net type: tcq\n", 2, "names no network"),
    ("net:\n  - net type: o2ib\n", 2, "networks of type tcp only"),
    ("net:\n  - net type: tcp\nroute:\n  - net: tcp1\n", 4, "gateway"),
    ("net: 5\n", 1, "a list is needed"),
    ("global:\n  retry_count: many\n", 2, "a number"),
    ("net: [\n", 2, ""),
])
def test_bad_configurations_are_refused_by_line(tmp_path, text, line, why):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    done = run(JACQUARD, "lnetd", file)
    assert done.returncode == 2 and f"bad.yaml:{line}: " in done.stderr and why in done.stderr


def test_unknown_sections_are_warnings(tmp_path):
    """lnetctl goes on behind them; the rest of the file counts."""
    (tmp_path / "node.yaml").write_text("network: []\nnet:\n  - net type: nonsense\n")
    done = run(JACQUARD, "lnetd", tmp_path / "node.yaml")
    assert done.returncode == 2 and "node.yaml:3: " in done.stderr
    (tmp_path / "node.yaml").write_text("network: []\nnet:\n  - net type: tcp9\n    local NI(s):\n      - interfaces: {0: nothing0}\n")
    done = run(JACQUARD, "lnetd", tmp_path / "node.yaml")
    assert done.returncode == 2 and "no interface nothing0 for tcp9" in done.stderr


def test_bad_command_lines_are_refused(hosts, tmp_path):
    config = config_file(tmp_path / "node.yaml", f"{hosts(1)}@tcp")
    for arguments in (["lnetd"], ["lnetd", tmp_path / "none.yaml"], ["lnetd", "--set", "x", config], ["lnet"], ["lnet", "pong"],
                      ["lnet", "ping"], ["lnet", "ping", "nobody@nowhere"], ["lnet", "--frob"],
                      ["lnetd", "--set", "accept_port=0", config], ["lnetd", "--set", "accept=some", config]):
        done = run(JACQUARD, *arguments)
        assert done.returncode == 2 and done.stderr.startswith("jacquard: "), (arguments, done)
    with serving(options(hosts(1))):  # the address is in use
        done = run(JACQUARD, "lnetd", "--set", f"accept_port={PORT}", config)
        assert done.returncode == 2 and "Address already in use" in done.stderr


# ---- routers --------------------------------------------------------------------------------------


def test_a_router_on_one_machine(hosts, tmp_path):
    config = config_file(tmp_path / "router.yaml", f"{hosts(10)}@tcp", f"{hosts(11)}@tcp1", routing=True)
    left = dict(os.environ, LNET_OPTIONS=f"networks=tcp({hosts(1)}) accept_port={PORT} routes='tcp1 {hosts(10)}@tcp'")
    right = dict(os.environ, LNET_OPTIONS=f"networks=tcp1({hosts(2)}) accept_port={PORT} routes='tcp {hosts(11)}@tcp1'")
    with daemon(config, "--set", f"accept_port={PORT}"), serving(right):
        exchange(left, f"{hosts(2)}@tcp1", 3)


@contextlib.contextmanager
def namespaces():
    """Two network namespaces and one between them, to which each has a link."""
    names = [f"lnet{os.getpid()}{side}" for side in "lmr"]
    made = []
    try:
        for name in names:
            done = run("ip", "netns", "add", name)
            if done.returncode != 0:
                pytest.skip(f"network namespaces are not permitted: {done.stderr.strip()}")
            made.append(name)
        left, middle, right = names
        for side, name, net in (("a", left, 1), ("b", right, 2)):
            commands = [["link", "add", f"out{side}", "netns", name, "type", "veth", "peer", "name", f"in{side}", "netns", middle],
                        ["-n", name, "addr", "add", f"10.77.{net}.2/24", "dev", f"out{side}"],
                        ["-n", middle, "addr", "add", f"10.77.{net}.1/24", "dev", f"in{side}"],
                        ["-n", name, "link", "set", f"out{side}", "up"], ["-n", middle, "link", "set", f"in{side}", "up"]]
            for command in commands:
                done = run("ip", *command)
                if done.returncode != 0:
                    pytest.skip(f"virtual links are not permitted: {done.stderr.strip()}")
        yield [("ip", "netns", "exec", name) for name in names]
    finally:
        for name in made:
            run("ip", "netns", "del", name)


def test_a_router_between_two_network_namespaces(tmp_path):
    if not shutil.which("ip"):
        pytest.skip("ip (iproute2) is not installed")
    config = config_file(tmp_path / "router.yaml", "10.77.1.1@tcp", "10.77.2.1@tcp1", routing=True)
    with namespaces() as (left, middle, right):
        assert run(*left, "ping", "-c1", "-W1", "10.77.2.2").returncode != 0  # IP itself does not route
        plain = dict(os.environ)
        # The names of the interfaces, and the acceptor's own port: secure mode, with reserved ports.
        plain["LNET_OPTIONS"] = "networks=tcp(outa) routes='tcp1 10.77.1.1@tcp' accept=secure"
        other = dict(os.environ, LNET_OPTIONS="networks=tcp1(outb) routes='tcp 10.77.2.1@tcp1' accept=secure")
        with daemon(config, "--set", "accept=secure", command=middle), serving(other, command=right):
            exchange(plain, "10.77.2.2@tcp1", 2, command=left)
            done = run(*left, JACQUARD, "lnet", "ping", "--networks", "tcp(outa)", "--set", "routes=tcp1 10.77.1.1@tcp",
                       "10.77.2.2@tcp1", "10.77.1.1@tcp")
            assert done.returncode == 0, done.stdout + done.stderr
            assert "nid: 10.77.2.2@tcp1" in done.stdout and "        - nid: 10.77.2.1@tcp1" in done.stdout
        # Without the router nothing arrives.
        with serving(other, command=right):
            assert run(*left, EXCHANGE, "run", "10.77.2.2@tcp1", environment=plain).returncode == 1


# ---- hostile peers --------------------------------------------------------------------------------


REQUEST_MAGIC, HELLO_MAGIC = 0xacce7100, 0x45726963


def nid(address, net=0x00020000):
    return net << 32 | struct.unpack(">I", socket.inet_aton(address))[0]


def request(target):
    return struct.pack("<IIQ", REQUEST_MAGIC, 1, target)


def hello(source, target, version=3, kind=1, addresses=0, magic=HELLO_MAGIC):
    return struct.pack("<IIQQIIQQiI", magic, version, source, target, 12345, 12345, 7, 0, kind, addresses)


def message(kind, payload, source, target, ksm=0xc1, cookie=0):
    return struct.pack("<IIQQ", ksm, 0, 0, cookie) + struct.pack(
        "<QQIIII", target, source, 12345, 12345, kind, payload) + b"\xff" * 16 + struct.pack("<QQII", 1, 0, 40, 0)


def attacks(source, target):
    start = request(target) + hello(source, target)
    yield b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    yield b"\0" * 4096
    yield struct.pack("<IIQ", REQUEST_MAGIC, 99, target)
    yield request(nid("10.1.2.3"))
    yield request(target) + hello(source, nid("10.1.2.3"))
    yield request(target) + hello(nid("10.9.9.9"), target)
    yield request(target) + hello(source, target, magic=0x12345678)
    yield request(target) + hello(source, target, version=77)
    yield request(target) + hello(source, target, kind=55)
    yield request(target) + hello(source, target, addresses=0xffffffff) + b"\1" * 65536
    yield request(target) + hello(source, target, addresses=17) + b"\1" * 68
    yield start + b"\xee" * 1000
    yield start + message(1, 0xffffffff, source, target) + b"x" * 100000
    yield start + message(1, MIB + 1, source, target) + b"x" * 100000
    yield start + message(2, 16, source, target)
    yield start + message(4, 0, source, target)
    yield start + message(77, 0, source, target)
    yield start + message(1, 0, source, target, ksm=0xc0, cookie=12345)
    yield start + message(1, 0, source, nid("10.1.2.3"))
    yield start + message(1, 1000, source, target)[:50]
    yield start + message(1, 1000, source, target) + b"y" * 500


def attack(source, target, bytes_):
    with socket.socket() as peer:
        peer.settimeout(60)
        peer.bind((source, 0))
        peer.connect((target, PORT))
        with contextlib.suppress(OSError):
            peer.sendall(bytes_)
            peer.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while peer.recv(4096):
                pass


def test_hostile_peers_cost_one_connection(hosts):
    target, source = hosts(1), hosts(66)
    with serving(options(target, "accept_timeout=1")) as process:
        exchange(options(hosts(2)), f"{target}@tcp")
        before = descriptors(process)
        for bytes_ in attacks(nid(source), nid(target)):
            attack(source, target, bytes_)
            assert process.poll() is None
        exchange(options(hosts(2)), f"{target}@tcp")
        wait_until(lambda: descriptors(process) <= before)


def read_all(end, length):
    data = b""
    while len(data) < length:
        part = end.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def frames(end, requested):
    """What one side of a connection of socklnd says, piece by piece: the request, HELLO, then messages with their data."""
    if requested:
        yield read_all(end, 16)
    start = read_all(end, 56)
    yield start + read_all(end, 4 * struct.unpack_from("<I", start, 52)[0])
    while True:
        piece = read_all(end, 24)
        if struct.unpack_from("<I", piece)[0] == 0xc1:
            piece += read_all(end, 72)
            piece += read_all(end, struct.unpack_from("<I", piece, 24 + 28)[0])
        yield piece


def relay(end, other, requested, old, new, received):
    """Passes on what `end` says, as if it were meant for, or came from, another NID."""
    with contextlib.suppress(OSError, EOFError):
        for piece in frames(end, requested):
            head = piece[:96].replace(struct.pack("<Q", old), struct.pack("<Q", new))
            received += head + piece[96:]
            other.sendall(head + piece[96:])
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)


def record(client, between, target):
    """A real exchange with a node, through a relay that has another address: what the client said on each connection."""
    recorded = []
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((between, PORT))
        listener.listen()

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    end, _ = listener.accept()
                    other = socket.socket()
                    other.bind((client, 0))
                    other.connect((target, PORT))
                    received = bytearray()
                    recorded.append(received)
                    for arguments in ((end, other, True, nid(between), nid(target), received),
                                      (other, end, False, nid(target), nid(between), bytearray())):
                        threading.Thread(target=relay, args=arguments, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        exchange(options(client), f"{between}@tcp")
        listener.shutdown(socket.SHUT_RDWR)
    return [bytes(received) for received in recorded]


def mutate(conversation, choose):
    """One to four changes: most of them in the headers of the first messages."""
    data = bytearray(conversation)
    for _ in range(choose.randint(1, 4)):
        bound = len(data) if choose.random() < 0.3 else min(len(data), 400)
        at = choose.randrange(bound)
        match choose.randrange(6):
            case 0:
                data[at] ^= 1 << choose.randrange(8)
            case 1:
                data[at] = choose.choice((0, 1, 0x7f, 0x80, 0xff))
            case 2:
                data[at:at + 4] = struct.pack("<I", choose.choice((0, 1, 0x7fffffff, 0x80000000, 0xffffffff, MIB, MIB + 1)))
            case 3:
                del data[at:at + choose.randint(1, 100)]
            case 4:
                data[at:at] = data[at:at + choose.randint(1, 100)]
            case _:
                del data[at + 1:]
    return bytes(data)


def test_mutations_of_a_real_conversation_cost_one_connection(hosts):
    """What a client really said, changed at random (of fixed seeds). The process goes on and serves others."""
    target, client, between = hosts(1), hosts(3), hosts(4)
    with serving(options(target, "accept_timeout=1")) as process:
        conversations = [received[:200000] for received in record(client, between, target)]
        assert len(conversations) == 3 and max(map(len, conversations)) > 10000
        exchange(options(hosts(2)), f"{target}@tcp")
        before = descriptors(process)
        for seed in range(150):
            choose = random.Random(seed)
            attack(client, target, mutate(choose.choice(conversations), choose))
            assert process.poll() is None
        exchange(options(hosts(2)), f"{target}@tcp")
        # Failures lower the health of its interface, which it then pings over connections to itself: three, with two ends.
        wait_until(lambda: descriptors(process) <= before + 6)


def test_a_flood_of_half_open_connections(hosts):
    """More connections than the backlog say nothing; they end after accept_timeout, and others are served again."""
    target, source = hosts(1), hosts(66)
    with serving(options(target, "accept_timeout=1")) as process:
        before = descriptors(process)
        peers = []
        for _ in range(300):
            peer = socket.socket()
            peers.append(peer)
            peer.bind((source, 0))
            with contextlib.suppress(ConnectionError):  # those beyond the backlog are reset
                peer.connect((target, PORT))
        with contextlib.suppress(OSError):
            peers[0].sendall(request(nid(target))[:7])  # not even a whole request
        assert descriptors(process) <= before + 130
        for peer in peers:
            peer.settimeout(30)
            with contextlib.suppress(OSError):
                assert peer.recv(1) == b""
            peer.close()
        wait_until(lambda: descriptors(process) <= before)
        exchange(options(hosts(2)), f"{target}@tcp")


def test_a_slow_sender_does_not_hold_others_up(hosts):
    target, source = hosts(1), hosts(66)
    with serving(options(target, "accept_timeout=1")), socket.socket() as slow, socket.socket() as stalled:
        for peer in (slow, stalled):
            peer.settimeout(30)
            peer.bind((source, 0))
            peer.connect((target, PORT))
        slow.sendall(request(nid(target))[:3])  # in the handshake
        stalled.sendall(request(nid(target)) + hello(nid(source), nid(target)) +
                        message(1, 100000, nid(source), nid(target)) + b"z" * 10)  # in a message
        assert len(stalled.recv(56, socket.MSG_WAITALL)) == 56
        exchange(options(hosts(2)), f"{target}@tcp")
        with contextlib.suppress(OSError):
            assert slow.recv(1) == b""  # accept_timeout


def test_no_descriptors_left(hosts):
    """The process cannot take more connections; those that wait are turned away, and it goes on."""
    target, source = hosts(1), hosts(66)
    with serving(options(target, "accept_timeout=1", "accept_backlog=1000"), command=("prlimit", "--nofile=40")):
        peers = []
        for _ in range(100):
            peer = socket.socket()
            peer.bind((source, 0))
            peer.connect((target, PORT))
            peers.append(peer)
        for peer in peers:
            peer.settimeout(30)
            with contextlib.suppress(OSError):
                assert peer.recv(1) == b""
            peer.close()
        exchange(options(hosts(2)), f"{target}@tcp")
