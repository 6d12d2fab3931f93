# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Virtual channels over several networks with gateways (gateway.c): between processes, and in simulation."""

import json
import re
import struct
import sys
from pathlib import Path

import jacquard
import pytest

sys.path[:0] = [str(jacquard.ROOT / "tests/pmrun"), str(Path(__file__).parent)]
import launcher
from test_drivers import BIN, HOSTS, between_processes, compiled, lnet_on, simulate  # noqa: F401: a fixture

PAIRS = ["tcp,tcp", "tcp,lnet", "lnet,shm", "tcp,gni"]
EXTENSIONS = "networks=tcp({hosts}.$((PMI_RANK + 1))) accept_port=9955 lnet_transaction_timeout=4 lnet_retry_count=0"


def program_of(compiled):  # noqa: F811
    return compiled("gateway", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")


def run_case(compiled, folder, adapters, case, size, **variables):  # noqa: F811
    """Every rank must find that it is good."""
    if adapters == "simulated":
        result, lines = simulate(program_of(compiled), case, size=size, folder=folder, variables={"MAD_ADAPTERS": "gni,lnet"} | variables, **lnet_on(size))
        assert result.exit_code == 0, result.report()
    else:
        lines = between_processes(program_of(compiled), case, size=size, fabric="gni" in adapters, MAD_ADAPTERS=adapters, **variables)
    assert lines == [case] * size


@pytest.mark.parametrize("size", [5, 7])
@pytest.mark.parametrize("adapters", [*PAIRS, "simulated"])
def test_mad_104_every_mode_and_size(compiled, tmp_path, adapters, size):  # noqa: F811
    """In order for each pair, through one gateway (5 ranks) and two (7)."""
    run_case(compiled, tmp_path, adapters, "modes", size)


@pytest.mark.parametrize("adapters", ["tcp,lnet", "simulated"])
def test_mad_104_short_packets(compiled, tmp_path, adapters):  # noqa: F811
    run_case(compiled, tmp_path, adapters, "modes", 5, MAD_FORWARD_MTU="1000", MAD_FORWARD_DEPTH="1")


def test_mad_104_headers_on_the_wire(compiled, tmp_path):  # noqa: F811
    """The gateway's packets, as LNet sends them over TCP: 200 messages of four bytes from rank 0 to rank 4, each with an end."""
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(json.dumps({"name": "wire", **{name: entry for name, entry in lnet_on(5).items() if entry is not None},
                                    "jobs": [{"name": "job", "nodes": "0-4", "program": str(program_of(compiled)), "argv": ["flow"],
                                              "env": {"MAD_ADAPTERS": "gni,lnet"}}]}))
    capture = tmp_path / "wire.pcapng"
    result = jacquard.run(scenario, options=[f"--pcap={capture}"])
    assert result.exit_code == 0, result.report()
    sent = capture.read_bytes()
    for number in range(200):  # length, source, destination; group, first, end, kind; the data
        assert sent.count(struct.pack("<III4BI", 4, 0, 4, 0, 1, 0, 0, number)) == 1
    assert sent.count(struct.pack("<III4B", 0, 0, 4, 0, 0, 1, 0)) == 200
    assert sent.count(struct.pack("<III4B", 8, 4, 0, 0, 0, 4, 0)) == 50  # eight of 16 packets are acknowledged at a time


@pytest.mark.parametrize("adapters", [*PAIRS, "simulated"])
def test_flow_control(compiled, tmp_path, adapters):  # noqa: F811
    """A sender waits for a receiver that is late, with one packet in flight and with the usual number."""
    run_case(compiled, tmp_path, adapters, "flow", 5)
    run_case(compiled, tmp_path, adapters, "flow", 5, MAD_FORWARD_DEPTH="1")


@pytest.mark.parametrize("adapters", ["tcp,lnet", "simulated"])
def test_wrong_messages(compiled, tmp_path, adapters):  # noqa: F811
    run_case(compiled, tmp_path, adapters, "wrong", 5)


@pytest.mark.parametrize("adapters", ["tcp,tcp", "tcp,lnet", "lnet,shm", "simulated"])
def test_mad_25_mad_104_a_violation(compiled, tmp_path, adapters):  # noqa: F811
    """The sender of a long block does not wait for a receiver that refuses it, through a gateway and directly; other connections get on."""
    run_case(compiled, tmp_path, adapters, "violation", 5, MAD_CHECK="2")


CONFIGURATION = """
networks : ({ name : first; hosts : node; dev : tcp; }, { name : second; hosts : node; dev : shm; });
application : { name : gateway; networks : {
  channels : ({ name : one; net : first; ranks : 0..2; }, { name : two; net : second; ranks : (2, 3, 4); }, { name : three; net : first; ranks : (4..6); });
  vchannels : { name : all; channels : (one, two, three); }; }; };
"""


def test_mad_85_virtual_channels_of_a_configuration(compiled, tmp_path):  # noqa: F811
    (tmp_path / "virtual.cfg").write_text(CONFIGURATION)
    lines = between_processes(program_of(compiled), "modes", size=7, MAD_CONF=str(tmp_path / "virtual.cfg"))
    assert lines == ["modes"] * 7


@pytest.mark.parametrize("adapters", ["tcp,tcp", pytest.param("tcp,lnet", marks=pytest.mark.slow)])
def test_a_gateway_is_killed(compiled, adapters):  # noqa: F811
    """Each side learns that the other one cannot be reached (7: MAD_EPEER), and goes on by itself."""
    script = f"""LNET_OPTIONS="{EXTENSIONS.format(hosts=HOSTS)}" exec "$@" """
    done = launcher.run("-n", 5, "-disable-auto-cleanup", "/bin/sh", "-c", script, "sh", program_of(compiled), "killed",
                        env=launcher.environment(MAD_ADAPTERS=adapters))
    assert sorted(done.stdout.splitlines()) == ["0: code 7", "1: from rank 0", "3: code 7", "4: code 7"], done


@pytest.mark.parametrize("variable", ["MAD_FORWARD_MTU", "MAD_FORWARD_DEPTH"])
def test_mad_80_parameters_that_differ(tmp_path, variable):
    script = tmp_path / "differ"
    script.write_text(f'#!/bin/sh\n{variable}=$((PMI_RANK % 2 + 1)) exec "{BIN}/mad_test"\n')
    script.chmod(0o755)
    done = launcher.run("-n", 3, script)
    assert done.returncode != 0 and re.search(r"FAILURE: rank 1 has .* rank 0 has", done.stderr)


def bandwidth(folder, nodes, adapters):
    """Of blocks of 1 MiB from the first rank to the last one, in bytes per second."""
    scenario = {"name": "forward", "networks": [{"name": "aries", "preset": "mini2", "profile": "xc40_hsw"},
                                                {"name": "infiniband", "topology": "single-switch", "nodes": 8, "link_rate_GBps": 6.4}],
                "lnet": {"nodes": [{"nodes": "0-7", "networks": "o2ib(infiniband)"}]},
                "jobs": [{"name": "job", "nodes": nodes, "workload": "mad_forward", "env": {"MAD_ADAPTERS": adapters},
                          "args": {"bytes": "1MiB", "messages": 40, "pairs": "ends"}}]}
    file = folder / "forward.yaml"
    file.write_text(json.dumps(scenario))
    result = jacquard.run(file)
    assert result.exit_code == 0, result.report()
    return result.metric("job.bandwidth")["p50"]


def test_mad_104_bandwidth_through_a_gateway(tmp_path):
    """At least 80 % of that of the slower network."""
    hops = [bandwidth(tmp_path, "0-1", adapters) for adapters in ("gni", "lnet")]
    for adapters in ("gni,lnet", "lnet,gni"):
        assert bandwidth(tmp_path, "0-2", adapters) >= 0.8 * min(hops)
