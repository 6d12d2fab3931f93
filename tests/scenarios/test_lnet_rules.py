# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What fault rules of LNet have in scenarios only: fractions of a second, a count, a window of time, a seed of their own."""

import json
import subprocess

import jacquard
import pytest

SIM_RUN = jacquard.build_directory() / "bin/sim-run"

SCENARIO = """
name: rules
seed: 7
fabric: {{name: ethernet, topology: single-switch, nodes: 4}}
limits: {{no_progress: 1000s}}
lnet:
  nodes:
    - {{nodes: 0-3, networks: tcp(ethernet)}}
  rules:
    - {{name: this, nodes: 0-3, {rule}}}
jobs:
  - {{name: peers, nodes: 0-3, workload: lnet_put, args: {{bytes: 4KiB, messages: 100}}}}
"""


def run(tmp_path, rule, *arguments):
    (tmp_path / "rules.yaml").write_text(SCENARIO.format(rule=rule))
    done = subprocess.run([SIM_RUN, tmp_path / "rules.yaml", "--json", *arguments], capture_output=True, text=True, timeout=300)
    result = json.loads(done.stdout)
    return result, {name: metric.get("value", metric) for name, metric in result["metrics"].items()}


def test_each_node_drops_its_count(tmp_path):
    _, metrics = run(tmp_path, "do: drop, rate: 5, message: PUT, count: 3")
    assert metrics["lnet.dropped.this"] == 12


def test_a_window_that_is_over_before_the_first_message(tmp_path):
    _, metrics = run(tmp_path, "do: drop, rate: 1, until: 1ns")
    assert metrics.get("lnet.dropped.this", 0) == 0 and metrics["peers.lost"] == 0


def test_hold_delays_by_less_than_a_second(tmp_path):
    result, _ = run(tmp_path, "do: delay, rate: 10, message: PUT, hold: 30ms")
    latency = result["metrics"]["peers.put_latency"]
    assert 30 * 10**9 <= latency["max"] < 120 * 10**9 and latency["min"] < 10**9


def test_the_seed_of_a_rule_is_not_that_of_the_run(tmp_path):
    """Each node has its own sequence from the seed, and a repeated run is the same one."""
    one, _ = run(tmp_path, "do: drop, rate: 10, seed: 4")
    again, _ = run(tmp_path, "do: drop, rate: 10, seed: 4")
    other, _ = run(tmp_path, "do: drop, rate: 10, seed: 5")
    assert one["digest"] == again["digest"] != other["digest"]


def test_connections_are_booked_and_none_is_left(tmp_path):
    """Three connections between each pair of nodes at least, with an end at both nodes."""
    result, metrics = run(tmp_path, "do: drop, rate: 50")
    book = next(book for book in result["ledger"]["books"] if book["book"] == "lnet.connection")
    assert book["opened"] == book["delivered"] >= 3 * 2 * 6 and metrics["lnet.leaks.connections"] == 0


@pytest.mark.parametrize("network, states", [
    ("tcp", {"connecting", "acceptor request", "HELLO", "open"}), ("o2ib", {"connecting", "established"})])
def test_the_trace_has_the_states_of_connections(tmp_path, network, states):
    """A track of each node, whose slices are in the trace only: the digest is that of a run without one."""
    change = f"lnet.nodes.0.networks={network}(ethernet)"
    traced, _ = run(tmp_path, "do: drop, rate: 50", "--set", change, "--trace", str(tmp_path / "trace"))
    plain, _ = run(tmp_path, "do: drop, rate: 50", "--set", change)
    assert traced["digest"] == plain["digest"]
    listing = subprocess.run([jacquard.build_directory() / "bin/jacquard", "trace", "show", tmp_path / "trace"], capture_output=True,
                             text=True, timeout=300, check=True).stdout
    lines = [line for line in listing.splitlines() if "LNet connections" in line]
    assert lines and all(any(state in line for line in lines) for state in states)
    assert any("10.0.0.2@" in line for line in lines)
