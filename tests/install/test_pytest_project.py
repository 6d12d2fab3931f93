# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The installed Python package, used outside of the tree: the example project of docs/python.md, pytest's plugin, the commands."""

import os
import shutil
import subprocess
import sys

import jacquard
import pytest
from jacquard.installed import Installed

FAILING = """
def test_fails(scenario):
    result = scenario("exchange.yaml", set={"expect": "[{metric: pingpong.latency.p50, below: 1ns}]"})
    assert result.ok, result.report()

def test_refused(scenario):
    assert scenario("exchange.yaml", set={"fabric.preset": "none"}).ok
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


@pytest.fixture
def outside(installed, tmp_path):
    """Runs a program in a copy of the project, with an environment that does not know the tree."""
    project = tmp_path / "project"
    shutil.copytree(jacquard.ROOT / "docs/examples/pytest-project", project)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JACQUARD_", "PYTEST_"))}
    environment.update(PYTHONPATH=str(installed.prefix / "lib/python3/dist-packages"), PYTHONDONTWRITEBYTECODE="1")

    def run(*command, path=environment["PATH"]):
        return subprocess.run(list(map(str, command)), cwd=project, env=dict(environment, PATH=path), capture_output=True, text=True, timeout=120)

    run.project = project
    run.pytest = lambda *arguments: run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments)
    return run


def test_the_example_project_passes_outside_of_the_tree(outside, installed):
    done = outside.pytest("-q")
    assert done.returncode == 0 and "53 passed" in done.stdout, done.stdout + done.stderr
    assert not (outside.project / "reports").exists()
    where = outside(sys.executable, "-c", "import jacquard; print(jacquard.__file__); print(jacquard.sim_run())").stdout.splitlines()
    assert all(path.startswith(str(installed.prefix)) for path in where), where
    assert (installed.prefix / "lib/python3/dist-packages/jacquard/py.typed").is_file()


def test_a_failing_test_keeps_a_report_page_and_prints_its_path(outside):
    (outside.project / "tests/test_more.py").write_text(FAILING)
    done = outside.pytest("tests/test_more.py", "--junitxml=results.xml")
    page = outside.project / "reports/tests-test_more.py-test_fails.html"
    assert done.returncode == 1 and "2 failed" in done.stdout, done.stdout
    assert f"report page: {page}" in done.stdout and page.read_text().startswith("<!DOCTYPE html>"), done.stdout
    assert str(page) in (outside.project / "results.xml").read_text()
    assert done.stdout.count("reproduce: ") == 2 and len(list(page.parent.iterdir())) == 1
    page.unlink()
    done = outside.pytest("tests/test_more.py", "--no-jacquard-reports")
    assert done.stdout.count("reproduce: ") == 2 and not page.exists()


@pytest.mark.parametrize("mark, says", [
    ("seeds(0)", "allowed: a number from 1"), ("seeds('5')", "allowed: a number from 1"), ("seeds()", "takes one argument"), ("seeds([-1])", "allowed"),
    ("seeds(True)", "allowed"), ("seeds(3.5)", "allowed")])
def test_a_wrong_mark_is_refused_in_one_line(outside, mark, says):
    (outside.project / "tests/test_wrong.py").write_text(f"import pytest\n@pytest.mark.{mark}\ndef test_it(scenario):\n    pass\n")
    done = outside.pytest("tests/test_wrong.py")
    assert done.returncode != 0 and says in done.stdout + done.stderr and "Traceback" not in done.stdout, done.stdout


def test_seeds_need_the_fixture_and_missing_files_are_named(outside):
    (outside.project / "tests/test_wrong.py").write_text("import pytest\n@pytest.mark.seeds(3)\ndef test_it():\n    pass\n")
    assert "seeds is for tests with the fixture scenario" in outside.pytest("tests/test_wrong.py").stdout
    (outside.project / "tests/test_wrong.py").write_text("def test_it(scenario):\n    scenario('nothing.yaml')\n")
    assert "no scenario nothing.yaml: neither" in outside.pytest("tests/test_wrong.py").stdout


def test_the_installed_commands(outside, installed):
    program = installed.prefix / "bin/jacquard"
    assert outside(program, "run", "tests/exchange.yaml", "--set", "faults=[]").returncode == 0
    assert outside(program, "report", "tests/exchange.yaml", "--set", "faults=[]").returncode == 0
    assert (outside.project / "exchange.html").stat().st_size > 100_000
    swept = outside(program, "sweep", "tests/exchange.yaml", "--vary", "jobs.0.args.bytes=8,64,1KiB", "-o", "swept.json")
    assert swept.stdout == "swept.json: 3 runs, 0 failed\n", swept.stderr
    drawn = outside(program, "plot", "curve", "swept.json", "--metric", "pingpong.latency", "-o", "bytes.png")
    assert drawn.returncode == 0 and (outside.project / "bytes.png").read_bytes().startswith(b"\x89PNG"), drawn.stderr
    assert outside(program, "run", "tests/exchange.yaml", "--set", "faults=[]", "--trace", "t.pftrace").returncode == 0
    assert "GNI_SmsgSend" in outside(program, "trace", "show", "t.pftrace").stdout
    refused = outside(program, "top")
    assert refused.returncode == 2 and refused.stderr.startswith("jacquard: top: give the socket")
