# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""`./dev determinism` compares the digest of each shipped scenario with the one that tests/digests.csv records."""

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


def test_every_shipped_scenario_has_a_recorded_digest():
    shipped = {str(path.relative_to(jacquard.ROOT)) for path in (jacquard.ROOT / "scenarios").rglob("*.yaml")}
    assert determinism.recorded().keys() == shipped
