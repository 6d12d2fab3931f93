# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""m0_net in clusters: nodes that crash, and processes that end without closing anything, in each flavour of its LNet transport."""

import jacquard
import pytest

SCENARIO = """
name: m0
seed: {seed}
fabric: {{name: eth0, topology: single-switch, nodes: 3, link_rate_GBps: 1.25, link_latency: 500ns}}
lnet:
  nodes: [{{name: all, nodes: 0-2, networks: tcp(eth0)}}]
jobs:
  - {{name: ping, nodes: 0-2, ranks_per_node: 2, workload: m0_ping, args: {{loops: 40, bytes: 64KiB, buffers: 40, {more}}}}}
{faults}
"""


def run(tmp_path, more, faults="", seed=9):
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO.format(seed=seed, more=more, faults=faults))
    return jacquard.run(path)


@pytest.mark.parametrize("flavour", ["kernel", "user", "batched"])
@pytest.mark.parametrize("time", ["10us", "300us", "370us", "888us", "3ms"])
def test_a_node_crashes(tmp_path, flavour, time):
    """The clients on it die; the others end, as does the server. TCP gives up connections to the node that their owner has closed."""
    result = run(tmp_path, f"flavour: {flavour}", f"faults: [{{at: node, do: crash, node: 1, time: {time}}}]")
    assert result.exit_code == jacquard.FAILED and result.data["outcome"] == "failed", result.report()
    assert [(job["killed"], job["running"]) for job in result.data["jobs"]] == [(2, 0)]
    assert result.ledger["balanced"], result.report()


@pytest.mark.parametrize("flavour", ["user", "batched"])
def test_driver_calls_are_the_same_each_time(tmp_path, flavour):
    """m0-163, for one scenario: the same digest, which time spent in crossings is part of."""
    first, second = (run(tmp_path, f"flavour: {flavour}") for _ in range(2))
    assert first.exit_code == second.exit_code == jacquard.OK, first.report()
    assert first.data["digest"] == second.data["digest"]
    assert first.metrics["ping.driver_calls"] == second.metrics["ping.driver_calls"]


def test_batches_need_fewer_driver_calls(tmp_path):
    single = run(tmp_path, "flavour: user").metrics["ping.driver_calls"]["value"]
    batched = run(tmp_path, "flavour: batched").metrics["ping.driver_calls"]["value"]
    kernel = run(tmp_path, "flavour: kernel").metrics["ping.driver_calls"]["value"]
    assert kernel == 0 and batched < 0.9 * single, (kernel, batched, single)


@pytest.mark.parametrize("seed", range(1, 6))
def test_processes_leave_everything_to_the_kernel(tmp_path, seed):
    result = run(tmp_path, "flavour: user, leave: true", seed=seed)
    assert result.exit_code == jacquard.OK, result.report()
    assert result.metrics["lnet.leaks.mds"]["value"] == 0


@pytest.mark.parametrize("time", [700, 900, 1100, 1300, 1500, 1700, 1900, 2100])
def test_a_process_ends_at_any_instant(tmp_path, time):
    """Also in the middle of a call of the driver, which is then completed: the kernel releases everything, and nobody waits for ever."""
    result = run(tmp_path, f"flavour: user, dies: {time}us, retries: 1, timeout: 10ms", seed=time)
    assert result.exit_code == jacquard.FAILED and result.data["outcome"] == "failed", result.report()
    assert result.ledger["balanced"], result.report()
    for what in ("mes", "mds", "eqs"):
        assert result.metrics[f"lnet.leaks.{what}"]["value"] == 0
