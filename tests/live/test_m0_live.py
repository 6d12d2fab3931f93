# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""m0_net between ordinary processes, over the driver in jacquard lnetd: all queues, deaths on both sides, hostile processes."""

import array
import contextlib
import errno
import fcntl
import mmap
import os
import random
import signal
import socket
import struct
import subprocess
import time

import jacquard
import pytest
from lnet_nodes import JACQUARD, descriptors, wait_until
from m0_nodes import LIBC, PR_SET_PDEATHSIG, begin, node, run

GRID = jacquard.build_directory() / "tests/m0_grid"
REOPEN = jacquard.build_directory() / "tests/m0_reopen"
MIB = 1 << 20


@pytest.fixture
def hosts():
    """Addresses of this machine that no other test uses: the net 127.x.y.0/24 belongs to this process."""
    pid = os.getpid()
    return lambda number: f"127.{64 + (pid >> 8) % 128}.{pid % 256}.{number}"


@pytest.fixture
def two(hosts, tmp_path):
    with node(hosts(1), tmp_path) as one, node(hosts(2), tmp_path) as other:
        yield one, other


@contextlib.contextmanager
def server_process(at, *arguments, errors=0):
    process = begin(*at.command("serve", "--bytes", MIB, *arguments))
    try:
        address = process.stdout.readline().strip()
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        yield address, process
        process.send_signal(signal.SIGTERM)
        output, complaints = process.communicate(timeout=120)
        if errors is not None:
            assert process.returncode == 0 and output.endswith(f"errors: {errors}\n"), output + complaints
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def serving(at, *arguments, errors=0):
    with server_process(at, *arguments, errors=errors) as (address, _):
        yield address


def table(output):
    """Queue → (adds, deletions, successes, failures, total bytes, most bytes)."""
    rows = [line.split() for line in output.splitlines() if line[1:5] in ("RECV", "SEND")]
    return {row[0]: (*map(int, row[1:5]), int(row[6]), int(row[7])) for row in rows}


# ---- all queues -----------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--batched",)], ids=["immediate", "batched"])
def test_all_queues_between_two_daemons(two, more):
    """Messages of 4 KiB, and 1 MiB in both directions; both sides check the data."""
    one, other = two
    loops = 20
    with serving(one, *more) as server:
        assert server == one.server()
        done = other.ping(*more, "--loops", loops, "--bytes", MIB, "--message", 4096, server)
        assert done.returncode == 0, done.stderr
        assert table(done.stdout) == {
            "mRECV": (loops, 0, loops, 0, 4096 * loops, 4096),
            "mSEND": (3 * loops, 0, 3 * loops, 0, (4096 + 2 * 67) * loops, 4096),
            "pRECV": (loops, 0, loops, 0, MIB * loops, MIB),
            "pSEND": (loops, 0, loops, 0, MIB * loops, MIB),
            "aRECV": (0, 0, 0, 0, 0, 0),
            "aSEND": (0, 0, 0, 0, 0, 0),
        }
        # Two processes of one daemon, which reach each other by the loopback or their own NID.
        assert one.ping("--loops", 3, "--bytes", MIB, server).returncode == 0
        # The server's buffers, of 256 pages each, are pinned, and nothing else of a process that has gone.
        wait_until(lambda: one.held()["domains"] == 1)
        held = one.held()
        assert held["machines"] == 1 and held["buffers"] == 40 and held["pinned pages"] >= 40 * 256
        assert held["internal errors"] == 0
    wait_until(one.is_unused)
    wait_until(other.is_unused)


