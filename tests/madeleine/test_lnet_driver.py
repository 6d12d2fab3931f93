# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The LNet driver of Madeleine: what is its own. What every driver must do is in test_drivers.py."""

import json
import re
import sys
from pathlib import Path

import jacquard
import pytest

sys.path[:0] = [str(jacquard.ROOT / "tests/pmrun"), str(Path(__file__).parent)]
import launcher
from test_drivers import BIN, HOSTS, ON_NODE, between_processes, compiled, lnet_on, program_of, simulate  # noqa: F401: a fixture

LNET = {"MAD_ADAPTERS": "lnet"}
MIB = 1 << 20


def run_workload(folder, workload, ranks, *, network="o2ib", variables=None, expect=(), settings=None, rules=None, **args):
    """On a cluster with LNet alone."""
    nodes = {"nodes": f"0-{ranks - 1}", "networks": f"{network}(switch)"} | ({"options": settings} if settings else {})
    scenario = {"name": "lnet", "fabric": {"name": "switch", "topology": "single-switch", "nodes": ranks, "link_rate_GBps": 6.4, "link_latency": "150ns"},
                "limits": {"no_progress": "1000s"}, "lnet": {"nodes": [nodes]} | ({"rules": rules} if rules else {}),
                "jobs": [{"name": "job", "nodes": f"0-{ranks - 1}", "workload": workload, "args": args, "env": LNET | (variables or {})}],
                "expect": [{"ledger": "balanced"}, *expect]}
    file = folder / f"{workload}.yaml"
    file.write_text(json.dumps(scenario))
    result = jacquard.run(file)
    assert result.exit_code == 0, result.report()
    return result


def value(result, name):
    return result.metric(name)["value"]


@pytest.mark.parametrize("bytes, pieces", [(4097, 1), (MIB, 1), (MIB + 1, 2), (3 * MIB + 5, 4), (40 * MIB, 40)])
def test_mad_75_pieces(tmp_path, bytes, pieces):
    """A block of one message there and back is fetched in pieces of 1 MiB, each by one GET."""
    result = run_workload(tmp_path, "mad_ping", 2, bytes=bytes, iterations=1)
    gets = next(book for book in result.ledger["books"] if book["book"] == "lnet.get")
    assert gets["opened"] == 2 * pieces
    assert value(result, "lnet.drop_count") == 0 and value(result, "lnet.leaks.mds") == 0


@pytest.mark.parametrize("network", ["tcp", "o2ib"])
def test_mad_74_reordered_messages(tmp_path, network):
    """Every third message is late by a second, so others overtake it. All are delivered in order, and none finds no buffer."""
    late = {"name": "late", "do": "delay", "nodes": "0-2", "rate": 3, "latency": 1, "message": ["PUT"], "portal": 48}
    result = run_workload(tmp_path, "mad_exchange", 3, network=network, rules=[late], channels=2, messages=30, bytes=3000,
                          variables={"MAD_CHECK": "2"})
    assert value(result, "job.missing") == 0 and value(result, "job.failures") == 0
    assert value(result, "lnet.drop_count") == 0


def test_mad_87_nodes_crash(compiled, tmp_path):  # noqa: F811
    result, lines = simulate(program_of(compiled), "deserted", size=3, folder=tmp_path, variables=LNET, **lnet_on(3) | {
        "faults": [{"label": f"crash{node}", "at": "node", "do": "crash", "node": node, "time": f"{8 + node}ms"} for node in (1, 2)],
        "expect": [{"outcome": "failed"}, {"job": "job", "exit": 137}]})
    assert "nobody, code 7" in lines, lines


@pytest.mark.slow
def test_mad_87_processes_are_killed(compiled):  # noqa: F811
    """Ranks 1 and 2 are killed, and probes of rank 0 fail. What LNet had not sent yet is lost with a process."""
    node = ["/bin/sh", "-c", f"""
        export LNET_OPTIONS="networks=tcp({HOSTS}.$((PMI_RANK + 1))) accept_port=9955 lnet_transaction_timeout=4 lnet_retry_count=0"
        trap "" USR1 # by which the process manager tells of a death
        exec "$@" """, "sh"]
    done = launcher.run("-n", 3, "-disable-auto-cleanup", *node, program_of(compiled), "deserted", env=launcher.environment(**LNET, DRIVERS_DESERT="1"))
    assert "nobody, code 7\n" in done.stdout, done


def test_two_processes_on_one_node(tmp_path, compiled):  # noqa: F811
    """Both see it when the first channel opens."""
    result, _ = simulate(program_of(compiled), "order", size=2, folder=tmp_path, variables=LNET, **lnet_on(1) | {
        "jobs": [{"name": "job", "nodes": "0", "ranks_per_node": 2, "program": str(program_of(compiled)), "argv": ["order"], "env": LNET}]})
    reported = "\n".join(result.problems)
    assert result.exit_code != 0
    assert all(f"{start}: two processes are on one node of LNet" in reported for start in ("FAILURE", "job.1: FAILURE")), result.report()


def test_no_lnet(tmp_path, compiled):  # noqa: F811
    """A node without LNet has no adapter of it, and neither has a process whose network does not exist."""
    result, _ = simulate(program_of(compiled), "order", size=2, folder=tmp_path, variables=LNET)
    assert result.exit_code != 0 and "FAILURE: not supported" in "\n".join(result.problems), result.report()
    done = launcher.run("-n", 2, *ON_NODE, BIN / "mad_test", env=launcher.environment(MAD_ADAPTERS="lnet:o2ib"))
    assert done.returncode != 0 and "FAILURE: not supported" in done.stderr


def test_a_deadlock_is_named(compiled, tmp_path):  # noqa: F811
    """Both ranks send a long block, and none of them is ready to receive."""
    result, _ = simulate(program_of(compiled), "deadlock", folder=tmp_path, variables=LNET, **lnet_on(2))
    assert result.exit_code != 0
    assert "job.0 waits for the receiver of a block of rank 1 on Madeleine's channel ch1" in "\n".join(result.problems), result.report()


def test_mad_41_one_seed_one_run(tmp_path):
    runs = [run_workload(tmp_path, "mad_exchange", 4, messages=5).digest for _ in range(2)]
    assert runs[0] == runs[1]


def test_mad_35_two_networks_of_one_process(compiled):  # noqa: F811
    """Two adapters, each on a network of its own."""
    node = ["/bin/sh", "-c", f'LNET_OPTIONS="networks=tcp({HOSTS}.$((PMI_RANK + 1))),tcp1({HOSTS}.$((PMI_RANK + 101))) accept_port=9955" exec "$@"', "sh"]
    done = launcher.run("-n", 2, *node, program_of(compiled), "adapters", env=launcher.environment(MAD_ADAPTERS="lnet:tcp,lnet:tcp1"))
    assert done.returncode == 0 and done.stdout.splitlines() == ["adapters"] * 2, done


SIZES = [4 << shift for shift in range(0, 21, 2)] + [2048, 8192, 32768]


def latencies(folder, **variables):
    """By size, in seconds."""
    return [run_workload(folder, "mad_ping", 2, variables=variables, bytes=size, iterations=3).metric("job.latency")["p50"] for size in SIZES]


def test_mad_99_choice_of_the_transfer_method(tmp_path):
    forced = [latencies(tmp_path, MAD_LNET_EAGER_MAX=1 << 30), latencies(tmp_path, MAD_LNET_EAGER_MAX=0)]
    chosen = latencies(tmp_path)
    for size, value, *others in zip(SIZES, chosen, *forced, strict=True):
        assert value <= 1.05 * min(others), (size, value, others)
