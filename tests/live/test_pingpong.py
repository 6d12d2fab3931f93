# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""libfabric's own tools, as Debian has them, over gni between ordinary processes: fi_pingpong in two "shells" that know nothing
of each other but a host and a port, fi_info, fi_strerror."""

import re
import socket
import subprocess
from pathlib import Path

import pytest
from live import fabric, report, together

SIZES = {"64", "1k", "16k", "64k", "1m", "6m"}  # some of them
ROUNDS = 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    """Without connecting: that would be taken for the client."""
    wanted = f":{port:04X}"
    lines = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return any(fields[1].endswith(wanted) and fields[3] == "0A" for fields in lines)


def pingpong(kind, mode, size, nodes=(None, None)):
    port = free_port()
    common = ["fi_pingpong", "-p", "gni", "-e", kind, "-m", mode, "-I", str(ROUNDS), "-c", "-S", size]
    with fabric() as environment:
        places = [environment if node is None else dict(environment, JACQUARD_NODE=str(node)) for node in nodes]
        # fi_pingpong's client tries once to reach the server.
        results = together([[*common, "-B", port], [*common, "-P", port, "127.0.0.1"]], places, before_next=lambda: listens(port))
    assert [code for code, _ in results] == [0, 0], report("fi_pingpong", results)
    return [output for _, output in results]


def rows(output):
    """Size → messages, of the table that it prints."""
    return {fields[0]: fields[1] for fields in map(str.split, output.splitlines()) if fields and re.fullmatch(r"\d+[km]?", fields[0])}


# Not dgram with tags: there fi_pingpong itself posts a receive without, at an endpoint for which it asked for tags only.
@pytest.mark.parametrize("kind, mode", [("rdm", "msg"), ("rdm", "tagged"), ("msg", "msg"), ("msg", "tagged"), ("dgram", "msg")])
def test_gni_20_gni_160_fi_pingpong_all_sizes(kind, mode):
    for output in pingpong(kind, mode, "all"):
        found = rows(output)
        assert SIZES <= set(found) and set(found.values()) == {str(ROUNDS)}, output


@pytest.mark.parametrize("nodes", [(0, 0), (0, 5)])
def test_gni_20_fi_pingpong_where(nodes):
    for output in pingpong("rdm", "tagged", "65536", nodes):
        assert list(rows(output)) == ["64k"], output


def test_gni_160_fi_info():
    with fabric() as environment:
        (code, output), = together([["fi_info", "-p", "gni"]], [environment])
    assert code == 0 and "provider: gni\n" in output, output
    assert re.findall(r"provider: gni\n.*?type: (FI_EP_\w+)", output, re.DOTALL)[:3] == ["FI_EP_RDM", "FI_EP_DGRAM", "FI_EP_MSG"], output
    # Nothing but its table: no warning, no trace of a fabric.
    assert all(re.match(r"provider: |    \w+: ", line) for line in output.splitlines()), output


def test_gni_1_fi_info_lists_gni():
    with fabric() as environment:
        (code, output), = together([["fi_info", "-l"]], [environment])
    assert code == 0 and "gni:\n" in output, output


def test_gni_160_fi_strerror():
    done = subprocess.run(["fi_strerror", "259"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "Error available"), done
