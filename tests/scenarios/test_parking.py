# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every shipped scenario with its idle polls parked, and with each of them simulated: the same digest, the same end."""

import jacquard
import pytest
from jacquard.scenario_files import DIGESTS, EXPECTED_EXITS

FOLDER = jacquard.ROOT / "scenarios"

# In these, ranks poll for seconds of virtual time until a packet or a peer is given up: billions of polls. They are
# compared up to a time of their traffic instead, soon after the fault; the slow set goes on for ten times as long.
WAIT_FOR_SECONDS = {
    "faults/ce_node_down", "faults/ce_packet_drop", "faults/msgq_packet_drop", "faults/nic_hang", "faults/node_down", "faults/node_reboot",
    "faults/node_down_latency", "faults/node_down_pairs", "faults/packet_drop", "faults/quiesce", "faults/router_down",
    "gni/datagrams_lost", "gni/faults/connects_late", "gni/faults/connects_lost", "gni/faults/crash_connecting", "gni/faults/delivery",
    "gni/faults/crash_eager", "gni/faults/crash_rendezvous", "gni/faults/crash_rma", "gni/faults/hang", "gni/faults/links",
    "gni/faults/lost_eager", "gni/faults/lost_rendezvous", "gni/faults/lost_rma", "gni/faults/queues", "gni/link_down",
    "gni/node_down", "gni/packets_lost", "gni/restart",
    "faults/link_down", "faults/net_packets", "madeleine/gateway_down", "madeleine/lost_packets", "madeleine/mpi_lost_packets", "madeleine/multiplexed_down", "madeleine/node_down", "packets/lost",
    "quickstart", "random/late_messages", "random/lost_messages",
}
SOON, LATER = "3ms", "30ms"


def name_of(path):
    return str(path.relative_to(FOLDER).with_suffix(""))


SCENARIOS = sorted(FOLDER.rglob("*.yaml"))

# Of the provider's scenarios, whose ranks have several threads, a sample is compared by default and all in the slow set.
SAMPLE = {
    "gni/alltoall", "gni/atomics", "gni/barrier", "gni/faults/crash_rma", "gni/few_registrations", "gni/multi_ep",
    "gni/packets_lost", "gni/pingpong", "gni/rma", "gni/simultaneous",
}

# These take longest, and smaller ones do the same.
LONG = {
    "lnet/calibration-tcp", "m0/death", "m0/nettest-bulk", "m0/xc-restart", "m0/xc-storage", "madeleine/all_to_all",
    "madeleine/lnet_all_to_all", "madeleine/tcp_all_to_all", "madeleine/via_lost_frames", "pmi/fence_storm",
}


def by_default(path):
    return name_of(path) not in LONG and (not name_of(path).startswith("gni/") or name_of(path) in SAMPLE)


def outcome(path, parking, until):
    limits = {"limits.parking": parking} | ({} if until is None else {"limits.virtual_time": until})
    result = jacquard.run(path, set=limits)
    assert result.exit_code != jacquard.BAD_INPUT, result.report()
    runs = result.data.get("runs", [result.data])
    return result.exit_code, [(run["digest"], run["virtual_time_ps"]) for run in runs]


def test_the_table_names_scenarios():
    assert WAIT_FOR_SECONDS | SAMPLE | LONG <= {name_of(path) for path in SCENARIOS}


def compare(path, until):
    assert outcome(path, "own", until) == outcome(path, "off", until)


# Of each scenario, a test checks that it has the recorded digest, with its polls parked. So a run in which each is simulated and that
# has this digest, too, did the same. If not, or if the scenario is compared up to another time, it runs with parked polls here.
@pytest.mark.slow
@pytest.mark.parametrize("path", filter(by_default, SCENARIOS), ids=name_of)
def test_parking_changes_nothing(path, pytestconfig):
    until = SOON if name_of(path) in WAIT_FOR_SECONDS else None
    polled = outcome(path, "off", until)
    recorded = (EXPECTED_EXITS.get(f"{name_of(path)}.yaml", 0), pytestconfig.stash[DIGESTS].get(str(path.relative_to(jacquard.ROOT))))
    if until is not None or (polled[0], " ".join(digest for digest, _ in polled[1])) != recorded:
        assert outcome(path, "own", until) == polled


@pytest.mark.full
@pytest.mark.parametrize("path", [path for path in SCENARIOS if not by_default(path)], ids=name_of)
def test_parking_changes_nothing_in_all_of_them(path):
    compare(path, SOON if name_of(path) in WAIT_FOR_SECONDS else None)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(WAIT_FOR_SECONDS))
def test_parking_changes_nothing_later(name):
    path = FOLDER / f"{name}.yaml"
    assert outcome(path, "own", LATER) == outcome(path, "off", LATER)
