# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""lnet_selftest on simulated LNet: the messages of an RPC, and the data of all sizes."""
import pytest

NETWORK = {"tcp": "tcp(infiniband)", "o2ib": "o2ib(infiniband)"}


def run(scenario, driver, test, size, loop, check="full"):
    nodes = [{"name": name, "nodes": where, "networks": NETWORK[driver]}
             for name, where in (("console", "0"), ("servers", "1"), ("clients", "2"))]
    args = {"test": test, "servers": 1, "bytes": size, "check": check, "loop": loop, "concurrency": 1}
    result = scenario("lnet/selftest.yaml", set={
        "lnet.nodes": str(nodes).replace("'", '"'), "expect": "[]", "jobs.lst.nodes": "0-2",
        "jobs.lst.args": str(args).replace("'", '"')})
    assert result.ok, result.report()
    values = {name: metric.get("value") for name, metric in result.metrics.items()}
    assert values["lst.data_errors"] == 0 and values["lst.errors"] == 0
    assert values["lst.rpcs_sent"] == loop
    assert values["lnet.leaks.mds"] == values["lnet.leaks.mes"] == values["lnet.leaks.messages"] == 0
    # The console's queries go on while the RPCs do: one message there and one back.
    return [values[f"lnet.{group}.{count}"] - values.get("lst.queries", 0)
            for group in ("clients", "servers") for count in ("send_count", "recv_count")]


# Messages that a client sends and receives, and a server, for one RPC.
@pytest.mark.parametrize("driver, test, size, messages", [
    ("tcp", "ping", 4096, (1, 1, 1, 1)),
    ("o2ib", "ping", 4096, (1, 1, 1, 1)),
    ("tcp", "read", 65536, (1, 2, 2, 1)),
    ("o2ib", "read", 65536, (1, 2, 2, 1)),
    ("tcp", "write", 65536, (2, 2, 2, 2)),
    ("o2ib", "write", 65536, (1, 2, 2, 2)),  # the data needs no REPLY message
])
def test_lnet_100_messages_of_an_rpc(scenario, driver, test, size, messages):
    few, many = run(scenario, driver, test, size, 10), run(scenario, driver, test, size, 30)
    assert tuple((b - a) / 20 for a, b in zip(few, many)) == messages


@pytest.mark.parametrize("driver", ["tcp", "o2ib"])
@pytest.mark.parametrize("test", ["read", "write"])
@pytest.mark.parametrize("size", [8, 4096, 4104, 65536, 1 << 20])
def test_lnet_100_data_is_right(scenario, driver, test, size):
    run(scenario, driver, test, size, 3)
