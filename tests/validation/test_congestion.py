# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The published rows of congestion hold, their scenarios are larger than the rows without odd results, and the page shows them."""

import sys

import jacquard
import pytest

sys.path.insert(0, str(jacquard.ROOT / "harness"))
import congestion  # noqa: E402
import validation  # noqa: E402


@pytest.fixture(scope="module")
def simulated():
    return validation.run_congestion()


@pytest.mark.full  # minutes; ./dev determinism tells whether one of these scenarios has changed
def test_four_of_five_rows_are_inside(simulated):
    problems = [row.problem for row in simulated if row.problem]
    assert not problems, problems[0]
    assert len(simulated) == 221
    outside = [f"{row.id} {row.what} {row.shape}: {row.simulated:.4g} instead of {row.published:.4g}"
               for row in simulated if not row.inside]
    assert congestion.holds(simulated), "\n".join([congestion.summary(simulated), *outside])


@pytest.mark.full
def test_the_page_shows_the_rows(simulated):
    page = validation.PAGE.read_text(encoding="utf-8")
    assert congestion.with_table(page, simulated, validation.number) == page, "./dev test validation --docs"


def test_every_row_has_the_same_tolerance_and_a_scenario():
    for row in congestion.rows():
        assert row.tolerance == 25, row.id
        assert (congestion.SCENARIOS / row.scenario).exists(), row.id
        assert row.expression and row.source, row.id


def test_no_row_is_tuned_alone():
    """Settings choose the experiment, never the machine or the software."""
    experiment = {"count", "ranks_per_node", "pattern", "bytes", "iterations", "warmup", "steps", "operation"}
    for row in congestion.rows():
        assert {item.split("=")[0].split(".")[-1] for item in row.settings.split()} <= experiment, row.id


def test_too_few_rows_inside_do_not_hold():
    wanted = congestion.rows()[:10]
    for row in wanted:
        row.simulated = row.published * 1.2
    assert congestion.holds(wanted)
    for row in wanted[:3]:
        row.simulated = row.published * 1.3
    assert not congestion.holds(wanted)
    for row in wanted[:3]:
        row.simulated, row.problem = row.published, "the ledger is broken"
    assert not congestion.holds(wanted)


def value(scenario, metric, nodes, ranks, **arguments):
    settings = {"jobs.m.placement.count": nodes, "jobs.m.ranks_per_node": ranks,
                **{f"jobs.m.args.{name}": argument for name, argument in arguments.items()}}
    result = jacquard.run(congestion.SCENARIOS / scenario, set=settings)
    assert result.ok, result.report()
    return result.metrics[f"m.{metric}"]["mean"]


def test_larger_random_rings_are_no_faster_and_collapse_no_more_than_links_do():
    rates = [value("archer-hpcc.yaml", "bandwidth", nodes, 1, pattern="random_ring", bytes=2000000, iterations=2)
             for nodes in (4, 16, 32)]
    assert rates[0] > 0.98 * rates[1], rates
    assert min(rates) > 0.5 * rates[0], rates


def test_random_access_gains_from_nodes_less_than_in_proportion():
    rates = [nodes * value("archer-hpcc.yaml", "updates", nodes, 24, pattern="random_access", updates=2000)
             for nodes in (2, 8, 16)]
    assert rates[0] < rates[1] < rates[2], rates
    assert rates[1] < 4 * rates[0] and rates[2] < 2 * rates[1], rates


@pytest.mark.parametrize("pattern, size, least, most", [
    # Bruck's algorithm moves half of all blocks in each of its rounds; a ring has a step for each rank.
    ("alltoall", 8, 1.3, 2.7), ("alltoall", 65536, 1.8, 2.7), ("allgather", 1024, 1.8, 2.3)])
def test_collectives_grow_with_the_number_of_ranks(pattern, size, least, most):
    times = [value("isambard-imb.yaml", "time", nodes, 16, pattern=pattern, bytes=size, iterations=1, warmup=0)
             for nodes in (8, 16)]
    assert least < times[1] / times[0] < most, times


def test_gets_in_both_directions_share_the_duplex_limit():
    """XC30: 12.5 GB/s in both directions together, 6.25 each way; a single GET is not limited by it."""
    ring = value("archer-hpcc.yaml", "bandwidth", 2, 1, pattern="natural_ring", bytes=2000000, iterations=3)
    single = value("archer-hpcc.yaml", "bandwidth", 2, 1, pattern="pingpong", bytes=2000000, iterations=3)
    assert 6.0e9 < ring <= 6.25e9
    assert single > 9.5e9
