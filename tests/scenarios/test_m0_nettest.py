# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The self-test of m0_net: echoed messages and pairs of bulk transfers, on two hosts and on the loopback, with and without loss."""

import jacquard
import pytest

SCENARIO = """
name: nettest
seed: 14
fabric: {{name: ib0, topology: single-switch, nodes: 4, link_rate_GBps: 6.4, link_latency: 150ns}}
lnet:
  nodes: [{{name: all, nodes: 0-3, networks: {network}(ib0)}}]
{rules}
jobs:
{jobs}
"""
RULE = "  rules: [{{name: loss, do: drop, nodes: 0-3, rate: 100, message: {message}, portal: 40}}]"
ROUTED = """
name: nettest
seed: 15
networks:
  - {{name: aries, preset: mini2}}
  - {{name: infiniband, topology: single-switch, attached: 20-31, link_rate_GBps: 6.4, link_latency: 150ns}}
lnet:
  nodes:
    - {{name: compute, nodes: 0-15, networks: gni(aries), routes: "o2ib [20-23]@gni"}}
    - {{name: routers, nodes: 20-23, networks: "gni(aries),o2ib(infiniband)", forwarding: enabled, start: true}}
    - {{name: servers, nodes: 24-31, networks: o2ib(infiniband), routes: "gni 10.4.0.[21-24]@o2ib"}}
jobs:
  - {{name: job, nodes: "24,25,26,0-3", workload: m0_nettest, args: {{servers: 2, messages: 100, bytes: 64KiB, {more}}}}}
"""
GNI = """
name: nettest
seed: 15
fabric: {{name: aries, preset: mini2}}
lnet:
  nodes: [{{name: all, nodes: 0-15, networks: gni(aries)}}]
jobs:
  - {{name: job, nodes: 0-6, workload: m0_nettest, args: {{servers: 2, messages: 100, bytes: 64KiB, {more}}}}}
"""
TCP = """
name: nettest
seed: 15
fabric: {{name: eth0, topology: single-switch, nodes: 7, link_rate_GBps: 1.25, link_latency: 500ns}}
lnet:
  nodes: [{{name: all, nodes: 0-6, networks: tcp(eth0)}}]
jobs:
  - {{name: job, nodes: 0-6, workload: m0_nettest, args: {{servers: 2, messages: 100, bytes: 64KiB, {more}}}}}
"""
PLACES = {"kernel": "nodes: 0-2, workload: m0_nettest, args: {{flavour: kernel, {more}}}",
          "user": "nodes: 0-2, workload: m0_nettest, args: {{flavour: user, {more}}}",
          "batched": "nodes: 0-2, workload: m0_nettest, args: {{flavour: batched, {more}}}",
          "loop-user": "nodes: 3, ranks_per_node: 3, workload: m0_nettest, args: {{flavour: user, loopback: true, {more}}}",
          "loop-batched": "nodes: 3, ranks_per_node: 3, workload: m0_nettest, args: {{flavour: batched, loopback: true, {more}}}"}
PING_SIZES = {"1": 100, "100": 100, "4096": 100, "64KiB": 100, "1MiB": 20}
BULK_SIZES = {"1": 60, "4096": 60, "1MiB": 20}
FIELDS = ("sent", "received", "bulk_sent", "bulk_received", "transfers")


def run(tmp_path, jobs, rules="", network="o2ib"):
    """Each job begins when the one before it has ended."""
    text = "".join(f"  - {{name: {name}, start: {100 * number}s, {PLACES[place].format(more=more)}}}\n"
                   for number, (name, place, more) in enumerate(jobs))
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO.format(jobs=text, rules=rules, network=network))
    result = jacquard.run(path)
    assert result.exit_code == jacquard.OK and result.ledger["balanced"], result.report()
    return result


def counts(result, job):
    """(role, counter) → value; (role, counter, "failed" or "bad") → value."""
    values = {}
    for role in ("clients", "servers"):
        for field in FIELDS:
            values[role, field] = result.metrics[f"{job}.{role}_{field}"]["value"]
            values[role, field, "failed"] = result.metrics[f"{job}.{role}_{field}_failed"]["value"]
            values[role, field, "bad"] = result.metrics[f"{job}.{role}_{field}_bad"]["value"]
        values[role, "lost"] = result.metrics[f"{job}.{role}_lost"]["value"]
        values[role, "timed_out"] = result.metrics[f"{job}.{role}_timed_out"]["value"]
    return values


