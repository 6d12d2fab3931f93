# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Claims of docs/tutorial-provider.md that test_docs.py does not check: what the traces show, and that
seeds find the mistake of sim-run-broken and no other one."""

import os
import subprocess
import sys

import jacquard
import pytest

sys.path.insert(0, str(jacquard.ROOT / "tests/unit"))
import trace_check

SCENARIO = jacquard.ROOT / "scenarios/gni/simultaneous.yaml"
BROKEN = jacquard.build_directory() / "bin/sim-run-broken"
EXAMPLES = jacquard.ROOT / "docs/examples"
MS = 1000000  # of a trace's time


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    return trace_check.compile_schema(jacquard.ROOT / "sim/engine/perfetto_trace.proto", tmp_path_factory.mktemp("schema"))


@pytest.fixture(scope="module")
def collect(tmp_path_factory):
    """The tutorial's programs, by name."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("collect", "collect_patient"):
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{jacquard.ROOT}/stack/pmi2/include", EXAMPLES / f"{name}.c",
                        "-o", folder / name, f"-L{jacquard.build_directory()}/lib/pmi", "-lpmi2", "-lfabric"], check=True)
    return lambda name: {"jobs.collect.program": str(folder / name)}


def events(schema, path):
    """{(line, track): [(time in ns, name)]}, for slices their beginning."""
    trace, names, tracks, found = schema.Trace(), {}, {}, {}
    trace.ParseFromString(path.read_bytes())
    for packet in trace.packet:
        names.update((name.iid, name.name) for name in packet.interned_data.event_names)
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            tracks[track.uuid] = (tracks.get(track.parent_uuid, (None, ""))[1], track.name)
        event = packet.track_event
        if packet.HasField("track_event") and event.type in (trace_check.BEGIN, trace_check.INSTANT):
            found.setdefault(tracks[event.track_uuid], []).append((packet.timestamp, names[event.name_iid]))
    return found


def times(found, line, track, name):
    return [time for time, what in found.get((line, track), []) if what == name]


def test_what_the_trace_of_the_hang_shows(schema, collect, tmp_path):
    path = tmp_path / "hang.pftrace"
    result = jacquard.run(EXAMPLES / "collect_hang.yaml", set=collect("collect"), options=["--trace", str(path)])
    found = events(schema, path)
    ends = [times(found, f"node {node}", f"collect.{node} (API)", "end")[0] for node in range(128)]
    after = {node: [t for t in times(found, f"node {node}", "SMSG", "send") if 50 * MS < t < 70 * MS] for node in (9, 100)}

    assert result.exit_code == 1 and all(62.7 * MS < end < 63.2 * MS for end in ends)
    assert 45 * MS < max(t for t, _ in found["node 0", "RX"] if t < 70 * MS) < 50.1 * MS
    complete = times(found, "node 9", "RX", "complete")
    assert len([t for t in complete if t < 50 * MS]) > 200
    assert not [t for t in complete if 50.1 * MS < t < 70 * MS]
    assert 64 > len(after[9]) > len(after[100]) > 0


def test_the_mended_program_bears_what_the_other_does_not(collect):
    loss = {"faults": "[{at: aries.packet, do: drop, probability: 1.0e-4}]"}
    for name, holds in (("collect", False), ("collect_patient", True)):
        runs = jacquard.run(EXAMPLES / "collect.yaml", set={**loss, **collect(name)}, options=["--seeds", "5-8"]).data["runs"]
        assert [run["exit"] == 0 for run in runs] == 4 * [holds], name


def failing(program):
    runs = jacquard.run(SCENARIO, program=program, options=["--seeds", "1-200"]).data["runs"]
    assert len(runs) == 200
    return [run["seed"] for run in runs if run["exit"] != 0]


def test_gni_49_seeds_find_a_mistake_in_simultaneous_connects(schema, tmp_path):
    path = tmp_path / "simultaneous.pftrace"
    assert failing(jacquard.sim_run()) == []
    seeds = failing(BROKEN)
    assert 0 < len(seeds) < 100
    again = [jacquard.run(SCENARIO, seed=seeds[0], program=BROKEN, options=["--trace", str(path)]) for _ in range(2)]
    assert again[0].exit_code == 1 and again[0].digest == again[1].digest
    assert jacquard.run(SCENARIO, seed=seeds[0]).exit_code == 0

    missing = [int(text.split()[1].rstrip(":")) for text in again[0].data["jobs"][0]["texts"] if "no error was reported" in text]
    found = events(schema, path)
    nodes = [f"node {(0, 1, 40, 41)[rank]}" for rank in missing]
    assert len(nodes) >= 2 and again[0].metric("ranks.errors")["value"] == 0 and again[0].ledger["balanced"]
    for node in nodes:
        assert len(times(found, node, "datagram", "completed")) >= 3
        assert not [t for t in times(found, node, "SMSG", "send") if 5 * MS < t < 500 * MS]
