# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The probability of a fault is that of each packet: messages of 64 KiB meet it as often at F0 and F1, where packets travel
together, as at F2."""

import math
import re

import jacquard
import pytest

PROBABILITY = 2e-4
PACKETS = 64 * 1024 // 64
MESSAGES = 8 * 7 * 6
SCENARIO = """
name: strikes
fabric: {{preset: mini2, fidelity: {fidelity}}}
jobs: [{{name: blocks, nodes: 0-7, workload: alltoall_put, args: {{bytes: 64KiB, rounds: 6}}}}]
faults: [{{label: poison, at: {at}, do: corrupt, kind: request, probability: {probability}}}]
"""


def run(folder, fidelity, at, probability=PROBABILITY, seed=1):
    path = folder / f"{fidelity}.yaml"
    path.write_text(SCENARIO.format(fidelity=fidelity, at=at, probability=probability))
    return jacquard.run(path, options=["--seed", str(seed)]).data


def failed(folder, fidelity, at, seeds):
    """Attempts to send a message that had a damaged packet, of all seeds."""
    return sum(run(folder, fidelity, at, seed=seed)["metrics"]["aries.errors"]["value"] for seed in seeds)


@pytest.mark.parametrize("at", ["net.packet", "aries.packet"])
def test_long_messages_are_hit_equally_often_at_every_fidelity(at, tmp_path):
    seeds = (1, 2)
    chance = 1 - (1 - PROBABILITY) ** PACKETS
    messages = MESSAGES * len(seeds)
    hits = {fidelity: failed(tmp_path, fidelity, at, seeds) for fidelity in ("F0", "F1", "F2")}
    # The workload repeats a message until it arrives: failures have a geometric distribution.
    mean, deviation = messages * chance / (1 - chance), math.sqrt(messages * chance) / (1 - chance)
    assert all(abs(count - mean) < 3 * deviation for count in hits.values()), (hits, mean)


def test_probability_zero_hits_nothing_and_one_hits_every_chunk(tmp_path):
    never, = run(tmp_path, "F1", "net.packet", probability=0)["faults"]
    always, = run(tmp_path, "F1", "net.packet", probability=1)["faults"]
    assert never["fired"] == 0 and never["seen"] > 0
    assert always["fired"] == always["seen"]


def test_a_fault_of_a_chunk_names_its_packet(tmp_path):
    fault, = run(tmp_path, "F1", "net.packet")["faults"]
    hits = fault["injected"]
    assert hits and all(1 <= hit["packet"] <= hit["packets"] <= 64 for hit in hits)
    assert len({hit["packet"] for hit in hits}) > 10
    assert all(re.search(rf", hit in packet {hit['packet']} of {hit['packets']}\b", hit["text"]) for hit in hits)