def others_are_zero(values, *known):
    return {key: value for key, value in values.items() if value != 0 and key not in known} == {}


def ping(tmp_path, place, concurrency, messages):
    jobs = [(f"b{size}", place, f"bytes: {size}, concurrency: {concurrency}, messages: {number}") for size, number in messages.items()]
    result = run(tmp_path, jobs)
    for size, number in messages.items():
        values = counts(result, f"b{size}")
        for role in ("clients", "servers"):
            assert values[role, "sent"] == values[role, "received"] == values[role, "transfers"] == number
        assert others_are_zero(values, *[(role, field) for role in ("clients", "servers") for field in ("sent", "received", "transfers")])
        assert result.metrics[f"b{size}.rtt_max"]["value"] >= result.metrics[f"b{size}.rtt_average"]["value"] >= \
            result.metrics[f"b{size}.rtt_min"]["value"] > 0
    return result


@pytest.mark.parametrize("concurrency", [1, 8, 64])
@pytest.mark.parametrize("place", PLACES)
def test_m0_158_e2e_14_ping(tmp_path, place, concurrency):
    """Every message is echoed, and none is wrong."""
    ping(tmp_path, place, concurrency, {size: number for size, number in PING_SIZES.items() if size != "1MiB" or concurrency < 64})


@pytest.mark.full
@pytest.mark.parametrize("concurrency", [1, 8, 64])
@pytest.mark.parametrize("place", PLACES)
def test_m0_158_e2e_14_ping_of_10000_messages(tmp_path, place, concurrency):
    ping(tmp_path, place, concurrency, dict.fromkeys(PING_SIZES, 10000))