class Grid:
    """A process of two domains with three machines each."""

    def __init__(self, at, tmid):
        self.process = begin(GRID, str(tmid), stdin=subprocess.PIPE, env=dict(os.environ, JACQUARD_M0=at.path, JACQUARD_M0_MEMORY="64"))
        self.addresses = self.answer().split()
        assert len(self.addresses) == 6

    def answer(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return line.strip()

    def order(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def grids(*places):
    made = []
    try:
        for at, tmid in places:
            made.append(Grid(at, tmid))
        yield made
    finally:
        for grid in made:
            grid.process.kill()
            grid.process.communicate()


def exchange(some, messages, meanwhile=lambda: None):
    for grid in some:
        grid.order(f"post {messages} " + " ".join(address for other in some for address in other.addresses))
    for grid in some:
        assert grid.answer() == "posted"
    for grid in some:
        grid.order("send")
    meanwhile()
    for grid in some:
        assert grid.answer() == str(6 * 6 * len(some) * messages)


def test_m0_137_processes_domains_and_machines_at_once(two):
    """Every machine sends to every machine, from memory that is shared and from other memory. One process is killed while the
    others go on."""
    one, other = two
    with grids((one, 20), (one, 26), (other, 20)) as some:
        exchange(some, 10)
        assert one.held()["machines"] == 12 and one.held()["internal errors"] == 0
        victim = some.pop(1)
        victim.order("post 80 " + " ".join(victim.addresses))
        assert victim.answer() == "posted"
        victim.order("send")
        exchange(some, 10, victim.process.kill)
        victim.process.wait()
        wait_until(lambda: one.held()["machines"] == 6)
        with grids((one, 26)) as heirs:  # its addresses are free
            exchange([*some, *heirs], 5)
        for grid in some:
            _, errors = grid.process.communicate(timeout=120)
            assert grid.process.returncode == 0, errors
    wait_until(one.is_unused)
    wait_until(other.is_unused)


def test_m0_154_released_at_the_last_close(two):
    """A child has the connection, but not the shared memory; what the killed parent leaves goes with the child."""
    one, _ = two
    with grids((one, 20)) as (grid,):
        grid.order("fork")
        child, memory = grid.answer().split()
        assert memory == "without"
        grid.process.kill()
        grid.process.wait()
        held = one.held()
        assert held["domains"] == 2 and held["machines"] == 6 and held["pinned pages"] > 0
        os.kill(int(child), signal.SIGKILL)
        wait_until(one.is_unused)


def test_a_server_that_is_not_there(two):
    one, other = two
    done = other.ping("--timeout", 1, one.server(99))
    assert done.returncode == 1 and done.stderr == f"jacquard: m0: {one.server(99)}: Connection timed out\n"


def test_m0_158_e2e_7_twenty_tools_at_once(two):
    """
    Processes with addresses of the daemon's choice, which let a server read and write their buffers.
    The server does not answer before all of them have begun, so that none ends before.
    """
    one, other = two
    with server_process(one, "--buffers", 100) as (server, process):
        process.send_signal(signal.SIGSTOP)
        tools = [begin(*other.command("ping", "--loops", 200, "--timeout", 60, server)) for _ in range(20)]
        wait_until(lambda: other.held()["machines"] == 20)
        process.send_signal(signal.SIGCONT)
        addresses = set()
        for tool in tools:
            output, errors = tool.communicate(timeout=300)
            assert tool.returncode == 0, errors
            addresses.add(output.splitlines()[0])
        assert addresses == {f"{other.address}@tcp:12345:39:{4095 - number}" for number in range(20)}
    wait_until(other.is_unused)


def test_m0_158_e2e_11_a_portal_of_lustre(two):
    """It works, with a warning of whoever chose it."""
    one, other = two
    warned = "jacquard: m0: warning: portal 28 is one of those that Lustre uses; 42 is free\n"
    with serving(one, "--portal", 28) as server:
        assert server.split(":")[2] == "28"
        for more, stderr in (((), ""), (("--portal", 28), warned)):
            done = other.ping("--loops", 3, "--bytes", 65536, *more, server)
            assert done.returncode == 0 and done.stderr == stderr
    assert one.is_unused() and other.is_unused()


def test_a_server_that_ends_while_it_is_asked(two):
    one, other = two
    for _ in range(3):
        server = begin(*one.command("serve", "--bytes", 4096))
        assert server.stdout.readline().strip() == one.server()
        clients = [begin(*other.command("ping", "--loops", 1000000, "--bytes", 4096, "--timeout", 4, one.server())) for _ in range(3)]
        wait_until(lambda: one.held()["operations"] > 100 and other.held()["machines"] == 3)
        server.send_signal(signal.SIGTERM)
        output, errors = server.communicate(timeout=120)
        assert server.returncode in (0, 1) and output.splitlines()[-1].startswith("errors: "), errors
        wait_until(one.is_unused)
        for client in clients:
            output, errors = client.communicate(timeout=120)
            assert client.returncode == 1, errors
        wait_until(other.is_unused)


def test_m0_66_addresses_are_one_for_all_processes(two):
    one, other = two
    with serving(one) as server:
        again = run(*one.command("serve"))
        assert again.returncode == 1 and again.stderr == f"jacquard: m0: {server}: Address already in use\n"
        assert other.ping(server).returncode == 0


def test_bounds_of_the_daemon(hosts, tmp_path):
    with node(hosts(1), tmp_path, "--m0-bounds", "domains=4,machines=1,buffers=10,pages=200") as one:
        for arguments, text in ((("--buffers", 20), "No space left on device"), (("--buffers", 4, "--bytes", MIB), "Cannot allocate memory")):
            done = run(*one.command("serve", *arguments))
            assert done.returncode == 1 and done.stderr.endswith(f": {text}\n"), done.stderr
            wait_until(lambda: one.held()["pinned pages"] == 0)
        file = memory_file()
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                assert stack.enter_context(Hostile(one)).attach(file) == 0
            for what in (["show"], ["serve", "--buffers", "4"]):
                done = run(*one.command(*what))
                assert done.returncode == 1 and done.stderr == f"jacquard: m0: {one.path}: Too many open files\n"
        os.close(file)
        wait_until(lambda: run(*one.command("show")).returncode == 0 and one.is_unused())


# ---- deaths ---------------------------------------------------------------------------------------


def test_closing_a_domain_waits_for_the_daemon(hosts, tmp_path):
    """The daemon has room for one domain, which is free again, with its address, when the domain's end returns."""
    address = f"{hosts(1)}@tcp:12345:39:7"
    with node(hosts(1), tmp_path, "--m0-bounds", "domains=1") as one:
        environment = dict(os.environ, JACQUARD_M0=one.path)
        done = run(REOPEN, address, 200, environment=environment)
        assert done.returncode == 0 and done.stdout == "200\n", done.stderr
        assert one.held()["domains"] == 0
        assert one.held()["internal errors"] == 0


@pytest.mark.parametrize("clients, servers", [(14, 3), pytest.param(36, 7, marks=pytest.mark.slow)])
def test_m0_152_m0_155_killed_at_any_instant(two, clients, servers):
    """Both sides are killed in turn; nothing is left, the address is free again, and the daemons serve on."""
    one, other = two
    chance = random.Random(152 + clients)
    with serving(one, errors=None) as server:
        for turn in range(clients):
            client = begin(*other.command("ping", "--tmid", 77, "--loops", 1000000, "--bytes", chance.choice([4096, 65536, MIB]), server))
            time.sleep(chance.random() * 0.12)
            client.kill()
            client.wait()
            wait_until(other.is_unused)
        done = other.ping("--tmid", 77, "--loops", 3, server)
        assert done.returncode == 0, done.stderr
    wait_until(one.is_unused)
    for turn in range(servers):
        server = begin(*one.command("serve", "--bytes", MIB))
        assert server.stdout.readline().strip() == one.server()
        client = begin(*other.command("ping", "--loops", 1000000, "--bytes", MIB, "--timeout", 1, one.server()))
        time.sleep(chance.random() * 0.2)
        server.kill()
        server.wait()
        wait_until(one.is_unused)
        client.kill()
        client.wait()
    wait_until(other.is_unused)
    assert one.held()["internal errors"] == other.held()["internal errors"] == 0
    with serving(one) as server:
        assert other.ping("--loops", 3, server).returncode == 0


def daemon_is_killed(at):
    """What its processes say."""
    with contextlib.ExitStack() as stack:
        server = begin(*at.command("serve"))
        stack.callback(server.kill)
        assert server.stdout.readline().strip() == at.server()
        assert server.stdout.readline() == "ready\n"
        client = begin(*at.command("ping", "--loops", 1000000, at.server()))
        stack.callback(client.kill)
        wait_until(lambda: at.held()["machines"] == 2)
        at.process.kill()
        ends = [process.communicate(timeout=60)[1] for process in (server, client)]
        return ends, [server.returncode, client.returncode]


def test_the_daemon_dies(hosts, tmp_path):
    """Processes on it get errors and end; those of the other daemon see a peer that does not answer."""
    with node(hosts(1), tmp_path) as one:
        said, codes = [], []
        with contextlib.suppress(AssertionError), node(hosts(2), tmp_path) as other:  # it does not end well
            said, codes = daemon_is_killed(other)
        assert codes == [1, 1] and all(text.endswith(": Connection reset by peer\n") for text in said), said
        assert one.ping("--timeout", 1, other.server()).returncode == 1
        wait_until(one.is_unused)
        # A daemon at the same place finds a socket that nobody listens to.
        with node(hosts(2), tmp_path) as other, serving(other) as address:
            assert other.ping(address).returncode == 0


def test_the_daemon_ends_while_it_is_used(hosts, tmp_path):
    with node(hosts(1), tmp_path) as one:
        server = begin(*one.command("serve"))
        assert server.stdout.readline() != ""
    _, errors = server.communicate(timeout=60)
    assert server.returncode == 1 and "Connection reset" in errors
    assert not os.path.exists(one.path)


def test_without_a_daemon(tmp_path):
    for path, text in ((tmp_path / "none", "No such file or directory"), ("/" * 200, "File name too long")):
        done = run(JACQUARD, "m0", "ping", "--socket", path, "127.0.0.1@tcp:12345:39:12")
        assert done.returncode == 1 and done.stderr == f"jacquard: m0: {path}: {text}\n"
    for arguments in (["m0"], ["m0", "pong"], ["m0", "ping"], ["m0", "serve", "x"], ["m0", "ping", "--bytes", "0", "x"], ["m0", "serve"],
                      ["m0", "ping", "--socket", "x", "--message", "40000", "x"], ["lnetd", "--m0-bounds", "machine=1", "x"],
                      ["lnetd", "--m0-bounds", "machines=", "x"]):
        done = run(JACQUARD, *arguments, environment={key: value for key, value in os.environ.items() if key != "JACQUARD_M0"})
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr


# ---- hostile processes ----------------------------------------------------------------------------


def ioc(direction, number, size):
    return direction << 30 | size << 16 | ord("c") << 8 | number


READ, WRITE = 2, 1
ATTACH = ioc(WRITE, 0x22, 16)
DOM_INIT = ioc(READ | WRITE, 0x21, 32)
BUF_REGISTER = ioc(WRITE, 0x26, 40)
EVENT_WAIT = ioc(WRITE, 0x2f, 16)
CLOSE = ioc(0, 0x4f, 0)
STATS_BYTES = 48
STATS = ioc(READ | WRITE, 0x4e, STATS_BYTES)
NIDSTRS_GET = ioc(WRITE, 0x32, 16)
TM_START = ioc(WRITE, 0x33, 8)
BASE = 0x7f0000000000


def request(cmd, params=b"", regions=()):
    return struct.pack("=II", cmd, len(regions)) + params + b"".join(struct.pack("=QQ", *head) + data for head, data in regions)


def memory_file(size=MIB, seals=fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL):
    file = os.memfd_create("hostile", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, size)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
    return file


class Hostile:
    def __init__(self, at):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        self.socket.connect(at.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, message, files=()):
        """The verb's result; None: the daemon hung up."""
        try:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
            self.socket.sendmsg([message], rights)
            answer = self.socket.recv(1 << 20)
        except (BrokenPipeError, ConnectionResetError):
            return None
        return struct.unpack_from("=q", answer)[0] if answer else None

    def attach(self, file, size=MIB, address=BASE):
        return self.ask(request(ATTACH, struct.pack("=QQ", address, size)), [file])


def test_hostile_memory(two):
    """Files that could shrink, that are shorter than they are said to be, or that are no memory."""
    one, _ = two
    before = descriptors(one.process)
    unsealed = memory_file(seals=0)
    half = memory_file(seals=fcntl.F_SEAL_SHRINK)
    good, short = memory_file(), memory_file(4096)
    readonly = os.open(f"/proc/self/fd/{good}", os.O_RDONLY)
    frozen = memory_file(seals=fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL)
    pipe = os.pipe()
    null = os.open("/dev/zero", os.O_RDWR)
    try:
        for file, size, address, rc in (
                (unsealed, MIB, BASE, errno.EACCES), (half, MIB, BASE, errno.EACCES), (short, MIB, BASE, errno.EINVAL),
                (good, 2 * MIB, BASE, errno.EINVAL), (good, MIB - 1, BASE, errno.EINVAL), (good, 0, BASE, errno.EINVAL),
                (good, MIB, BASE + 1, errno.EINVAL), (good, MIB, (1 << 64) - 4096, errno.EINVAL), (good, 1 << 60, BASE, errno.EINVAL),
                (readonly, MIB, BASE, errno.EACCES), (frozen, MIB, BASE, errno.EACCES), (pipe[0], MIB, BASE, errno.EACCES),
                (null, MIB, BASE, errno.EACCES)):
            with Hostile(one) as hostile:
                assert hostile.attach(file, size, address) == -rc
                assert hostile.ask(request(DOM_INIT, bytes(32))) is None
        with Hostile(one) as hostile:
            assert hostile.ask(request(ATTACH, struct.pack("=QQ", BASE, MIB))) == -errno.EBADF
        with Hostile(one) as hostile:  # too many files: those that the daemon did not ask for are closed
            assert hostile.ask(request(ATTACH, struct.pack("=QQ", BASE, MIB)), [good, null, pipe[0], unsealed]) == 0
        with Hostile(one) as hostile:
            assert hostile.ask(request(DOM_INIT, bytes(32))) == -errno.ENOTTY
    finally:
        for file in (unsealed, half, good, short, readonly, frozen, *pipe, null):
            os.close(file)
    wait_until(one.is_unused)
    wait_until(lambda: descriptors(one.process) <= before)


def test_hostile_messages(two):
    """What is no message ends the connection; what is one gets an errno. Others are served."""
    one, other = two
    chance = random.Random(25)
    good = memory_file()
    with serving(one) as server:
        for message in (b"", b"x", bytes(7), request(BUF_REGISTER, bytes(39)), request(DOM_INIT, bytes(32)) + b"x",
                        request(BUF_REGISTER, bytes(40), [((0, 1 << 63), b"")]), request(BUF_REGISTER, bytes(40), [((0, 5000), bytes(5000))]),
                        struct.pack("=II", BUF_REGISTER, 3) + bytes(100), struct.pack("=II", ioc(READ, 0x21, 0x3fff), 0) + bytes(0x3fff),
                        bytes(100000)):
            with Hostile(one) as hostile:
                assert hostile.attach(good) == 0
                assert hostile.ask(message) is None
        with Hostile(one) as hostile:
            assert hostile.attach(good) == 0
            assert hostile.attach(good) == -errno.ENOTTY
            for unknown in (0, ioc(0, 0x4d, 0)):
                assert hostile.ask(request(unknown)) in (-errno.ENOTTY, -errno.EBADR)
            assert hostile.ask(request(ioc(WRITE, 0x33, 16), bytes(16))) in (-errno.ENOTTY, -errno.EBADR)
            assert hostile.ask(request(TM_START, bytes(8))) == -errno.EBADR  # no domain yet
            for address in (0, BASE - 4096, BASE + MIB, BASE + 4090, 1 << 63):
                assert hostile.ask(request(DOM_INIT, struct.pack("=Q", address) + bytes(24))) in (-errno.EFAULT, -errno.EBADR)
            assert hostile.ask(request(DOM_INIT, struct.pack("=Q", BASE) + bytes(24))) == 0
            assert hostile.ask(request(EVENT_WAIT, struct.pack("=QQ", 1, (1 << 64) - 1))) == -errno.ENOTTY
            assert hostile.ask(request(NIDSTRS_GET, struct.pack("=QQ", 1 << 40, 0x1234))) == 2
            # A vector that was not sent along, and one that lies outside of the shared memory.
            vector = struct.pack("=QQIIQQ", BASE + 4096, 1, 0, 1, 0x1000, 0x2000)
            assert hostile.ask(request(BUF_REGISTER, vector)) in (-errno.EFAULT, -errno.EINVAL)
            register = request(BUF_REGISTER, register_params(BASE + 4096, 1), [((0x1000, 8), struct.pack("=Q", 4096)),
                                                                              ((0x2000, 8), struct.pack("=Q", BASE + MIB))])
            assert hostile.ask(register) == -errno.EFAULT
            for _ in range(3000):
                number = chance.randrange(0x20, 0x50)
                size = chance.choice([0, 8, 16, 24, 32, 40, 48, 272])
                words = [chance.choice([0, 1, BASE, BASE + 4096 * chance.randrange(256), BASE + MIB - 8, 1 << 20, 1 << 63, chance.getrandbits(64)])
                         for _ in range(size // 8)]
                verb = ioc(chance.randrange(4), number, size)
                if verb != CLOSE:
                    assert hostile.ask(request(verb, struct.pack(f"={len(words)}Q", *words))) is not None
            assert hostile.ask(request(CLOSE)) == 0
            assert hostile.ask(request(DOM_INIT, bytes(32))) is None
        with Hostile(one) as hostile:
            assert hostile.attach(good) == 0 and hostile.ask(request(CLOSE)) == 0  # without a domain
        done = other.ping("--loops", 3, server)
        assert done.returncode == 0, done.stderr
    os.close(good)
    wait_until(one.is_unused)
    assert one.process.poll() is None


def register_params(buffer, identity):
    """m0_lnet_dev_buf_register_params of one segment: its vector's arrays are at 0x1000 and 0x2000 of the process."""
    return struct.pack("=QQIIQQ", buffer, identity, 1, 0, 0x1000, 0x2000)


def test_m0_138_shared_memory_that_is_scribbled_over(two):
    """A real process whose shared memory another one overwrites at random: it ends somehow, the daemon does not."""
    one, other = two
    chance = random.Random(24)
    with serving(other, errors=None) as server:
        for _ in range(10):
            client = begin(*one.command("ping", "--loops", 1000000, "--timeout", 100, server), env=dict(os.environ, JACQUARD_M0_MEMORY="8"))
            wait_until(lambda: one.held()["machines"] == 1 or client.poll() is not None)
            name = next(f"/proc/{client.pid}/fd/{fd}" for fd in os.listdir(f"/proc/{client.pid}/fd")
                        if os.readlink(f"/proc/{client.pid}/fd/{fd}").startswith("/memfd:m0net"))
            with open(name, "r+b") as file, mmap.mmap(file.fileno(), 8 * MIB) as shared:
                used = one.held()["pinned pages"]
                for _ in range(5000):
                    at = 8 * chance.randrange(max(used, 64) * 512)
                    shared[at:at + 8] = struct.pack("=Q", chance.choice([0, 1, chance.getrandbits(64)]))
            client.kill()
            client.wait()
            wait_until(one.is_unused)
    with serving(one) as server:
        assert other.ping("--loops", 3, server).returncode == 0


def test_a_process_that_says_nothing(two):
    """A connection without a request holds its place for some seconds only."""
    one, other = two
    with Hostile(one) as silent, serving(one) as server:
        assert other.ping(server).returncode == 0
        assert silent.socket.recv(1) == b""


def test_replies_that_nobody_reads(two):
    """A process that closes its domain when its socket has no room for the reply holds nobody up, nor the daemon's end."""
    one, other = two
    good = memory_file()
    stats = request(STATS, bytes(STATS_BYTES))
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        here.setblocking(False)
        fits = 0
        with contextlib.suppress(BlockingIOError):
            while True:  # a reply has its head and the parameters
                here.send(bytes(16 + STATS_BYTES))
                fits += 1
    with contextlib.ExitStack() as held:
        for count in range(fits - 2, fits + 3):
            deaf = held.enter_context(Hostile(one))
            assert deaf.attach(good) == 0
            for _ in range(count):
                deaf.socket.send(stats)
            deaf.socket.send(request(CLOSE))
        with serving(one) as server:
            assert other.ping("--loops", 3, server).returncode == 0
        for count in (fits, fits + 10):  # the daemon ends while these have not read
            deaf = Hostile(one)
            assert deaf.attach(good) == 0
            for _ in range(count):
                deaf.socket.send(stats)
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(60) == 0
    os.close(good)


def test_another_user(two):
    """The socket's mode keeps others out; should they get through, their credentials do."""
    one, _ = two
    assert os.stat(one.path).st_mode & 0o777 == 0o600
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    os.chmod(one.path, 0o666)
    folder = os.path.dirname(one.path)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.chdir(folder)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as there:
                there.settimeout(30)
                there.connect(os.path.basename(one.path))
                os.write(writing, struct.pack("=q", struct.unpack_from("=q", there.recv(100))[0]))
        except OSError as error:
            os.write(writing, struct.pack("=q", -error.errno))
        finally:
            os._exit(0)
    os.close(writing)
    answer = os.read(reading, 8)
    os.close(reading)
    os.waitpid(child, 0)
    assert struct.unpack("=q", answer)[0] == -errno.EACCES
    assert one.ping("--timeout", 1, one.server()).returncode == 1  # root is served
