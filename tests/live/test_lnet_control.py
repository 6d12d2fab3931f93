# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The control socket of an LNet node, jacquard lnetctl, and ip2nets."""

import contextlib
import os
import select
import socket
import subprocess
import sys
import time

import pytest
import yaml
from lnet_nodes import JACQUARD, PORT, SIZES, daemon, descriptors, exchange, options, ping, run, serving, wait_until


@pytest.fixture
def hosts():
    """Addresses of this machine that no other test uses: the net 127.x.y.0/24 belongs to this process."""
    pid = os.getpid()
    return lambda number: f"127.{64 + (pid >> 8) % 128}.{pid % 256}.{number}"


# ---- the control socket ---------------------------------------------------------------------------


def lnetctl(path, *words):
    return run(JACQUARD, "lnetctl", "--socket", path, *words)


@pytest.fixture
def controlled(hosts, tmp_path):
    config = tmp_path / "node.yaml"
    config.write_text(f"net:\n  - net type: tcp\n    local NI(s):\n      - nid: {hosts(1)}@tcp\n        tunables:\n"
                      f"          peer_credits: 12\nroute:\n  - net: tcp7\n    gateway: {hosts(9)}@tcp\n    hop: 2\n")
    with daemon(config, "--set", f"accept_port={PORT}", "--control", tmp_path / "socket"):
        yield tmp_path / "socket"


def test_lnetctl_shows_a_live_node(hosts, controlled):
    ping(hosts(2), f"{hosts(1)}@tcp")
    net = yaml.safe_load(lnetctl(controlled, "net", "show", "-v", "2").stdout)["net"][1]
    assert net["net type"] == "tcp"
    ni, = net["local NI(s)"]
    assert ni["nid"] == f"{hosts(1)}@tcp" and ni["status"] == "up" and ni["tunables"]["peer_credits"] == 12
    # A ping is a GET that comes in, and a REPLY.
    assert ni["received_stats"]["get"] == 1 and ni["sent_stats"]["reply"] == 1 and ni["health stats"]["health value"] == 1000
    peers = yaml.safe_load(lnetctl(controlled, "peer", "show", "-v").stdout)["peer"]
    assert [peer["primary nid"] for peer in peers if peer["primary nid"] == f"{hosts(2)}@tcp"]
    route, = yaml.safe_load(lnetctl(controlled, "route", "show", "-v").stdout)["route"]
    assert route["net"] == "tcp7" and route["gateway"] == f"{hosts(9)}@tcp" and route["hop"] == 2
    assert yaml.safe_load(lnetctl(controlled, "routing", "show").stdout) == {"routing": [{"enable": 0}]}
    assert yaml.safe_load(lnetctl(controlled, "stats", "show").stdout)["statistics"]["recv_count"] >= 1
    assert yaml.safe_load(lnetctl(controlled, "global", "show").stdout)["global"]["transaction_timeout"] == 50


def test_lnetctl_pings_and_exports(hosts, controlled, tmp_path):
    with serving(options(hosts(3))):
        pong = yaml.safe_load(lnetctl(controlled, "ping", f"{hosts(3)}@tcp").stdout)["ping"]
    assert pong[0]["peer ni"] == [{"nid": f"{hosts(3)}@tcp"}]
    assert yaml.safe_load(lnetctl(controlled, "ping", "nowhere").stdout)["ping"][0]["errno"] == -22
    exported = tmp_path / "exported.yaml"
    exported.write_text(lnetctl(controlled, "export").stdout.replace(f"{hosts(1)}@tcp", f"{hosts(4)}@tcp"))
    with daemon(exported, "--set", f"accept_port={PORT}") as (_, lines):
        assert f"12345-{hosts(4)}@tcp\n" in lines


