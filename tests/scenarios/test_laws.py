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


def test_atomics_on_one_word_are_served_in_turn(scenario):
    """Ranks with many atomics in flight are limited by their CPUs, until the unit of the one NIC is: 120 million/s."""
    def rate(ranks):
        result = scenario("workloads/amo_rate.yaml", set={
            "jobs.counter.nodes": f"0-{ranks - 1}", "jobs.pairs.nodes": "56-63", "jobs.counter.args.window": 32,
            "jobs.counter.args.iterations": 400, "expect": "[]"})
        return mean(result, "counter.rate")

    alone = rate(4)
    assert rate(16) > 0.99 * alone
    assert 48 * rate(48) < 0.4 * 48 * alone
    assert 110e6 < 48 * rate(48) < 121e6


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
