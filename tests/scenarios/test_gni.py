# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The libfabric provider in whole simulations: what its scenarios expect holds with every seed, faults included; and
libfabric's own tools find it."""

import shutil

import jacquard
import pytest

SCENARIOS = sorted((jacquard.ROOT / "scenarios/gni").glob("**/*.yaml"))
OTHER = "2-2"  # most files have seed 1, and are tests by themselves
MANY = 500
TIMEOUT = 7200  # seconds: a busy machine takes long for many seeds


def broken(path, seeds):
    """Runs that do not hold, and jobs that found something wrong although their exit code was expected."""
    lines = []
    for run in jacquard.run(path, options=["--seeds", seeds], timeout=TIMEOUT).data["runs"]:
        texts = [run["error"]] if "error" in run else list(run["problems"]) if run["exit"] else []
        texts += [text for job in run.get("jobs", []) if job["failures"] for text in job["texts"]]
        lines += [f"seed {run['seed']}: {text}" for text in texts]
    return lines


def ids(path):
    return str(path.relative_to(jacquard.ROOT / "scenarios/gni").with_suffix(""))


@pytest.mark.parametrize("path", SCENARIOS, ids=ids)
def test_scenarios_hold(path):
    assert SCENARIOS
    lines = broken(path, OTHER)
    assert not lines, "\n".join(lines[:10])


@pytest.mark.full
@pytest.mark.parametrize("path", SCENARIOS, ids=ids)
def test_scenarios_hold_with_many_seeds(path):
    lines = broken(path, f"1-{MANY}")
    assert not lines, "\n".join(lines[:10])


def tool(scenario, name, *arguments):
    """What a program of libfabric prints on a simulated node."""
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    argv = ", ".join(f'"{argument}"' for argument in arguments)
    result = scenario("quickstart.yaml", set={
        "jobs": f"[{{name: tool, program: {program}, argv: [{argv}], nodes: 0}}]", "expect": "[]"})
    assert result.data["exit"] == 0, result.report()
    return result.stderr


def test_gni_160_fi_info_lists_it(scenario):
    assert "gni:" in tool(scenario, "fi_info", "-l").splitlines()


def test_gni_160_fi_info_describes_it(scenario):
    for kind in ("RDM", "MSG", "DGRAM"):
        lines = [line.strip() for line in tool(scenario, "fi_info", "-p", "gni", "-t", f"FI_EP_{kind}").splitlines()]
        assert "provider: gni" in lines and "domain: /sys/class/gni/kgni0" in lines and f"type: FI_EP_{kind}" in lines


def test_gni_160_fi_strerror(scenario):
    assert "Resource temporarily unavailable" in tool(scenario, "fi_strerror", "11")