def test_lnetctl_changes_a_live_node(hosts, controlled):
    """A network comes, answers pings, and goes; a route and a peer."""
    assert lnetctl(controlled, "net", "add", "--net", "tcp1", "--if", hosts(5), "--peer-credits", "3").returncode == 0
    assert run(JACQUARD, "lnet", "ping", "--networks", f"tcp1({hosts(6)})", "--set", f"accept_port={PORT}", f"{hosts(5)}@tcp1").returncode == 0
    nets = {net["net type"]: net["local NI(s)"] for net in yaml.safe_load(lnetctl(controlled, "net", "show", "-v").stdout)["net"]}
    assert nets["tcp1"][0]["nid"] == f"{hosts(5)}@tcp1" and nets["tcp1"][0]["tunables"]["peer_credits"] == 3
    assert nets["tcp1"][0]["statistics"]["recv_count"] == 1
    again = lnetctl(controlled, "net", "add", "--net", "tcp1", "--if", hosts(5))
    assert again.returncode == 2 and "File exists" in again.stderr
    assert "No such device" in lnetctl(controlled, "net", "add", "--net", "tcp1", "--if", "8.8.8.8").stderr
    assert lnetctl(controlled, "route", "add", "--net", "tcp8", "--gateway", f"{hosts(8)}@tcp1", "--hop", "3").returncode == 0
    assert lnetctl(controlled, "peer", "add", "--prim_nid", f"{hosts(7)}@tcp", "--nid", f"{hosts(7)}@tcp1").returncode == 0
    routes = {route["net"]: route for route in yaml.safe_load(lnetctl(controlled, "route", "show", "-v").stdout)["route"]}
    assert routes["tcp8"]["gateway"] == f"{hosts(8)}@tcp1" and routes["tcp8"]["hop"] == 3
    peers = {peer["primary nid"]: peer for peer in yaml.safe_load(lnetctl(controlled, "peer", "show").stdout)["peer"]}
    assert [part["nid"] for part in peers[f"{hosts(7)}@tcp"]["peer ni"]] == [f"{hosts(7)}@tcp", f"{hosts(7)}@tcp1"]
    assert lnetctl(controlled, "net", "del", "--net", "tcp1").returncode == 0
    left = yaml.safe_load(lnetctl(controlled, "net", "show").stdout)["net"]
    assert [net["net type"] for net in left] == ["lo", "tcp"]
    assert [route["net"] for route in yaml.safe_load(lnetctl(controlled, "route", "show").stdout)["route"]] == ["tcp7"]
    ping(hosts(2), f"{hosts(1)}@tcp")


def test_lnetctl_refuses(controlled, tmp_path):
    for words, message in ((["net", "delete"], "there are net, peer"), (["net"], "there are net, peer"), ([], "words are needed"),
                           (["x" * 300], "these words are no command"), (["stats\nshow"], "these words are no command")):
        done = lnetctl(controlled, *words)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert "No such file" in lnetctl(tmp_path / "nothing", "net", "show").stderr
    assert os.stat(controlled).st_mode & 0o777 == 0o600
    done = run(JACQUARD, "lnetd", "--control", "/does/not/exist/socket", tmp_path / "node.yaml", "--set", f"accept_port={PORT + 1}")
    assert done.returncode == 2 and "No such file" in done.stderr


def test_hostile_clients_of_the_control_socket(controlled):
    """Long, empty, cut and binary requests cost their connection."""
    for request in (b"x" * 5000, b"", b"net show", b"\n", b"\0\0\0\n", b"ping " + b"9" * 200 + b"\n", os.urandom(200) + b"\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(controlled))
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                client.recv(1)
    assert lnetctl(controlled, "stats", "show").returncode == 0


def test_a_stale_control_socket_is_replaced(hosts, tmp_path):
    config = tmp_path / "node.yaml"
    config.write_text(f"net:\n  - net type: tcp\n    local NI(s):\n      - nid: {hosts(1)}@tcp\n")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "socket"))
    with daemon(config, "--set", f"accept_port={PORT}", "--control", tmp_path / "socket"):
        assert lnetctl(tmp_path / "socket", "stats", "show").returncode == 0
    assert not (tmp_path / "socket").exists()


def control_request(path, request, reply=65536):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(path))
        client.sendall(request)
        answer = b""
        while part := client.recv(reply):
            answer += part
        return answer


def test_a_slow_client_of_the_control_socket(controlled):
    """Bytes that trickle in do not prolong its time, and one that reads nothing is left; others are served after them."""
    slow = socket.socket(socket.AF_UNIX)
    slow.connect(str(controlled))
    deaf = socket.socket(socket.AF_UNIX)
    deaf.connect(str(controlled))
    deaf.sendall(b"export\n")
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for _ in range(100):  # each byte comes within the limit, the line does not
            slow.sendall(b"n")
            time.sleep(0.1)
            if select.select([slow], [], [], 0)[0]:
                break
    slow.settimeout(30)
    with contextlib.suppress(ConnectionResetError):
        assert slow.recv(1) == b""
    assert control_request(controlled, b"stats show\n").startswith(b"ok\nstatistics:\n")
    slow.close()
    deaf.close()


