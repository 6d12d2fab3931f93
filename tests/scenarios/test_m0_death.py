# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A process of two domains with three transfer machines each dies (E2E-10), in any call of the driver and at any instant. Others take its
addresses, its clients go on with them, and a second process of its node, which keeps LNet up on all nodes, is not disturbed."""

import random

import jacquard
import pytest

SCENARIO = """
name: death
seed: {seed}
{network}
jobs:
  - {{name: dies, nodes: 0-2, ranks_per_node: 3, workload: m0_ping, args: {{loops: 4, bytes: 128KiB, buffers: 10, machines: 6, flavour: {flavour}, retries: 40, timeout: 20ms, {how}}}}}
  - {{name: follows, nodes: 0-1, start: 40ms, workload: m0_ping, args: {{loops: 2, bytes: 128KiB, buffers: 10, machines: 6, flavour: {flavour}, serve: 1000ms, tmid: {tmid}}}}}
  - {{name: witness, nodes: 0-2, workload: m0_ping, args: {{loops: 40, bytes: 64KiB, buffers: 40, tmid: 30, flavour: user, serve: 2000ms}}}}
"""
SWITCH = """fabric: {{name: eth0, topology: single-switch, nodes: 3, link_rate_GBps: 1.25, link_latency: 500ns}}
lnet: {{nodes: [{{name: all, nodes: 0-2, networks: {}(eth0)}}]}}"""
ARIES = """fabric: {name: machine, topology: dragonfly, groups: 1, chassis: 1, slots: 1, profile: xc40_hsw, fidelity: F1}
lnet: {nodes: [{name: all, nodes: 0-2, networks: gni(machine)}]}"""
SERVER_CALLS, CLIENT_CALLS = 660, 60  # of a driver, if nobody dies
CLIENTS, LOOPS = 8, 4


def die(folder, how, flavour="user", seed=10, tmid=12, network=SWITCH.format("tcp")):
    """Clients that got the server's address repeat what it did not answer, at the follower: all their loops succeed. Clients without it
    do nothing."""
    path = folder / "scenario.yaml"
    path.write_text(SCENARIO.format(seed=seed, flavour=flavour, how=how, tmid=tmid, network=network))
    result = jacquard.run(path)
    assert result.exit_code == jacquard.OK and result.ledger["balanced"], f"{how}: {result.report()}"
    value = {name: result.metrics[name]["value"] for name in result.metrics if "value" in result.metrics[name]}
    assert all(value[f"lnet.leaks.{what}"] == 0 for what in ("mes", "mds", "eqs", "messages")), how
    assert (value["witness.active_received"], value["witness.failures"], value["witness.errors"]) == (80, 0, 0), how
    assert value["follows.errors"] == 0, how
    return value


def server_dies(folder, how, flavour="user", seed=10, **more):
    value = die(folder, how, flavour, seed, **more)
    assert value["dies.passive_sent"] in (0, CLIENTS * LOOPS) and value["dies.errors"] == 0, how
    return value["dies.retried"]


def client_dies(folder, how, flavour="user"):
    """The other clients do not notice. The server's operations for the dead one end, its reads perhaps with -ETIMEDOUT."""
    value = die(folder, f"victim: 1, {how}", flavour, tmid=40)
    assert value["dies.retried"] == 0 and value["dies.errors"] <= 1 and value["dies.passive_sent"] in ((CLIENTS - 1) * LOOPS, CLIENTS * LOOPS), how


def calls(numbers):
    return [f"exits: {number}, exits_after: {after}" for number in numbers for after in ("false", "true")]


@pytest.mark.parametrize("flavour", ["user", "batched"])
def test_m0_152_m0_158_e2e_10_the_server_dies_in_a_call(tmp_path, flavour):
    """Before and after each 55th call of the driver; in the middle of its work its clients have to repeat something."""
    retried = [server_dies(tmp_path, how, flavour) for how in calls(range(1, SERVER_CALLS, 55))]
    assert max(retried) >= CLIENTS and retried[0] == 0


@pytest.mark.parametrize("flavour", ["user", "batched"])
def test_m0_152_m0_158_e2e_10_a_client_dies_in_a_call(tmp_path, flavour):
    """With passive buffers, receive buffers and sends of its own."""
    for how in calls(range(1, CLIENT_CALLS, 12)):
        client_dies(tmp_path, how, flavour)


def test_m0_153_m0_158_e2e_10_the_server_dies_at_an_instant(tmp_path):
    """Also inside of a call, and while its threads wait for events."""
    chance = random.Random(10)
    for seed in range(20):
        server_dies(tmp_path, f"dies: {chance.randrange(1, 4000000)}ns", seed=seed)


@pytest.mark.parametrize("network", [SWITCH.format("o2ib"), ARIES], ids=["o2ib", "gni"])
def test_m0_153_m0_160_e2e_10_on_other_networks(tmp_path, network):
    chance = random.Random(11)
    for seed in range(6):
        server_dies(tmp_path, f"dies: {chance.randrange(1, 4000000)}ns", seed=seed, network=network)


@pytest.mark.full
@pytest.mark.parametrize("flavour", ["user", "batched"])
@pytest.mark.parametrize("part", range(10))
def test_m0_152_m0_158_e2e_10_each_call(tmp_path, part, flavour):
    for how in calls(range(1 + part, SERVER_CALLS, 10)):
        server_dies(tmp_path, how, flavour)
    for how in calls(range(1 + part, CLIENT_CALLS, 10)):
        client_dies(tmp_path, how, flavour)


@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_m0_153_m0_158_e2e_10_thousand_instants(tmp_path, part):
    chance = random.Random(1000 + part)
    for number in range(100):
        server_dies(tmp_path, f"dies: {chance.randrange(1, 6000000)}ns", chance.choice(["user", "batched"]), seed=100 * part + number)
