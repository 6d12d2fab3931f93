# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What is known of a dragonfly with adaptive routing, whatever the numbers: docs/network-experiments.md has the sums."""

import pytest

ADVERSARIAL = "workloads/traffic_adversarial.yaml"
UNIFORM = "workloads/traffic.yaml"
GROUPS, LINKS, NODES = 5, 8, 32  # of traffic*.yaml: groups, blue links of a pair of groups, nodes of a group
BLUE = 2.857e9  # PUT payload, B/s


def mean(result, metric):
    assert result.data, result.report()
    return result.metrics[metric]["mean"]


def traffic(scenario, name, **args):
    settings = {f"jobs.t.args.{key}": value for key, value in args.items()}
    return scenario(name, set={**settings, "expect": "[]"})


def test_adaptive_beats_minimal_on_adversarial_traffic(scenario):
    """Minimal: the links of one pair of groups. With the ways by other groups, which take two blue links each, up to
    GROUPS / 2 times as much. Detours are chosen by loads that lie behind, so not all of it is reached."""
    minimal = mean(traffic(scenario, ADVERSARIAL, routing="min_hash"), "t.total_bandwidth")
    adaptive = mean(traffic(scenario, ADVERSARIAL, routing="adaptive0"), "t.total_bandwidth")
    ceiling = GROUPS * LINKS * BLUE

    assert 0.75 * ceiling < minimal < 1.03 * ceiling
    assert 1.6 < adaptive / minimal < GROUPS / 2


def test_adaptive_without_detours_is_bound_as_minimal_is(scenario):
    result = traffic(scenario, ADVERSARIAL, routing="adaptive3")
    assert mean(result, "t.total_bandwidth") < 1.03 * GROUPS * LINKS * BLUE
    assert result.metrics["net.non_minimal"]["value"] == 0


def test_minimal_wins_on_uniform_low_load(scenario):
    low = {"load": 0.02, "bytes": "512", "window": 16}
    latency = {routing: mean(traffic(scenario, UNIFORM, routing=routing, **low), "t.latency")
               for routing in ("min_hash", "adaptive0", "adaptive3", "nmin_hash")}
    assert latency["min_hash"] * 1.2 < latency["nmin_hash"]
    assert latency["adaptive0"] * 1.2 < latency["nmin_hash"]
    assert latency["adaptive3"] <= latency["min_hash"]


@pytest.mark.parametrize("load", [0.1, 0.15])
def test_strong_bias_is_good_for_small_messages(scenario, load):
    """Half of the nodes send 4 KiB messages at random, the other half 8 bytes now and then."""
    def small(routing):
        return mean(scenario("workloads/traffic_background.yaml", set={
            "jobs.p.args.routing": routing, "jobs.t.args.load": load, "expect": "[]"}), "p.latency")

    assert small("adaptive3") <= small("adaptive0")


def rate_of_atomics(scenario, nodes):
    result = scenario("workloads/amo_rate.yaml", set={
        "jobs.counter.nodes": f"0-{nodes - 1}", "jobs.counter.ranks_per_node": 4, "jobs.counter.args.fetch": False,
        "jobs.counter.args.window": 32, "jobs.counter.args.iterations": 300, "jobs.pairs.nodes": "56-63",
        "expect": "[]"})
    return mean(result, "counter.rate") * 4 * nodes


def test_atomics_on_one_word_are_served_in_turn(scenario):
    """Ranks with many atomics in flight are limited by their CPUs, until the unit of the one NIC is: 400 million/s."""
    assert rate_of_atomics(scenario, 4) > 1.9 * rate_of_atomics(scenario, 2)
    assert 390e6 < rate_of_atomics(scenario, 32) < 405e6


@pytest.mark.full
def test_atomics_on_one_word_are_served_in_turn_on_56_nodes(scenario):
    assert 390e6 < rate_of_atomics(scenario, 56) < 405e6


def test_a_measurement_of_changing_rates_is_refused(scenario):
    """Queues that still fill: the two halves of the measurement differ."""
    result = traffic(scenario, "workloads/traffic_complement.yaml", warmup="2us")
    assert result.exit_code == 1
    assert "in the first half of the measurement" in result.report(), result.report()


def test_a_growing_backlog_is_refused(scenario):
    """More is offered than the network carries: what is under way grows until the windows are full."""
    result = traffic(scenario, UNIFORM, load=0.3, window=200, warmup="30us", duration="60us", drift=0.3)
    assert result.exit_code == 1
    assert "messages were under way when the measurement began" in result.report(), result.report()