def test_no_descriptors_left_for_the_control_socket(hosts, tmp_path):
    """Clients that cannot be taken wait; when descriptors are free again they are served."""
    path = tmp_path / "socket"
    with serving(options(hosts(1), f"control={path}"), command=("prlimit", "--nofile=40")) as process:
        held = []
        for _ in range(60):  # connections to the acceptor take all of them
            peer = socket.socket()
            peer.bind((hosts(66), 0))
            peer.connect((hosts(1), PORT))
            held.append(peer)
        wait_until(lambda: descriptors(process) >= 38)
        waiting = socket.socket(socket.AF_UNIX)
        waiting.settimeout(60)
        waiting.connect(str(path))
        waiting.sendall(b"net show\n")
        for peer in held:
            peer.close()
        assert waiting.recv(3) == b"ok\n"
        waiting.close()
        assert control_request(path, b"export\n").startswith(b"ok\nnet:\n")


def test_requests_that_are_no_line(controlled):
    for request in (b"net\0 show\n", b"x" * 256):
        with contextlib.suppress(ConnectionResetError):
            assert control_request(controlled, request) == b""
    assert control_request(controlled, b"ping \n").startswith(b"ok\nping:\n    - errno: -22\n")
    assert control_request(controlled, b"net show -v 9\n").startswith(b"error: there are")
    # Only the first line is a request.
    assert control_request(controlled, b"routing show\nexport\n").count(b"enable") <= 1


def test_any_process_may_have_a_control_socket(hosts, tmp_path):
    """The parameter `control` of LNET_OPTIONS; the socket is gone when the process has ended."""
    path = tmp_path / "socket"
    with serving(options(hosts(1), f"control={path}")):
        exchange(options(hosts(2)), f"{hosts(1)}@tcp")
        net = yaml.safe_load(lnetctl(path, "net", "show", "-v", "2").stdout)["net"][1]["local NI(s)"][0]
        # Of each size a PUT with ACK and a GET with REPLY.
        assert net["received_stats"]["put"] == net["received_stats"]["get"] == len(SIZES)
        assert net["sent_stats"]["ack"] == net["sent_stats"]["reply"] == len(SIZES)
        peers = {peer["primary nid"]: peer["peer ni"][0] for peer in yaml.safe_load(lnetctl(path, "peer", "show", "-v", "2").stdout)["peer"]}
        source = peers[f"{hosts(2)}@tcp"]
        assert source["received_stats"]["put"] == source["received_stats"]["get"] == len(SIZES)
        assert source["sent_stats"]["ack"] == source["sent_stats"]["reply"] == len(SIZES)
        assert source["statistics"] == {"send_count": 2 * len(SIZES), "recv_count": 2 * len(SIZES), "drop_count": 0}
        assert source["health stats"] == {"health value": 1000, "dropped": 0, "timeout": 0, "error": 0, "network timeout": 0}
        assert peers[f"{hosts(2)}@tcp"]["available_tx_credits"] == peers[f"{hosts(2)}@tcp"]["max_ni_tx_credits"] == 8
        assert os.stat(path).st_mode & 0o777 == 0o600
    assert not path.exists()
    bad = ping(hosts(3), f"{hosts(1)}@tcp", more=("--set", f"control={tmp_path}/no/socket"))
    assert bad.returncode == 2 and bad.stderr == f"jacquard: lnet: {tmp_path}/no/socket: No such file or directory\n"
    config = tmp_path / "node.yaml"
    config.write_text(f"net:\n  - net type: tcp\n    local NI(s):\n      - nid: {hosts(4)}@tcp\n")
    twice = run(JACQUARD, "lnetd", "--control", tmp_path / "a", "--set", f"control={tmp_path}/b", "--set", f"accept_port={PORT}", config)
    assert twice.returncode == 2 and "has a control socket already" in twice.stderr


