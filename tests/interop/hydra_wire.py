# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A process that implements PMI-2 itself, or PMI-1 if an argument asks for it, and prints the replies of its process
manager. test_hydra.py starts it."""

import os
import socket
import sys

INIT = b"cmd=init pmi_version=2 pmi_subversion=0\n"
REQUESTS = [
    "cmd=info-getjobattr;key=ABSENT;", "cmd=info-getnodeattr;key=ABSENT;wait=FALSE;",
    "cmd=info-putnodeattr;key=own;value=a=b c;", "cmd=info-getnodeattr;key=own;wait=TRUE;",
    "cmd=kvs-put;key=first;value=1;key=second;value=2;",  # 45: the first key counts
    "cmd=kvs-put;key=later;value=1;thrid=9;", "cmd=kvs-put;thrid=9;key=sooner;value=a=b c;",  # 82
    "cmd=kvs-fence;",
    "cmd=kvs-get;jobid=;srcid=0;key=first;", "cmd=kvs-get;jobid=;srcid=0;key=second;",
    "cmd=kvs-get;thrid=17;jobid=;srcid=-1;key=sooner;", "cmd=kvs-get;jobid=;srcid=0;key=ABSENT;",
    "cmd=name-publish;name=service;port=port 1;infokeycount=0;", "cmd=name-lookup;name=service;infokeycount=0;",
    "cmd=name-unpublish;name=service;infokeycount=0;",
]


def frame(text):
    return b"%6d%s" % (len(text), text.encode())


class Client:
    def __init__(self):
        self.socket = socket.socket(fileno=int(os.environ["PMI_FD"]))
        self.socket.settimeout(60)
        self.bytes = b""

    def take(self, length):
        while len(self.bytes) < length:
            more = self.socket.recv(65536)
            assert more, "closed"
            self.bytes += more
        taken, self.bytes = self.bytes[:length], self.bytes[length:]
        return taken.decode()

    def line(self):
        while b"\n" not in self.bytes:
            more = self.socket.recv(65536)
            assert more, "closed"
            self.bytes += more
        return self.take(self.bytes.index(b"\n") + 1).rstrip("\n")

    def ask_line(self, text):
        self.socket.sendall(text.encode() + b"\n")
        return self.line()

    def reply(self):
        return self.take(int(self.take(6)))

    def ask(self, text):
        self.socket.sendall(frame(text))
        return self.reply()


def lines():
    """PMI-1. The name of the job's pairs differs from run to run."""
    client = Client()
    print(client.ask_line("cmd=init pmi_version=1 pmi_subversion=1"))
    name = client.ask_line("cmd=get_my_kvsname").split("kvsname=")[1]
    for request in ["cmd=get_maxes", "cmd=get_appnum", f"cmd=put kvsname={name} key=first value=a=b", "cmd=barrier_in",
                    f"cmd=get kvsname={name} key=first", f"cmd=get kvsname={name} key=nix",
                    "cmd=publish_name service=service port=port1", "cmd=publish_name service=service port=port2",
                    "cmd=lookup_name service=service", "cmd=unpublish_name service=service", "cmd=unpublish_name service=service",
                    "cmd=lookup_name service=service", "cmd=finalize"]:
        print(client.ask_line(request))


def main():
    client = Client()
    client.socket.sendall(INIT)
    print(client.line())
    print(client.ask(f"cmd=fullinit;pmirank={os.environ['PMI_RANK']};threaded=FALSE;"))
    for request in REQUESTS:
        print(client.ask(request))
    whole, expected = frame(REQUESTS[8]), client.ask(REQUESTS[8])
    for at in range(1, len(whole)):  # 76: cut anywhere
        client.socket.sendall(whole[:at])
        client.socket.sendall(whole[at:])
        assert client.reply() == expected, at
    for count in range(1, 21):  # 76: up to twenty at once
        client.socket.sendall(whole * count)
        assert [client.reply() for _ in range(count)] == [expected] * count
    client.socket.sendall(b"%-6d%s" % (len(whole) - 6, whole[6:]))  # 75: a length on the left
    assert client.reply() == expected
    client.socket.sendall(INIT)  # 24: once more, in the middle
    print(client.line())
    print(client.ask(REQUESTS[8]))
    print(client.ask("cmd=finalize;"))


if __name__ == "__main__":
    lines() if sys.argv[1:] == ["lines"] else main()