@pytest.mark.parametrize("length", [{"duration": "20us"}, {"duration": "0", "messages": 7}])
def test_fewer_messages_than_the_window_are_refused(scenario, length):
    result = traffic(scenario, "workloads/traffic_incast.yaml", **length)
    assert result.exit_code == 1
    assert "messages were measured, fewer than the 248 of all windows" in result.report(), result.report()


def test_an_incast_is_bound_by_the_receiving_nic(scenario):
    """One flit per 1.25 ns, five flits a packet of 64 bytes: 10.24 GB/s. A sample may count a chunk more at its end than at its beginning."""
    result = traffic(scenario, "workloads/traffic_incast.yaml", duration="1ms")
    assert 0.995 * 10.24e9 < mean(result, "t.total_bandwidth") <= 10.24e9 + 4096 / 1e-3


# Three groups of 384 nodes, 144 blue links between each two: minimal paths of uniform traffic carry 3.2 GB/s per node.
LARGE = {"fabric": "{groups: 3, chassis: 6, slots: 16, cables: 36}", "jobs.t.nodes": "0-1151", "expect": "[]",
         "jobs.t.args.window": 32, "jobs.t.args.warmup": "60us", "jobs.t.args.duration": "60us", "jobs.t.args.drift": 1}


def large(scenario, fidelity, **args):
    result = scenario(UNIFORM, set={**LARGE, "fabric.fidelity": fidelity, "jobs.t.args.routing": "adaptive0",
                                    **{f"jobs.t.args.{key}": value for key, value in args.items()}})
    return mean(result, "t.total_bandwidth") / 1152 / 1e9


def test_unbiased_detours_do_not_fill_a_large_machine(scenario):
    """F2 delivers all of 2.5 GB/s per node, with 2 % of the packets on detours."""
    assert large(scenario, "F1", load=0.25) > 2.45


@pytest.mark.full
@pytest.mark.parametrize("pattern", ["uniform", "adversarial"])
def test_fidelities_saturate_at_the_same_rate_on_1152_nodes(scenario, pattern):
    rates = [large(scenario, level, load=0.6, pattern=pattern) for level in ("F1", "F2")]
    assert abs(rates[0] / rates[1] - 1) < 0.1, rates


# Where software changes from FMA to BTE (published: cray-mpich and foMPI 1 KiB, UCX 2 KiB, Open MPI and GASNet 4 KiB,
# libfabric 8 KiB): below the lowest of them FMA is better by any measure, above the highest BTE is.
LOWEST, HIGHEST = 1024, 8192


@pytest.fixture
def units(scenario):
    """Latency (s) and rate of a stream (B/s) of PUTs to the next router by FMA and by BTE, of a size."""
    def measure(size):
        latency = scenario("workloads/put_latency.yaml", set={
            "jobs.put.nodes": "0-4/4", "jobs.bulk.nodes": "8-12/4", "jobs.put.args.bytes": size,
            "jobs.bulk.args.bytes": size, "expect": "[]"})
        stream = scenario("workloads/put_bandwidth.yaml", set={
            "jobs.bte.nodes": "0-4/4", "jobs.fma.nodes": "8-12/4", "jobs.bte.args.bytes": size,
            "jobs.fma.args.bytes": size, "jobs.bte.args.iterations": 300, "jobs.fma.args.iterations": 300, "expect": "[]"})
        return ([mean(latency, f"{job}.latency") / 1e12 for job in ("put", "bulk")],
                [mean(stream, f"{job}.bandwidth") for job in ("fma", "bte")])
    return measure


@pytest.mark.parametrize("size", [8, 64, 256, LOWEST])
def test_fma_is_better_below_the_crossover(units, size):
    (fma_time, bte_time), (fma_rate, bte_rate) = units(size)
    assert fma_time < bte_time
    assert fma_rate > bte_rate


@pytest.mark.parametrize("size", [HIGHEST, 16384, 65536, 1 << 20])
def test_bte_is_better_above_the_crossover(units, size):
    (fma_time, bte_time), (fma_rate, bte_rate) = units(size)
    assert bte_time < fma_time
    assert bte_rate > fma_rate


def test_streams_change_over_before_single_transfers(units):
    """A stream hides what BTE takes to begin: it crosses at some 3.6 KiB, latency at some 7 KiB."""
    (fma_time, bte_time), (fma_rate, bte_rate) = units(5120)
    assert fma_time < bte_time
    assert bte_rate > fma_rate
    between = units(3072)
    assert between[1][0] > between[1][1]
