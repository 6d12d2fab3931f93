# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""F1 carries under load what F2 carries: the experiment of docs/network-experiments.md, "F1 beside F2", with few seeds."""

import sys

import jacquard
import pytest

sys.path.insert(0, str(jacquard.ROOT / "harness"))
import network_plots  # noqa: E402

SEEDS = (1, 2)


# The default run takes the patterns and modes on which F1 and F2 differ most.
DEFAULT = [("uniform", "adaptive0"), ("adversarial", "adaptive0")]


@pytest.mark.parametrize("pattern,routing", [
    pytest.param(pattern, routing, marks=[] if (pattern, routing) in DEFAULT else [pytest.mark.full])
    for pattern in network_plots.PATTERNS for routing in network_plots.COMPARED])
def test_mean_throughput_is_within_15_percent(pattern, routing):
    case = (pattern, routing, network_plots.WINDOW)
    pairs = network_plots.compared([case], SEEDS)[case]
    assert abs(network_plots.ratio_of_means(pairs) - 1) <= network_plots.TOLERANCE, pairs
