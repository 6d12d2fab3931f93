# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""`./dev determinism` compares the digest of each shipped scenario with the one that tests/digests.csv records."""

import subprocess
import sys

import jacquard
import pytest

sys.path.insert(0, str(jacquard.ROOT / "harness"))
import determinism  # noqa: E402

SCENARIO = "scenarios/single-switch.yaml"


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Runs the comparison of one scenario with a record of the given text (None: the recorded file as it is)."""
    path = tmp_path / "digests.csv"

    def run(text, *arguments):
        monkeypatch.setattr(determinism, "RECORD", path)
        if text is not None:
            path.write_text(text)
        monkeypatch.setattr(sys, "argv", ["determinism", "--reference", str(jacquard.build_directory() / "bin" / "sim-run"),
                                          *arguments, str(jacquard.ROOT / SCENARIO)])
        return determinism.main(), path.read_text()

    return run


def test_a_digest_other_than_the_recorded_one_is_a_difference(compare, capsys):
    status, _ = compare(f"scenario,digest\n{SCENARIO},0123456789abcdef\n")
    assert status == 1 and "recorded: digest 0123456789abcdef" in capsys.readouterr().out


def test_a_scenario_without_a_recorded_digest_is_a_difference(compare, capsys):
    status, _ = compare("scenario,digest\n")
    assert status == 1 and "recorded: digest none" in capsys.readouterr().out


def test_record_renews_the_digest_of_the_scenarios_that_were_run(compare):
    other = "scenarios/another.yaml,0123456789abcdef\n"
    status, written = compare(f"scenario,digest\n{other}{SCENARIO},0123456789abcdef\n", "--record")
    assert status == 0 and other in written and f"{SCENARIO},0123456789abcdef" not in written
    assert compare(None)[0] == 0


def of_the_record():
    return "--of-the-record", "--other", f"another build={jacquard.build_directory() / 'bin' / 'sim-run'}"


def test_of_the_record_runs_the_other_builds_only(compare, capsys, monkeypatch):
    programs, run = [], jacquard.run
    monkeypatch.setattr(jacquard, "run", lambda *arguments, **how: programs.append(how["program"]) or run(*arguments, **how))
    digest = determinism.recorded()[SCENARIO]
    assert compare(f"scenario,digest\n{SCENARIO},{digest}\n", *of_the_record())[0] == 0
    assert len(programs) == 1 and "1 scenarios, 0 differ (another build)" in capsys.readouterr().out


def test_of_the_record_finds_another_digest(compare, capsys):
    assert compare(f"scenario,digest\n{SCENARIO},0123456789abcdef\n", *of_the_record())[0] == 1
    assert "recorded: digest 0123456789abcdef" in capsys.readouterr().out


def test_every_shipped_scenario_has_a_recorded_digest():
    shipped = {str(path.relative_to(jacquard.ROOT)) for path in (jacquard.ROOT / "scenarios").rglob("*.yaml")}
    assert determinism.recorded().keys() == shipped


def symbols(file, *options):
    done = subprocess.run(["nm", "-D", *options, str(file)], capture_output=True, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


# Their results are exact: they choose, round, or set the mode of rounding.
EXACT = {"ceil", "fabs", "feholdexcept", "fesetenv", "fesetround", "fetestexcept", "floor", "fmax", "fmin", "llround", "lround", "sqrt",
         "trunc"}


def test_the_simulator_imports_no_function_of_libm_whose_result_may_differ():
    program = jacquard.sim_run()
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    libm = next((line.split()[2] for line in libraries.splitlines() if line.strip().startswith("libm.so")), None)
    assert libm is None or symbols(program, "--undefined-only") & symbols(libm, "--defined-only") <= EXACT


def test_the_surroundings_that_are_tried_are_those_that_a_result_must_not_depend_on():
    everywhere = jacquard.runner.elsewhere()
    assert not everywhere["randomise"] and everywhere["cwd"] == "/"
    assert {"GLIBC_TUNABLES", "MALLOC_TOP_PAD_", "JACQUARD_NOTHING"} <= everywhere["environment"].keys()

    first = jacquard.run(jacquard.ROOT / SCENARIO)
    assert jacquard.differences(first, jacquard.run(jacquard.ROOT / SCENARIO, **everywhere)) == []
    assert jacquard.differences(first, jacquard.run(jacquard.ROOT / SCENARIO, seed=99, **everywhere)) != []
