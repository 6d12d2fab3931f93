# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The pytest plugin. An installed Jacquard is found by pytest without any configuration.

    @pytest.mark.seeds(50)
    def test_loss_is_repaired(scenario):
        result = scenario("packet-loss.yaml", set={"fabric.fidelity": "F0"})
        assert result.ok, result.report()

`scenario` runs a file whose path is relative to that of the test. With the mark, the test runs once for each of the seeds 1 to 50. If
a test fails, the report page of its last failed run (or else of its last run) is kept."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

import pytest

from . import runner

SEEDS_MAX = 100_000
RUNS: pytest.StashKey[list[runner.Result]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("jacquard_reports", "folder of the report pages of failed tests, relative to the root", default="jacquard-reports")
    parser.getgroup("jacquard").addoption("--no-jacquard-reports", action="store_true", help="keep no report pages of failed tests")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "seeds(which): run the test's scenarios with each of these seeds: 50 is 1 to 50; or a list or range")


def seeds_of(mark: pytest.Mark, where: str) -> list[int]:
    if len(mark.args) != 1 or mark.kwargs:
        raise pytest.UsageError(f"{where}: seeds takes one argument: a number, a list or a range")
    which: int | Iterable[int] = mark.args[0]
    if isinstance(which, int) and not isinstance(which, bool):
        which = range(1, which + 1)
    try:
        seeds = list(which) if not isinstance(which, (str, bool)) else []
    except TypeError:
        seeds = []
    if not 1 <= len(seeds) <= SEEDS_MAX or not all(isinstance(seed, int) and 0 <= seed < 2**64 for seed in seeds):
        raise pytest.UsageError(f"{where}: seeds({mark.args[0]!r}): allowed: a number from 1 to {SEEDS_MAX}, or a list or range of seeds")
    return seeds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("seeds")
    if mark is None:
        return
    if "scenario_seed" not in metafunc.fixturenames:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: seeds is for tests with the fixture scenario")
    metafunc.parametrize("scenario_seed", seeds_of(mark, metafunc.definition.nodeid), ids=lambda seed: f"seed{seed}", indirect=True)


@pytest.fixture
def scenario_seed(request: pytest.FixtureRequest) -> int | None:
    """The seed of this run of a test that is marked with seeds; None without the mark."""
    return getattr(request, "param", None)


def find(name: str | Path, request: pytest.FixtureRequest) -> Path:
    """The file of a scenario: beside the test, else in the folder scenarios of the root."""
    places = [request.path.parent / name, request.config.rootpath / "scenarios" / name]
    for path in places:
        if path.is_file():
            return path
    raise FileNotFoundError(f"no scenario {name}: neither {places[0]} nor {places[1]}")


@pytest.fixture
def scenario(request: pytest.FixtureRequest, scenario_seed: int | None) -> Iterator[Callable[..., runner.Result]]:
    """scenario(file, seed=, set={path: value}, options=[...], timeout=...) runs it; see jacquard.run."""
    runs: list[runner.Result] = request.node.stash.setdefault(RUNS, [])
    program = runner.sim_run()
    if not program.exists():
        pytest.fail(f"no sim-run: {program} is not there, and none is on the PATH", pytrace=False)

    def run(name: str | Path, seed: int | None = None, **options: Any) -> runner.Result:
        result = runner.run(find(name, request), seed=scenario_seed if seed is None else seed, **options)
        # Only one of them may get a report page.
        if not runs or not result.ok or runs[-1].ok:
            runs[:] = [result]
        return result

    yield run


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    runs = item.stash.get(RUNS, [])
    if call.when != "call" or not report.failed or not runs:
        return
    text = f"reproduce: {shlex.join(part for part in runs[-1].command if part != '--json')}"
    if not item.config.getoption("--no-jacquard-reports") and runs[-1].data:
        folder = item.config.rootpath / item.config.getini("jacquard_reports")
        path = folder / (re.sub(r"[^\w.=-]+", "-", item.nodeid).strip("-")[-120:] + ".html")
        problem = keep(runs[-1], path)
        text += f"\nreport page: {problem or path}"
        if not problem:
            item.user_properties.append(("jacquard_report", str(path)))  # JUnit's XML has it
    report.sections.append(("jacquard", text))


def keep(run: runner.Result, path: Path) -> str:
    """Writes the report page. Returns "", or why there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of an earlier session
    except OSError as error:
        return f"none: {error}"
    problem = run.write_report(path)
    return f"none: {problem}" if problem else ""
