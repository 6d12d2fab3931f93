# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The pytest plugin, in a small tree of its own with a stand-in for sim-run that does what its scenario says."""

import os
import subprocess
import sys

import jacquard
import pytest

STAND_IN = """#!/usr/bin/python3
import json, os, sys, yaml
told = yaml.safe_load(open(sys.argv[1]))
if told["behaviour"] == "refused":
    print("one.yaml:1: behaviour: not allowed", file=sys.stderr)
    sys.exit(2)
aslr = int(open("/proc/self/personality").read(), 16) & 0x40000 == 0
digest = "0123" if told["behaviour"] != "random" or aslr else "4567"
exit_code = 1 if told["behaviour"] == "fails" else 0
print(json.dumps({"digest": digest, "host": {"wall_seconds": os.getpid()}, "arguments": sys.argv[2:], "metrics": {}, "faults": [],
                  "findings": {}, "ledger": {"balanced": exit_code == 0}, "problems": ["ledger: it lost one"] if exit_code else []}))
sys.exit(exit_code)
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "scenarios/deep").mkdir(parents=True)
    (tmp_path / "build/bin/sim-run").write_text(STAND_IN)
    (tmp_path / "build/bin/sim-run").chmod(0o755)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(jacquard.ROOT / 'harness')!r})\npytest_plugins = ['jacquard.plugin', 'jacquard.scenario_files']\n")
    return tmp_path


def pytest_in(tree, *arguments):
    environment = dict(os.environ, JACQUARD_BUILD=str(tree / "build"))
    return subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments], cwd=tree, env=environment,
                          capture_output=True, text=True, timeout=120)


def test_every_scenario_is_collected_and_passes(tree):
    (tree / "scenarios/one.yaml").write_text("behaviour: good")
    (tree / "scenarios/deep/two.yaml").write_text("behaviour: good")
    done = pytest_in(tree, "scenarios")
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout


def test_a_failing_scenario_says_why(tree):
    (tree / "scenarios/bad.yaml").write_text("behaviour: fails")
    done = pytest_in(tree, "scenarios")
    assert done.returncode == 1 and "ledger: it lost one" in done.stdout and "exit code 1" in done.stdout, done.stdout


def test_a_refused_scenario_fails(tree):
    (tree / "scenarios/bad.yaml").write_text("behaviour: refused")
    done = pytest_in(tree, "scenarios")
    assert done.returncode == 1 and "bad input" in done.stdout and "2 failed" in done.stdout, done.stdout


def test_a_digest_that_depends_on_addresses_is_found(tree):
    (tree / "scenarios/bad.yaml").write_text("behaviour: random")
    done = pytest_in(tree, "scenarios")
    assert "1 failed, 1 passed" in done.stdout and "digest: '0123' / '4567'" in done.stdout, done.stdout


@pytest.mark.parametrize("row,said", [("scenarios/one.yaml,0123", None), ("scenarios/one.yaml,0124", "0124"), ("scenarios/two.yaml,0123", "none")])
def test_a_digest_is_the_recorded_one(tree, row, said):
    (tree / "pytest.ini").write_text("[pytest]\njacquard_digests = digests.csv\n")
    (tree / "digests.csv").write_text(f"# a comment\nscenario,digest\n{row}\n")
    (tree / "scenarios/one.yaml").write_text("behaviour: good")
    done = pytest_in(tree, "scenarios")
    if said is None:
        assert "2 passed" in done.stdout, done.stdout
    else:
        assert "1 failed, 1 passed" in done.stdout and f"digest 0123, recorded in digests.csv: {said}" in done.stdout, done.stdout


@pytest.mark.parametrize("text,said", [(None, "No such file"), ("scenario\nscenarios/one.yaml\n", "KeyError('digest')")])
def test_a_table_of_digests_that_cannot_be_read_is_one_line(tree, text, said):
    (tree / "pytest.ini").write_text("[pytest]\njacquard_digests = digests.csv\n")
    if text is not None:
        (tree / "digests.csv").write_text(text)
    done = pytest_in(tree, "scenarios")
    assert done.returncode == 4 and "jacquard_digests: digests.csv" in done.stderr and said in done.stderr, done.stderr


def test_the_fixture_passes_seed_and_settings(tree):
    (tree / "scenarios/one.yaml").write_text("behaviour: good")
    (tree / "test_it.py").write_text(
        "def test_it(scenario):\n"
        "    result = scenario('one.yaml', seed=3, set={'a.b': '4KiB'})\n"
        "    assert result.ok and result.digest == '0123' and result.ledger['balanced']\n"
        "    assert result.data['arguments'] == ['--json', '--seed', '3', '--set', 'a.b=4KiB']\n")
    done = pytest_in(tree, "test_it.py")
    assert done.returncode == 0, done.stdout


def test_without_a_build_it_says_what_to_do(tree):
    (tree / "build/bin/sim-run").unlink()
    done = pytest_in(tree, "scenarios")
    assert done.returncode != 0 and "./dev build" in done.stderr + done.stdout


def test_differences_leave_out_the_host():
    one = {"digest": "a", "host": {"wall_seconds": 1}, "metrics": {"x": {"p50": 3}}, "list": [1, {"y": 3}]}
    other = {"digest": "a", "host": {"wall_seconds": 2}, "metrics": {"x": {"p50": 3}}, "list": [1, {"y": 3}]}
    same = jacquard.Result([], 0, "", "", one)
    assert jacquard.differences(same, jacquard.Result([], 0, "", "", other)) == []
    other["metrics"]["x"]["p50"] = 4
    assert jacquard.differences(same, jacquard.Result([], 1, "", "", other)) == ["exit code: 0 / 1", "metrics.x.p50: 3 / 4"]
