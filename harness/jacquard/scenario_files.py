# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A pytest plugin: every file in scenarios/ is two tests (it holds; it is deterministic).

A project switches it on in its topmost conftest.py: pytest_plugins = ["jacquard.scenario_files"]. The setting jacquard_digests
names a CSV file with the columns scenario (its path from the root) and digest, which the digests are compared with, too."""

import csv

import pytest

from . import runner


DIGESTS = pytest.StashKey()


def pytest_addoption(parser):
    parser.addini("jacquard_digests", "table of the digests that scenarios must have, relative to the root", default="")


def pytest_configure(config):
    name = config.getini("jacquard_digests")
    if not name:
        config.stash[DIGESTS] = None
        return
    try:
        with (config.rootpath / name).open(newline="") as file:
            rows = csv.DictReader(line for line in file if not line.startswith("#"))
            config.stash[DIGESTS] = {row["scenario"]: row["digest"] for row in rows}
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise pytest.UsageError(f"jacquard_digests: {name}: {error!r}") from None


def scenarios_directory(config):
    return config.rootpath / "scenarios"


def pytest_sessionstart(session):
    # Under xdist the controller has printed it already.
    if not runner.sim_run().exists() and not hasattr(session.config, "workerinput"):
        raise pytest.UsageError(f"{runner.sim_run()} is not there: ./dev build, or run the tests by ./dev test")


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".yaml" and scenarios_directory(parent.config) in file_path.resolve().parents:
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    _result = None

    def result(self):
        """That of one run, which both tests look at if the same process runs them."""
        if self._result is None:
            self._result = runner.run(self.path)
        return self._result

    def collect(self):
        yield Holds.from_parent(self, name="holds")
        yield Deterministic.from_parent(self, name="deterministic")


# Scenarios that show a failure, and the exit code that sim-run ends with.
EXPECTED_EXITS = {"stuck.yaml": 3}


class ScenarioFailure(Exception):
    pass


class ScenarioItem(pytest.Item):
    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, ScenarioFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, 0, f"{self.path.relative_to(self.config.rootpath)} {self.name}"


class Holds(ScenarioItem):
    """Its expectations and the ledger hold, and it breaks no rule of docs/findings.md that it does not allow."""

    def runtest(self):
        result = self.parent.result()
        expected = EXPECTED_EXITS.get(str(self.path.relative_to(scenarios_directory(self.config))), 0)
        if expected != 0 and result.data and result.data["exit"] == expected:
            return
        if not result.ok or expected != 0:
            raise ScenarioFailure(result.report())
        if not result.data:
            raise ScenarioFailure(result.report() + "\n--json printed no object")
        for run in result.data.get("runs", [result.data]):
            for rule, part in run["findings"].items():
                if part["severity"] != "count" and not part["allowed"]:
                    raise ScenarioFailure(f"{result.report()}\n{part['severity']} {rule}: {part['first'][0]['text']}")


class Deterministic(ScenarioItem):
    """Two runs, one of them without address-space randomisation, give the same digest and the same results; and the digest is the
    one that is recorded, if the project records digests."""

    def runtest(self):
        first, second = self.parent.result(), runner.run(self.path, **runner.elsewhere())
        found = runner.differences(first, second)
        if found or not first.digest:
            raise ScenarioFailure("\n".join([first.report(), "two runs differ (here / with other addresses, heap, CPU level, environment and folder):",
                                             *found[:20]]))
        digests = self.config.stash[DIGESTS]
        name = str(self.path.relative_to(self.config.rootpath))
        if digests is not None and first.digest != digests.get(name):
            raise ScenarioFailure(f"{name}: digest {first.digest}, recorded in {self.config.getini('jacquard_digests')}: {digests.get(name, 'none')}")
