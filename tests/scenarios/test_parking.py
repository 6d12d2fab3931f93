# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every shipped scenario with its idle polls parked, and with each of them simulated: the same digest, the same end."""

import jacquard
import pytest

FOLDER = jacquard.ROOT / "scenarios"

# In these, ranks poll for seconds of virtual time until a packet or a peer is given up: billions of polls. They are
# compared up to a time of their traffic instead, soon after the fault; the slow set goes on for ten times as long.
WAIT_FOR_SECONDS = {
    "faults/ce_node_down", "faults/ce_packet_drop", "faults/msgq_packet_drop", "faults/nic_hang", "faults/node_down",
    "faults/node_down_latency", "faults/node_down_pairs", "faults/packet_drop", "faults/quiesce", "faults/router_down",
    "mutations/drop", "mutations/flip", "mutations/msgq_drop", "mutations/msgq_flip", "quickstart",
}
SOON, LATER = "3ms", "30ms"


def name_of(path):
    return str(path.relative_to(FOLDER).with_suffix(""))


# The provider's ranks have helper threads, which share memory ahead of the world's clock: docs/internals/engine.md, Polling.
THREADED = {"gni", "validation/xc40-libfabric"}

SCENARIOS = sorted(path for path in FOLDER.rglob("*.yaml") 
                   if name_of(path) not in THREADED and name_of(path).split("/")[0] not in THREADED)


def outcome(path, parking, until):
    limits = {"limits.parking": parking} | ({} if until is None else {"limits.virtual_time": until})
    result = jacquard.run(path, set=limits)
    assert result.exit_code != jacquard.BAD_INPUT, result.report()
    runs = result.data.get("runs", [result.data])
    return result.exit_code, [(run["digest"], run["virtual_time_ps"]) for run in runs]


def test_the_table_names_scenarios():
    assert WAIT_FOR_SECONDS <= {name_of(path) for path in SCENARIOS}


@pytest.mark.slow
@pytest.mark.parametrize("path", SCENARIOS, ids=name_of)
def test_parking_changes_nothing(path):
    until = SOON if name_of(path) in WAIT_FOR_SECONDS else None
    assert outcome(path, "own", until) == outcome(path, "off", until)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(WAIT_FOR_SECONDS))
def test_parking_changes_nothing_later(name):
    path = FOLDER / f"{name}.yaml"
    assert outcome(path, "own", LATER) == outcome(path, "off", LATER)
