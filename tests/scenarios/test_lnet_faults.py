# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Faults on LNet's messages: what the ledger and the record of the fault say of them."""

import jacquard

SELFTEST = """
name: equal_headers
seed: 217
fabric: {topology: single-switch, nodes: 5, fidelity: F0, name: machine}
limits: {virtual_time: 2000s, no_progress: 60s}
jobs:
  - {name: selftest, workload: lnet_selftest, placement: {policy: linear, count: 5},
     args: {servers: 3, bytes: 1, concurrency: 12, distribute: 1, span: 1, loop: 1}}
lnet:
  nodes: [{name: all, nodes: 0-4, networks: tcp(machine)}]
  rules: [{name: rule, do: drop, nodes: 0-1, rate: 18}]
"""

TWO_SENDERS = """
name: two_senders
fabric: {topology: single-switch, nodes: 3, fidelity: F0, name: machine}
jobs:
  - {name: put, workload: lnet_put, placement: {policy: linear, count: 2}, args: {bytes: 4KiB, messages: 10}}
  - {name: raw, workload: raw_messages, placement: {policy: linear, count: 3}, args: {bytes: 1, messages: 100, window: 1, root: 0}}
lnet:
  nodes: [{name: all, nodes: 0-2, networks: tcp(machine)}]
faults: [{at: net.packet, do: delay, delay: 1us, probability: 0.5}]
"""


def run(tmp_path, text):
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    return jacquard.run(path)


def test_a_dropped_message_is_not_confused_with_others_of_equal_header(tmp_path):
    result = run(tmp_path, SELFTEST)
    assert result.metrics["lnet.dropped.rule"]["value"] > 0
    assert result.ledger["balanced"], result.report()


def test_only_transfers_of_tcp_are_described_as_tcp(tmp_path):
    result = run(tmp_path, TWO_SENDERS)
    assert result.exit_code == jacquard.OK, result.report()
    text = str(result.data["faults"])
    assert "TCP" in text and text.count("TCP") < result.data["faults"][0]["fired"]
