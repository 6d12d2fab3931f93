# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A task of srun that implements PMI-2 itself, or records the messages of a program that does.

    wire.py raw                          asserts what Slurm answers to bytes that no library sends
    wire.py listen FOLDER PROGRAM ...    runs the program with all bytes passing here; FOLDER/<rank> gets them as JSON lines
                                         [who, text], who being C, S, or what ended: "C end", "S end"
"""

import json
import os
import select
import selectors
import socket
import subprocess
import sys

INIT = b"cmd=init pmi_version=2 pmi_subversion=0\n"


def frame(text):
    payload = text.encode()
    return b"%6d" % len(payload) + payload


class Messages:
    """Cuts a stream into the first line and then frames."""

    def __init__(self):
        self.bytes, self.begun = b"", False

    def add(self, more):
        self.bytes += more
        while True:
            if not self.begun:
                end = self.bytes.find(b"\n") + 1
                if end == 0:
                    return
                self.begun, begin = True, 0
            else:
                if len(self.bytes) < 6 or len(self.bytes) < 6 + int(self.bytes[:6]):
                    return
                begin, end = 6, 6 + int(self.bytes[:6])
            yield self.bytes[begin:end].decode()
            self.bytes = self.bytes[end:]


def server():
    # The variable has the number of an inherited descriptor.
    return socket.socket(fileno=int(os.environ["PMI_FD"]))


# ---- raw ------------------------------------------------------------------------------------------


class Client:
    def __init__(self):
        self.socket, self.messages, self.waiting = server(), Messages(), []
        self.socket.settimeout(60)
        self.socket.sendall(INIT)
        assert self.reply() == "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"
        rank, size, job = (os.environ[name] for name in ("PMI_RANK", "PMI_SIZE", "PMI_JOBID"))
        assert self.ask(f"cmd=fullinit;pmijobid={job};pmirank={rank};threaded=FALSE;") == (
            f"cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank={rank};size={size};appnum=-1;"
            "debugged=FALSE;pmiverbose=FALSE;")

    def reply(self):
        while not self.waiting:
            more = self.socket.recv(65536)
            assert more, "closed"
            self.waiting += self.messages.add(more)
        return self.waiting.pop(0)

    def ask(self, text):
        self.socket.sendall(frame(text))
        return self.reply()


def raw():
    rank = os.environ["PMI_RANK"]
    client = Client()
    exchanges = [(f"cmd=kvs-put;key=r{rank};value=of {rank};", "cmd=kvs-put-response;rc=0;"),
                 ("cmd=kvs-get;jobid=;srcid=0;key=nowhere;", "cmd=kvs-get-response;rc=0;found=FALSE;"),
                 ("cmd=job-getid;", f"cmd=job-getid-response;rc=0;jobid={os.environ['PMI_JOBID']};"),
                 ("cmd=info-getjobattr;key=ABSENT;", "cmd=info-getjobattr-response;rc=0;found=FALSE;")]
    for request, expected in exchanges:
        assert client.ask(request) == expected
        assert client.ask(request.replace(";", ";thrid=17;", 1)) == expected # 82: not repeated

    for request, expected in exchanges: # 76: at each byte position
        whole = frame(request)
        for at in range(1, len(whole)):
            client.socket.sendall(whole[:at])
            client.socket.sendall(whole[at:])
            assert client.reply() == expected, at
    for count in range(1, 21): # 76: up to twenty at once
        client.socket.sendall(b"".join(frame(exchanges[i % 4][0]) for i in range(count)))
        for i in range(count):
            assert client.reply() == exchanges[i % 4][1]

    put = "cmd=kvs-put;key=first-%s;value=1;key=second-%s;value=2;" % (rank, rank) # 45
    assert client.ask(put) == "cmd=kvs-put-response;rc=0;"
    assert client.ask("cmd=kvs-fence;") == "cmd=kvs-fence-response;rc=0;"
    assert client.ask(f"cmd=kvs-get;jobid=;srcid=0;key=first-{rank};") == "cmd=kvs-get-response;rc=0;found=TRUE;value=1;"
    assert client.ask(f"cmd=kvs-get;jobid=;srcid=0;key=second-{rank};") == "cmd=kvs-get-response;rc=0;found=FALSE;"
    for source in ["-1", "0", "999999"]:
        assert client.ask(f"cmd=kvs-get;jobid=;srcid={source};key=r0;") == "cmd=kvs-get-response;rc=0;found=TRUE;value=of 0;"
    assert client.ask("cmd=finalize;") == "cmd=finalize-response;rc=0;"
    print(f"rank {rank}: ok")


# ---- listen ---------------------------------------------------------------------------------------


def listen(folder, *command):
    outer, (inner, programs) = server(), socket.socketpair()
    program = subprocess.Popen(command, pass_fds=[programs.fileno()], env=dict(os.environ, PMI_FD=str(programs.fileno())))
    programs.close()
    selector = selectors.DefaultSelector()
    selector.register(inner, selectors.EVENT_READ, ("C", Messages(), outer))
    selector.register(outer, selectors.EVENT_READ, ("S", Messages(), inner))
    with open(os.path.join(folder, os.environ["PMI_RANK"]), "w") as log:
        while True:
            for key, _ in selector.select():
                who, messages, to = key.data
                more = key.fileobj.recv(65536)
                for text in messages.add(more):
                    print(json.dumps([who, text]), file=log)
                    if text.startswith("cmd=finalize-response"): # 15: it is waited for
                        assert not select.select([inner], [], [], 0.05)[0], "closed before the response"
                if more:
                    to.sendall(more)
                else:
                    print(json.dumps([f"{who} end", messages.bytes.decode()]), file=log)
                    selector.unregister(key.fileobj)
                    if who == "S":
                        to.shutdown(socket.SHUT_WR)
                    else: # the server, if it still runs, has lost its client
                        return program.wait()


sys.exit(raw() if sys.argv[1] == "raw" else listen(*sys.argv[2:]))
