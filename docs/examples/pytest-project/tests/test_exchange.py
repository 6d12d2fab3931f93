# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tests of a project that uses Jacquard. They need an installed Jacquard and pytest, and nothing else."""

import jacquard
import pytest


@pytest.mark.seeds(50)
def test_messages_survive_lost_packets(scenario):
    result = scenario("exchange.yaml")
    assert result.ok, result.report()


@pytest.mark.parametrize("size", [8, 512])
def test_small_messages_are_fast(scenario, size):
    result = scenario("exchange.yaml", set={"faults": "[]", "jobs.pingpong.args.bytes": size})
    assert result.metric("pingpong.latency")["p99"] < 2_000_000  # ps


def test_equal_seeds_give_equal_runs(scenario):
    first, second = (scenario("exchange.yaml", seed=3) for _ in range(2))
    assert jacquard.differences(first, second) == []
