# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Properties of every valid scenario, over generated ones. JACQUARD_EXAMPLES=N draws N of each (default 25 to 100, the
same ones in every run); with N given they are drawn anew each time."""

import os

import jacquard
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jacquard import generate

EXAMPLES = os.environ.get("JACQUARD_EXAMPLES")
CHECKED = settings(max_examples=int(EXAMPLES or 100), derandomize=not EXAMPLES, deadline=None, database=None,
                   print_blob=False, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture,
                                                            HealthCheck.data_too_large])


def run(path, scenario, **options):
    path.write_text(generate.as_yaml(scenario))
    result = jacquard.run(path, timeout=600, **options)
    assert result.exit_code in (0, 1, 2, 3), result.report()  # anything else is a crash
    # Some rules join several fields (a workload that needs an even number of ranks, say): refused in one line.
    if result.exit_code == jacquard.BAD_INPUT:
        assert result.stderr.count("\n") == 1 and f"{path}:" in result.stderr, result.report()
        assume(False)
    return result


def explained(result):
    """A run that did not go well says why."""
    return result.exit_code == jacquard.OK or result.data.get("problems") or result.stderr


@pytest.fixture
def path(tmp_path):
    return tmp_path / "generated.yaml"


@CHECKED
@given(scenario=generate.scenarios(with_faults=False))
def test_aries_62_without_faults_everything_arrives(path, scenario):
    result = run(path, scenario)
    assert result.exit_code == jacquard.OK, result.report() + "\n" + path.read_text()
    assert result.ledger["balanced"], result.report() + "\n" + path.read_text()
    packets = [result.metrics.get(f"aries.{kind}_packets") for kind in ("request", "response")]
    assert packets[0] == packets[1], result.report() + "\n" + path.read_text()


@CHECKED
@given(scenario=generate.scenarios())
def test_with_faults_the_ledger_balances_or_the_failure_is_explained(path, scenario):
    result = run(path, scenario)
    # Whatever the network does, uGNI may lose nothing silently.
    assert not result.ledger["violations"] or result.exit_code == jacquard.STUCK, result.report() + "\n" + path.read_text()
    assert explained(result), result.report() + "\n" + path.read_text()


@settings(CHECKED, max_examples=int(EXAMPLES or 25))
@given(scenario=generate.scenarios())
def test_the_same_twice(path, scenario):
    first = run(path, scenario)
    second = run(path, scenario, randomise=False)
    assert not jacquard.differences(first, second), path.read_text()


STOPPED = ("deadlock", "time-limit")


def without_polls(result):
    """What must not depend on whether idle polls are simulated. Nothing can happen any more in a deadlock, and polls go on until the limit."""
    return [(run["digest"], *((run["virtual_time_ps"], run["outcome"]) if run["outcome"] not in STOPPED else ()),
             [(fault["seen"], fault["fired"], fault.get("injected")) for fault in run.get("faults", [])])
            for run in result.data.get("runs", [result.data])]


# A lost packet is given up after seconds, in which ranks would poll billions of times.
SOON = {"limits.virtual_time": "2ms"}


@settings(CHECKED, max_examples=int(EXAMPLES or 40))
@given(scenario=generate.scenarios())
def test_parked_polls_change_nothing(path, scenario):
    parked, polled = (run(path, scenario, set={"limits.parking": how, **SOON}) for how in ("own", "off"))
    assert without_polls(parked) == without_polls(polled), path.read_text()


TWINS = {
    "put_get_random": {"operations": st.integers(1, 20), "window": st.integers(1, 4)},
    "smsg_random": {"messages": st.integers(1, 30), "bytes": st.integers(8, 2000)},
    "mad_exchange": {"messages": st.integers(1, 3), "bytes": st.integers(64, 30000)},
    "fi_pingpong": {"bytes": st.integers(8, 30000)},
}


@st.composite
def twins(draw):
    """Jobs that do the same on nodes that are placed in the same way: their ranks act at equal times. They share the rules of
    the faults, which count the packets of all."""
    workload = draw(st.sampled_from(sorted(TWINS)))
    arguments = {name: draw(values) for name, values in TWINS[workload].items()}
    ranks = draw(st.integers(1, 2))
    jobs = [{"name": f"twin{i}", "workload": workload, "nodes": f"{4 * i}-{4 * i + 1}", "ranks_per_node": ranks, "args": arguments}
            for i in range(draw(st.integers(2, 4)))]
    rule = {"at": "aries.packet", **draw(st.sampled_from([{"do": "drop"}, {"do": "delay", "delay": "1us"}])), "probability": 0.05,
            "skip": draw(st.integers(0, 5)), "count": draw(st.integers(0, 3))}
    return {"name": "twins", "fabric": {"topology": "dragonfly", "groups": 1, "chassis": 1, "slots": 4,
                                        "fidelity": draw(st.sampled_from(["F0", "F1", "F2"]))},
            "jobs": jobs, "faults": [rule]}


@settings(CHECKED, max_examples=int(EXAMPLES or 40))
@given(scenario=twins())
def test_ranks_that_act_at_equal_times_keep_their_order(path, scenario):
    parked, polled = (run(path, scenario, set={"limits.parking": how, **SOON}) for how in ("own", "off"))
    assert without_polls(parked) == without_polls(polled), path.read_text()


@CHECKED
@given(scenario=generate.scenarios(), data=st.data())
def test_damaged_input_is_refused_in_one_line(path, scenario, data):
    """A field that does not exist, anywhere in the document."""
    mappings = []

    def collect(value):
        if isinstance(value, dict):
            mappings.append(value)
            for child in value.values():
                collect(child)
        elif isinstance(value, list):
            for child in value:
                collect(child)

    collect(scenario)
    data.draw(st.sampled_from(mappings))["no_such_field"] = 1
    path.write_text(generate.as_yaml(scenario))
    result = jacquard.run(path)
    assert result.exit_code == jacquard.BAD_INPUT, result.report()
    assert result.stderr.count("\n") == 1 and "no_such_field" in result.stderr and f"{path}:" in result.stderr