def test_a_ping_does_not_hold_up_the_end(hosts, tmp_path):
    """The process ends while its control socket pings a NID that does not answer."""
    path = tmp_path / "socket"
    with socket.socket() as silent, serving(options(hosts(1), f"control={path}")):
        silent.bind((hosts(9), PORT))
        silent.listen()
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(path))
        client.sendall(f"ping {hosts(9)}@tcp\n".encode())
        silent.accept()[0].close()  # the ping is under way
    client.close()


# ---- ip2nets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules, expected", [
    ("tcp({1}) {1}; tcp1({2}) {2}", ["{1}@tcp", "{2}@tcp1"]),
    ("tcp({1}) {1}; tcp({2}) {2}", ["{1}@tcp"]),  # the first rule of a network counts
    ("tcp(203.0.113.7) 203.0.113.7; tcp({2}) {2}", ["{2}@tcp"]),  # the first one is for another machine
    ("tcp2({3}) 127.*.*.*; tcp3({1}) 10.0.0.[1-3]", ["{3}@tcp2"]),
    ("# all\ntcp0({1}) 127.*.*.* # these; tcp1({2}) {2}\rtcp({2}) {2}; tcp1({2}),tcp2({3}) {2}", ["{1}@tcp", "{2}@tcp1"]),
])
def test_ip2nets_chooses_networks_by_address(hosts, rules, expected):
    """One text for all machines: rules whose addresses are of other machines do not count."""
    names = {str(number): hosts(number) for number in (1, 2, 3)}

    def fill(text):
        for number, address in names.items():
            text = text.replace("{" + number + "}", address)
        return text

    own = fill(expected[0])
    with serving(dict(os.environ, LNET_OPTIONS=f'ip2nets="{fill(rules)}" accept_port={PORT}')):
        done = ping(hosts(50), own, more=("--set", f"networks=tcp{own.split('tcp')[1]}({hosts(50)})"))
        assert done.returncode == 0, done.stdout
        nids = [one["nid"] for one in yaml.safe_load(done.stdout)["ping"][0]["peer ni"]]
    assert nids == [fill(text) for text in expected]


@pytest.mark.parametrize("parameters, message", [
    (("ip2nets=tcp(203.0.113.7) 203.0.113.*",), "ip2nets: no rule matches an address of the node"),
    (("ip2nets=tcp 127.*.*.*", "networks=tcp"), "networks, ip2nets: only one of the two may be given"),
    (("ip2nets=o2ib 127.*.*.*",), "there is no driver for o2ib"),
    (("ip2nets=tcp 10.0.0.[1-3]/192",), 'ip2nets: "10.0.0.[1-3]/192" is no pattern of addresses'),
])
def test_ip2nets_that_cannot_be(parameters, message):
    done = run(JACQUARD, "lnet", "ping", *(word for text in parameters for word in ("--set", text)), "127.0.0.1@tcp")
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_the_text_of_a_modprobe_file(hosts):
    """What a real node has in /etc/modprobe.d; routes that are for other machines do not count."""
    text = (f"# LNet\nalias lustre llite\noptions lnet 'networks=\"tcp({hosts(1)})\"' accept_port={PORT} config_on_load=1 \\\n"
            f"  routes=\"o2ib {hosts(7)}@tcp; tcp 10.1.0.[1,2]@o2ib; gni [1-4]@gni1 # others\"\n"
            "options ksocklnd peer_credits=12 no_such_parameter=1\noptions ko2iblnd peer_credits=32\n")
    with serving(dict(os.environ, LNET_OPTIONS=text)):
        done = ping(hosts(50), f"{hosts(1)}@tcp", more=("--set", "ksocklnd.no_such=1", "--set", "config_on_load=1"))
        assert done.returncode == 0 and f"{hosts(1)}@tcp" in done.stdout
        assert done.stderr == "lnet: warning: ksocklnd.no_such: there is no such parameter\n"


OTHER_USER = """
import os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as client:
    client.connect("socket")
    try:
        client.sendall(b"net show\\n")
        sys.exit(len(client.recv(4096)))
    except (BrokenPipeError, ConnectionResetError):
        pass
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_gets_no_answer(hosts, controlled):
    """Even where the permissions of the socket let everybody in."""
    controlled.parent.chmod(0o755)
    controlled.chmod(0o777)
    done = subprocess.run([sys.executable, "-c", OTHER_USER], cwd=controlled.parent, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{hosts(1)}@tcp" in lnetctl(controlled, "net", "show").stdout
