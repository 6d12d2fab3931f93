# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""sim-run campaign: each run has one row, whoever is killed; bad input is one line; failures are grouped by cause."""

import csv
import io
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import time

import jacquard
import jsonschema
import pytest
import yaml

FIRST = jacquard.ROOT / "docs/examples/first.yaml"
SWEEP = jacquard.ROOT / "scenarios/sweep.yaml"
LOSS = "[{at: aries.packet, do: drop, probability: 0.0002}]"
FASTER = "[{metric: pingpong.latency.p50, below: 1us}, {metric: pingpong.latency.max, below: 1ms}]"


def campaign(*words, **options):
    return subprocess.run([jacquard.sim_run(), "campaign", *map(str, words)], text=True, capture_output=True, timeout=120, check=False,
                          **options)


def write(folder, *runs, **fields):
    path = folder / "nightly.yaml"
    path.write_text(yaml.safe_dump({"name": "nightly", **fields, "runs": list(runs)}, sort_keys=False))
    return path


def rows(path, what="*"):
    database = sqlite3.connect(f"file:{path.with_suffix('.sqlite')}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    try:
        return list(map(dict, database.execute(f"SELECT {what} FROM runs ORDER BY number")))
    finally:
        database.close()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


# ---- what runs ------------------------------------------------------------------------------------------------


def test_scenarios_seeds_and_settings(tmp_path):
    path = write(tmp_path,
                 {"scenario": [str(FIRST), os.path.relpath(FIRST, tmp_path)], "seeds": "1-2,7", "set": {"faults": LOSS.replace("0002", "02"), "expect": "[]"}},
                 {"scenario": str(FIRST), "sweep": {"fabric.fidelity": ["F0", "F1"], "jobs.pingpong.args.bytes": [8, "1KiB"]}},
                 set={"jobs.pingpong.args.iterations": 50})
    done = campaign(path)
    assert done.returncode == 0, done
    found = rows(path)
    assert [row["number"] for row in found] == list(range(10))
    assert [row["seed"] for row in found] == [1, 2, 7, 1, 2, 7] + 4 * [1]  # the scenario's own seed is 1
    assert [json.loads(row["settings"]) for row in found[6:]] == [
        {"jobs.pingpong.args.iterations": "50", "fabric.fidelity": fidelity, "jobs.pingpong.args.bytes": size}
        for fidelity in ("F0", "F1") for size in ("8", "1KiB")]
    for row in (found[2], found[7]):
        alone = jacquard.run(FIRST, seed=row["seed"], set=json.loads(row["settings"]))
        assert (row["digest"], row["virtual_time_ps"]) == (alone.digest, alone.data["virtual_time_ps"])
        assert json.loads(row["metrics"]) == alone.metrics
    assert found[0]["digest"] == found[3]["digest"] != found[1]["digest"]
    assert {(row["verdict"], row["exit"], row["signature"]) for row in found} == {("holds", 0, None)}


def test_the_sweep_of_a_scenario_runs_too(tmp_path):
    path = write(tmp_path, {"scenario": str(SWEEP), "sweep": {"fabric.fidelity": ["F0"]}, "set": {"jobs.traffic.args.messages": 1,
                                                                                                "expect": "[]"}})
    assert campaign(path, "--quiet").returncode == 0
    assert [json.loads(row["settings"])["jobs.traffic.args.bytes"] for row in rows(path)] == ["8", "1KiB", "64KiB"]
    assert {json.loads(row["settings"])["fabric.fidelity"] for row in rows(path)} == {"F0"}


def test_results_as_json_and_csv(tmp_path):
    path = write(tmp_path, {"scenario": str(FIRST), "sweep": {"fabric.fidelity": ["F0", "F1"]}})
    assert campaign(path).returncode == 0
    result = json.loads(campaign("results", "--json", path).stdout)
    table = list(csv.DictReader(io.StringIO(campaign("results", path.with_suffix(".sqlite"), "--csv").stdout)))
    assert len(table) == len(result["runs"]) == 2
    for line, run in zip(table, result["runs"]):
        assert line["set:fabric.fidelity"] == run["set"]["fabric.fidelity"]
        assert line["digest"] == run["digest"] and line["verdict"] == "holds"
        assert int(line["pingpong.latency.p99"]) == run["metrics"]["pingpong.latency"]["p99"]
        assert int(line["net.packets"]) == run["metrics"]["net.packets"]["value"]


def test_the_schema_is_that_of_the_reader(tmp_path):
    schema = json.loads(campaign("--schema").stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    good = {"name": "x", "runs": [{"scenario": ["a.yaml"], "seeds": "1-3,9", "set": {"a": 1}, "sweep": {"b": [1, "2us"]}}]}
    jsonschema.validate(good, schema)
    for bad in [{"name": "x"}, {**good, "sede": 1}, {"name": "x", "runs": [{"seeds": "1"}]},
                {"name": "x", "runs": [{"scenario": "a", "seeds": "3-"}]}, {"name": "x", "runs": [{"scenario": "a", "sweep": {"b": 3}}]}]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_the_page_has_the_fields_of_the_reader():
    page = (jacquard.ROOT / "docs/campaigns.md").read_text()
    tables = [part for part in campaign("--schema-markdown").stdout.split("\n\n") if part.startswith("|")]
    assert len(tables) == 2 and all(table.strip() in page for table in tables)


# ---- failures -------------------------------------------------------------------------------------------------


def test_failures_are_grouped_by_cause(tmp_path):
    path = write(tmp_path, {"scenario": str(FIRST), "seeds": "1-12", "set": {"faults": LOSS, "expect": FASTER}},
                 {"scenario": str(jacquard.ROOT / "scenarios/stuck.yaml"), "seeds": "5-6"})
    done = campaign(path, "-j2")
    assert done.returncode == 1
    found = rows(path)
    lossy = [row for row in found[:12] if row["exit"] != 0]
    assert 0 < len(lossy) < 12
    groups = json.loads(campaign("failures", "--json", path).stdout)
    assert [(group["count"], group["verdict"], group["seed"]) for group in groups] == [
        (len(lossy), "failed", lossy[0]["seed"]), (2, "stuck", 5)]
    for group in groups:
        command = shlex.split(group["command"])
        assert command[0] == "sim-run" and group["command"] in done.stdout
        again = subprocess.run([jacquard.sim_run(), *command[1:], "--json"], capture_output=True, text=True, timeout=60, check=False)
        row = found[group["number"]]
        assert again.returncode == row["exit"] and json.loads(again.stdout)["digest"] == row["digest"]


def test_a_command_repeats_a_run_of_a_scenarios_own_sweep(tmp_path):
    path = write(tmp_path, {"scenario": str(SWEEP), "set": {"jobs.traffic.args.messages": 1,
                                                            "expect": "[{outcome: deadlock}]"}})
    assert campaign(path).returncode == 1
    group, = json.loads(campaign("failures", "--json", path).stdout)
    assert group["count"] == 6
    again = subprocess.run([jacquard.sim_run(), *shlex.split(group["command"])[1:], "--json"], capture_output=True, text=True, timeout=60,
                           check=False)
    run, = json.loads(again.stdout)["runs"]
    assert run["digest"] == rows(path)[0]["digest"]


# ---- killed, interrupted, resumed -----------------------------------------------------------------------------


@pytest.fixture
def long(tmp_path):
    return write(tmp_path, {"scenario": str(FIRST), "seeds": "1-300", "set": {"faults": LOSS, "expect": FASTER}})


def start(path, *words):
    return subprocess.Popen([jacquard.sim_run(), "campaign", str(path), "-j2", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a background job ignores it


def workers(process):
    try:
        return [int(word) for word in open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii").read().split()]
    except OSError:  # it has ended
        return []


def finished(path):
    try:
        return len(rows(path, "number"))
    except sqlite3.OperationalError:  # no table yet
        return 0


def assert_complete(path, expected):
    """The rows are those of a campaign that nobody disturbed."""
    same = "number, seed, settings, verdict, exit, digest, signature, problem, virtual_time_ps, metrics"
    assert rows(path, same) == expected


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = write(tmp_path_factory.mktemp("undisturbed"),
                 {"scenario": str(FIRST), "seeds": "1-300", "set": {"faults": LOSS, "expect": FASTER}})
    assert campaign(path).returncode == 1
    found = rows(path, "number, seed, settings, verdict, exit, digest, signature, problem, virtual_time_ps, metrics")
    assert [row["number"] for row in found] == list(range(300))
    return found


def test_a_killed_coordinator_leaves_what_it_wrote(long, undisturbed):
    for _ in range(2):
        before = finished(long)
        process = start(long)
        until(lambda: finished(long) > before)
        children = workers(process)
        process.kill()
        process.wait()
        until(lambda: not any(os.path.exists(f"/proc/{child}") for child in children))
        assert before < finished(long) < 300
    done = campaign(long)
    assert done.returncode == 1, done
    assert_complete(long, undisturbed)


def kill_workers(process, most):
    """Kills processes of runs until that many are killed or the campaign has ended."""
    killed = set()
    while process.poll() is None and len(killed) < most:
        for child in workers(process):
            if child not in killed and len(killed) < most:
                try:
                    os.kill(child, signal.SIGKILL)
                    killed.add(child)
                except ProcessLookupError:  # it has ended since
                    pass
        time.sleep(0.01)
    return len(killed)


def test_a_killed_worker_is_replaced(long, undisturbed):
    process = start(long)
    assert kill_workers(process, 2) > 0  # not 3: they might all hit one run, which then fails
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1, (out, errors)
    assert_complete(long, undisturbed)


def test_a_run_that_is_killed_three_times_fails(tmp_path):
    path = write(tmp_path, {"scenario": str(FIRST), "set": {"jobs.pingpong.args.iterations": 100000000}})
    process = start(path)
    assert kill_workers(process, 3) == 3
    process.communicate(timeout=60)
    assert process.returncode == 1
    row, = rows(path)
    assert (row["verdict"], row["problem"]) == ("failed", "the run was ended by signal 9 (Killed)")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_campaign_continues(long, undisturbed, number):
    process = start(long)
    until(lambda: workers(process))
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert errors == f"{long}: interrupted; the same command continues\n"
    kept = finished(long)
    status = json.loads(campaign("status", "--json", long).stdout)
    assert (status["runs"], status["done"], status["running"]) == (300, kept, False)
    assert campaign(long).returncode == 1
    assert_complete(long, undisturbed)


def test_a_finished_campaign_runs_nothing_again(tmp_path):
    path = write(tmp_path, {"scenario": str(FIRST), "seeds": "1-3"})
    assert campaign(path).returncode == 0
    before = rows(path)
    done = campaign(path)
    assert done.returncode == 0 and "3 of 3 runs (100.0 %): 3 hold, 0 do not" in done.stdout
    assert rows(path) == before  # with their times


def test_one_process_at_a_time(long):
    process = start(long)
    until(lambda: workers(process))
    done = campaign(long)
    assert done.returncode == 2
    assert done.stderr == f"{long.with_suffix('.sqlite')}: another process is running this campaign; allowed: one at a time\n"
    assert json.loads(campaign("status", "--json", long).stdout)["running"] is True
    process.terminate()
    process.communicate(timeout=60)


# ---- results that do not belong to the campaign ---------------------------------------------------------------


def test_results_of_a_changed_campaign_are_kept(tmp_path):
    scenario = tmp_path / "first.yaml"
    scenario.write_text(FIRST.read_text())
    path = write(tmp_path, {"scenario": "first.yaml", "seeds": "1-2"})
    assert campaign(path).returncode == 0
    scenario.write_text(FIRST.read_text().replace("iterations: 1000", "iterations: 10"))
    before = rows(path)
    done = campaign(path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "another campaign, or its file or a scenario has changed; allowed: --restart" in done.stderr
    assert rows(path) == before
    assert campaign(path, "--restart").returncode == 0
    assert [row["number"] for row in rows(path)] == [0, 1] and rows(path)[0]["digest"] != before[0]["digest"]


def test_results_of_another_build_are_not_mixed_unasked(tmp_path):
    path = write(tmp_path, {"scenario": str(FIRST), "seeds": "1-4"})
    assert campaign(path).returncode == 0
    database = sqlite3.connect(path.with_suffix(".sqlite"))
    database.execute("UPDATE versions SET digest = 'another', program = '0.0.1'")
    database.execute("DELETE FROM runs WHERE number = 2")
    database.commit()
    database.close()
    done = campaign(path)
    assert done.returncode == 2 and "holds results of another build of sim-run; allowed: --restart" in done.stderr
    assert campaign(path, "--mix").returncode == 0
    assert [row["version"] for row in rows(path)] == [1, 1, 2, 1]
    programs = [line["program"] for line in csv.DictReader(io.StringIO(campaign("results", path).stdout))]
    assert programs[0] == "0.0.1" != programs[2]


@pytest.mark.parametrize("change, text", [
    ("PRAGMA application_id = 7", "not the results of a campaign; allowed: a file that sim-run campaign has written"),
    ("PRAGMA user_version = 99", "written by another version of sim-run (tables 99); allowed: tables 1"),
])
def test_other_files_of_sqlite_are_refused(tmp_path, change, text):
    path = write(tmp_path, {"scenario": str(FIRST)})
    assert campaign(path).returncode == 0
    results = path.with_suffix(".sqlite")
    database = sqlite3.connect(results)
    database.execute(change)
    database.close()
    before = results.read_bytes()
    for words in ([path], ["status", path], ["results", results], ["failures", path]):
        done = campaign(*words)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{results}: {text}\n")
    assert results.read_bytes() == before


@pytest.mark.parametrize("table, column", [("campaign", "name"), ("runs", "problem"), ("runs", "scenario"), ("runs", "settings"), ("runs", "metrics"), ("versions", "program")])
@pytest.mark.parametrize("value", ["CAST(x'ff00fe' AS TEXT)", "7"])
def test_odd_texts_in_the_results_are_shown(tmp_path, table, column, value):
    """A program that fails may print anything. Its run is not left out, and what is printed is JSON."""
    path = write(tmp_path, {"scenario": str(FIRST), "seeds": "1-2"})
    assert campaign(path).returncode == 0
    with sqlite3.connect(path.with_suffix(".sqlite")) as results:
        results.execute("UPDATE runs SET exit = 1, verdict = 'does not hold'")
        results.execute(f"UPDATE {table} SET {column} = {value}")
    assert len(json.loads(campaign("results", path, "--json").stdout)["runs"]) == 2
    assert len(json.loads(campaign("failures", path, "--json").stdout)) > 0
    assert json.loads(campaign("status", path, "--json").stdout)["campaign"] in ("nightly", "7", "\ufffd")
    done = campaign("status", path, "--report", tmp_path / "page.html")
    assert (done.returncode, done.stderr) == (0, "") and "</html>" in (tmp_path / "page.html").read_text()


def test_a_truncated_file_is_one_line(tmp_path):
    path = write(tmp_path, {"scenario": str(FIRST), "seeds": "1-20"})
    assert campaign(path).returncode == 0
    results = path.with_suffix(".sqlite")
    results.write_bytes(results.read_bytes()[:9000])
    for words in ([path], ["status", path], ["results", path]):
        done = campaign(*words)
        assert done.returncode == 2 and done.stderr == f"{results}: database disk image is malformed\n", done


# ---- bad input ------------------------------------------------------------------------------------------------

GOOD = f"name: x\nruns:\n  - scenario: {FIRST}\n"


@pytest.mark.parametrize("text, line, what", [
    ("name: x\n", 1, "runs: missing"),
    ("name: x\nruns: []\n", 1, "runs: is empty; allowed: at least one item"),
    ("name: x\nruns:\n  - seeds: 1-3\n", 3, "runs.0.scenario: missing"),
    (GOOD + "    sedes: 1-3\n", 4, "sedes: unknown field; did you mean seeds?"),
    (GOOD + "    seeds: 5-3\n", 4, 'runs.seeds: "5-3" are not seeds; allowed: ascending numbers and ranges'),
    (GOOD + "    seeds: 1-9,4\n", 4, 'runs.seeds: "1-9,4" are not seeds'),
    (GOOD + "    seeds: 0-9007199254740991\n", 3, "runs: too many runs; allowed: 10000000"),
    (GOOD + "    set: [1]\n", 4, "runs.set: not a mapping; allowed: path: value"),
    (GOOD + "    set: {seed: 4}\n", 4, "runs.set: seed is no setting; allowed: runs.seeds"),
    (GOOD + "    set:\n      jobs.9.nodes: 1\n", 5, "set: 9: no such item"),
    (GOOD + "    sweep: {fabric.fidelity: F1}\n", 4, "runs.sweep: fabric.fidelity has no list of values; allowed: [value, value]"),
    (GOOD + "    sweep: {fabric.fidelity: [F0, F7]}\n", 4, "sweep: fabric.fidelity"),
    ("name: x\nruns:\n  - scenario: missing.yaml\n", 3, "runs.scenario: "),
    ("name: x\nruns:\n  - scenario: {a: b}\n", 3, "runs.scenario: not a file or a list of files"),
    ("name: x\nruns: [\n", 3, ""),
])
def test_bad_campaigns_are_one_line(tmp_path, text, line, what):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    done = campaign(path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert done.stderr.startswith(f"{path}:{line}: ") and what in done.stderr, done.stderr
    assert not path.with_suffix(".sqlite").exists()


@pytest.mark.parametrize("words, text", [
    ([], "allowed: one campaign file"), (["a.yaml", "b.yaml"], "allowed: one campaign file"), (["nothing.yaml"], "nothing.yaml: "),
    (["status", "nothing.yaml"], "nothing.yaml: "), (["{good}", "--chunk", "3"], "have no meaning without --slurm"),
    (["{good}", "--json"], "allowed: with status, results or failures"), (["status", "{good}", "--restart"], "only read"),
    (["{good}", "-j", "0x"], "0x"), (["{good}", "-j300"], "1 to 256"), (["{good}", "--frob"], "--frob"),
    (["status", "{good}"], "there are no results yet"), (["results", "{good}", "--json", "--csv"], "allowed: one of them"),
])
def test_bad_command_lines_are_one_line(tmp_path, words, text):
    good = write(tmp_path, {"scenario": str(FIRST)})
    done = campaign(*[word.format(good=good) for word in words], cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert text in done.stderr


def test_a_combination_that_is_refused_is_a_row(tmp_path):
    """Each value is right by itself: the ranks of two jobs must have different nodes or room for both."""
    path = write(tmp_path, {"scenario": str(FIRST), "sweep": {"fabric.preset": ["mini2", "xc-2-groups"], "jobs.pingpong.nodes": ["0,12", "0,3"]}},
                 results="other.sqlite")
    assert campaign(path, "--check").stdout == f"{path}: valid: 4 runs of 1 scenarios\n"
    assert not (tmp_path / "other.sqlite").exists()
    assert campaign(path).returncode == 0 and (tmp_path / "other.sqlite").exists()