def bulk(tmp_path, place, concurrency, messages):
    jobs = [(f"b{size}x{pairs}", place, f"test: bulk, bytes: {size}, concurrency: {concurrency}, pairs: {pairs}, messages: {number}")
            for size, number in messages.items() for pairs in (1, 4)]
    result = run(tmp_path, jobs)
    for size, number in messages.items():
        for pairs in (1, 4):
            values = counts(result, f"b{size}x{pairs}")
            for role in ("clients", "servers"):
                assert values[role, "bulk_sent"] == values[role, "bulk_received"] == values[role, "transfers"] == number
            batch = min(pairs, concurrency)
            assert values["clients", "sent"] == values["servers", "received"] == -(-number // batch)
            assert others_are_zero(values, ("clients", "sent"), ("servers", "received"),
                                   *[(role, field) for role in ("clients", "servers") for field in ("bulk_sent", "bulk_received", "transfers")])


@pytest.mark.parametrize("concurrency", [1, 8, 64])
@pytest.mark.parametrize("place", PLACES)
def test_m0_158_e2e_15_bulk(tmp_path, place, concurrency):
    """Every pair comes back with the same bytes."""
    bulk(tmp_path, place, concurrency, {size: number for size, number in BULK_SIZES.items() if size != "1MiB" or concurrency < 64})


@pytest.mark.full
@pytest.mark.parametrize("concurrency", [1, 8, 64])
@pytest.mark.parametrize("place", PLACES)
def test_m0_158_e2e_15_bulk_of_10000_pairs(tmp_path, place, concurrency):
    bulk(tmp_path, place, concurrency, dict.fromkeys(BULK_SIZES, 10000))


@pytest.mark.parametrize("flavour", ["kernel", "user", "batched"])
def test_m0_158_e2e_14_lost_messages(tmp_path, flavour):
    """One message in a hundred is dropped, on its way to the server or back: each is a message without an echo, and its sender sees no
    error."""
    result = run(tmp_path, [("ping", flavour, "messages: 2000, timeout: 100ms")], RULE.format(message="PUT"))
    values, dropped = counts(result, "ping"), result.metrics["lnet.dropped.loss"]["value"]
    assert dropped > 20 and values["clients", "lost"] == dropped
    assert values["clients", "sent"] == 2000 and values["clients", "received"] == 2000 - dropped
    assert values["clients", "transfers"] == 2000 - dropped and values["servers", "sent"] == values["servers", "received"]
    assert others_are_zero(values, ("clients", "lost"), *[(role, field) for role in ("clients", "servers") for field in ("sent", "received", "transfers")])


@pytest.mark.parametrize("flavour", ["kernel", "user", "batched"])
@pytest.mark.parametrize("message", ["GET", "REPLY"])
def test_m0_158_e2e_15_lost_reads(tmp_path, flavour, message):
    """The server's read times out, and so does the buffer that it would have written; without a GET also the buffer that is read. Over
    TCP, where a GET and its REPLY are messages; the driver of InfiniBand answers a GET that was dropped with an error."""
    more = "test: bulk, messages: 1000, timeout: 100ms, tick: 50ms"
    rule = RULE.format(message=message).replace(", portal: 40", "") if message == "REPLY" else RULE.format(message=message)
    result = run(tmp_path, [("bulk", flavour, more)], rule, "tcp")
    values, dropped = counts(result, "bulk"), result.metrics["lnet.dropped.loss"]["value"]
    unread = dropped if message == "GET" else 0
    assert dropped == 10
    assert values["servers", "bulk_received", "failed"] == values["servers", "timed_out"] == dropped
    assert values["clients", "bulk_received", "failed"] == dropped and values["clients", "bulk_sent", "failed"] == unread
    assert values["clients", "timed_out"] == dropped + unread
    assert values["clients", "transfers"] == values["servers", "transfers"] == 1000 - dropped
    assert values["clients", "transfers", "failed"] == values["servers", "transfers", "failed"] == dropped
    assert {key[2] for key, value in values.items() if len(key) == 3 and value != 0} == {"failed"}
    assert values["clients", "lost"] == values["clients", "sent", "failed"] == values["servers", "bulk_sent", "failed"] == 0


@pytest.mark.parametrize("flavour", ["kernel", "user", "batched"])
@pytest.mark.parametrize("network", [TCP, GNI, ROUTED], ids=["tcp", "gni", "routed"])
def test_m0_160_each_network(tmp_path, network, flavour):
    """Two servers and four clients; the networks that the other tests do not have, and routers between two networks."""
    for more in ("test: ping", "test: bulk, pairs: 4"):
        path = tmp_path / "scenario.yaml"
        path.write_text(network.format(more=f"flavour: {flavour}, {more}"))
        result = jacquard.run(path)
        assert result.exit_code == jacquard.OK and result.ledger["balanced"], result.report()
        values = counts(result, "job")
        assert values["clients", "transfers"] == values["servers", "transfers"] == 400
        assert not any(value for key, value in values.items() if len(key) == 3) and values["clients", "lost"] == 0


def test_driver_calls_of_a_message(tmp_path):
    """Immediately, each of the four operations of a message and its echo is a call of the driver; in batches they need fewer, and in the
    kernel none."""
    jobs = [(f"{flavour}{number}", flavour, f"concurrency: 16, messages: {number}")
            for flavour in ("kernel", "user", "batched") for number in (1000, 3000)]
    result = run(tmp_path, jobs)
    calls = {flavour: (result.metrics[f"{flavour}3000.driver_calls"]["value"] - result.metrics[f"{flavour}1000.driver_calls"]["value"]) / 2000
             for flavour in ("kernel", "user", "batched")}
    assert calls["kernel"] == 0 and 4 <= calls["user"] < 8 and calls["batched"] < 0.8 * calls["user"], calls


@pytest.mark.parametrize("more", ["bytes: 64KiB", "test: bulk, bytes: 64KiB, pairs: 4"])
def test_m0_163_equal_statistics(tmp_path, more):
    """Two runs with one seed have the same statistics, times included, and the same digest."""
    results = [run(tmp_path, [("job", flavour, f"messages: 300, timeout: 100ms, tick: 50ms, {more}") for flavour in ("user",)],
                   RULE.format(message="PUT")) for _ in range(2)]
    assert results[0].metrics == results[1].metrics and results[0].data["digest"] == results[1].data["digest"]
