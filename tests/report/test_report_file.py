# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The file that sim-run --report writes: the same bytes each time, its size, what it refuses, and that it changes nothing in the run."""

import json
import re
import subprocess

import pytest
from jacquard import runner, trace

SCENARIOS = runner.ROOT / "scenarios"


def sim_run(*words, **how):
    return subprocess.run([runner.sim_run(), *map(str, words)], capture_output=True, text=True, **how)


def data_of(path):
    text = path.read_text()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.parametrize("name", ["stuck.yaml", "lnet/routers.yaml", pytest.param("packets/alltoall.yaml", marks=pytest.mark.slow)])
def test_same_seed_same_bytes_and_same_digest(tmp_path, name):
    plain = runner.run(SCENARIOS / name)
    for file, surroundings in (("a.html", {}), ("b.html", runner.elsewhere())):
        result = runner.run(SCENARIOS / name, options=("--report", str(tmp_path / file)), **surroundings)
        assert result.exit_code == plain.exit_code and runner.of_the_run(result.data) == runner.of_the_run(plain.data)
    page = tmp_path / "a.html"
    assert page.read_bytes() == (tmp_path / "b.html").read_bytes()
    assert data_of(page)["result"]["digest"] == plain.digest and "host" not in data_of(page)["result"]
    # Nothing is loaded from anywhere.
    assert not re.search(r'<(?:script|img|iframe|link)[^>]+(?:src|href)="(?!data:)', page.read_text())


def test_seed_decides_the_page(tmp_path):
    for seed in (1, 2):
        sim_run(SCENARIOS / "quickstart.yaml", "--quiet", "--seed", seed, "--report", tmp_path / f"{seed}.html")
    one, two = (data_of(tmp_path / f"{seed}.html") for seed in (1, 2))
    assert one["result"]["digest"] != two["result"]["digest"] and one["command"].endswith("--seed 1")


def test_columns_have_one_length_and_messages_their_ends(tmp_path):
    sim_run(SCENARIOS / "stuck.yaml", "--quiet", "--report", tmp_path / "a.html")
    data = data_of(tmp_path / "a.html")
    messages, points = data["messages"], data["points"]
    assert messages["all"] == len(messages["flow"]) == 21 and messages["stride"] == points["stride"] == 1
    assert len({len(messages[key]) for key in ("name", "from", "to", "duration", "settled", "lost", "bytes", "status", "failed", "begin", "flow")}) == 1
    assert len({len(points[key]) for key in ("time", "duration", "name", "flow", "track", "arguments")}) == 1 and points["all"] == len(points["time"])
    assert [data["rows"]["name"][row] for row in (messages["from"][-1], messages["to"][-1])] == ["ring.0", "ring.1"]
    assert [at for at in messages["lost"] if at >= 0] == messages["lost"][-1:] and messages["duration"][-1] == -1
    # The trace has the same points.
    sim_run(SCENARIOS / "stuck.yaml", "--quiet", "--trace", tmp_path / "a.pftrace")
    events = trace.read(tmp_path / "a.pftrace")
    assert len(events) == points["all"]


def test_points_are_thinned_out_and_faults_kept(tmp_path):
    sim_run(SCENARIOS / "gni/incast.yaml", "--quiet", "--report", tmp_path / "a.html")
    data = data_of(tmp_path / "a.html")
    assert data["points"]["all"] > 200_000 > 160_000 >= len(data["points"]["time"]) > 40_000 and data["points"]["stride"] > 1
    assert (tmp_path / "a.html").stat().st_size < 20_000_000
    sim_run(SCENARIOS / "quickstart.yaml", "--quiet", "--report", tmp_path / "b.html")
    data = data_of(tmp_path / "b.html")
    names = {data["strings"][name] for name in data["points"]["name"]}
    assert {injected["text"] for fault in data["result"]["faults"] for injected in fault["injected"]} <= names


def counters_of(data, name):
    return {(each["node"], each["index"]): each for each in data["series"] if each["name"] == name}


def test_counters_keep_their_value_between_points(tmp_path):
    """Three messages wait in a mailbox for many intervals in which the counter has no point."""
    subprocess.run(["gcc", "-Wall", "-Werror", "-shared", "-fPIC", *(f"-I{runner.ROOT / each}" for each in ("sim/aries/include", "workloads/include")),
                    runner.ROOT / "tests/report/late.c", "-o", tmp_path / "late.so"], check=True)
    (tmp_path / "late.yaml").write_text("name: late\nfabric: {preset: mini2}\njobs:\n  - {name: late, nodes: 0-1, program: ./late.so}\n")
    done = sim_run(tmp_path / "late.yaml", "--quiet", "--report", tmp_path / "a.html")
    assert done.returncode == 0, done.stdout + done.stderr
    data = data_of(tmp_path / "a.html")
    used = counters_of(data, "SMSG credits in use")
    assert set(used) == {(0, 1)} and max(used[0, 1]["values"]) == 3 and used[0, 1]["last"] == 0
    assert sum(value == 3 for value in used[0, 1]["values"]) > 10


def test_credits_of_lnet_show_those_that_are_left(tmp_path):
    sim_run(SCENARIOS / "lnet/routers.yaml", "--quiet", "--report", tmp_path / "a.html")
    credits = counters_of(data_of(tmp_path / "a.html"), "transmit credits")
    assert credits and all(each["smallest"] and each["last"] == 256 for each in credits.values())
    assert all(250 < min(each["values"]) < 256 for each in credits.values())


def test_virtual_channels_show_how_full_they_got_and_that_they_emptied(tmp_path):
    """The occupancy is in the trace when a packet leaves and when its credits have returned; the page keeps the largest value of each interval."""
    sim_run(SCENARIOS / "packets/pingpong.yaml", "--quiet", "--report", tmp_path / "a.html", "--trace", tmp_path / "a.pftrace")
    at = {}
    for event in trace.read(tmp_path / "a.pftrace"):
        if " VC " in event.track:
            at.setdefault((event.line, event.track), []).append(event.arguments["value"])
    assert at and all(values[-1] == 0 < max(values) for values in at.values())
    page = [each for each in data_of(tmp_path / "a.html")["series"] if each["name"].startswith("VC ")]
    assert len(page) == len(at) and all(each["last"] == 0 for each in page)
    assert sorted(max(each["values"]) for each in page) == sorted(max(values) for values in at.values())
    # One channel has all it can get, its own blocks and those that channels share, and blocks go on being used while no packet leaves.
    sim_run(SCENARIOS / "packets/incast.yaml", "--quiet", "--report", tmp_path / "b.html")
    assert max(max(each["values"]) for each in data_of(tmp_path / "b.html")["series"] if each["name"].startswith("VC ")) == 8 + 64


def test_of_many_counters_those_that_went_farthest_are_kept(tmp_path):
    """More ranks have queues than the page shows; those of the last nodes become deeper than the others."""
    scenario = tmp_path / "many.yaml"
    scenario.write_text("name: many\nfabric: {preset: xc-2-groups}\njobs:\n  - {name: low, nodes: 0-383, workload: halo3d, args: {steps: 1}}\n"
                        "  - {name: deep, nodes: 400-431, workload: alltoall_put}\n")
    done = sim_run(scenario, "--quiet", "--report", tmp_path / "a.html")
    assert done.returncode == 0, done.stderr
    data = data_of(tmp_path / "a.html")
    shown = [each for each in data["series"] if "last" in each]
    assert data["counters"] > 416 and len(shown) == 256
    depths = counters_of(data, "depth")
    assert {node for node, _ in depths} >= set(range(400, 432))


def test_report_beside_other_outputs(tmp_path):
    alone, both = tmp_path / "a.pftrace", tmp_path / "b.pftrace"
    sim_run(SCENARIOS / "stuck.yaml", "--quiet", "--trace", alone)
    sim_run(SCENARIOS / "stuck.yaml", "--quiet", "--trace", both, "--report", tmp_path / "a.html")
    assert alone.read_bytes() == both.read_bytes() and (tmp_path / "a.html").exists()
    done = sim_run(SCENARIOS / "stuck.yaml", "--quiet", "--out", tmp_path / "out", "--report", tmp_path / "b.html")
    assert done.returncode == 3 and (tmp_path / "out" / "trace.pftrace").exists()
    assert data_of(tmp_path / "b.html")["result"]["digest"] == data_of(tmp_path / "a.html")["result"]["digest"]


@pytest.mark.parametrize("words, said", [
    (["stuck.yaml", "--seeds", "1-3"], "--report: not together with --live, --check, --seeds, --minimize"),
    (["stuck.yaml", "--check"], "--report: not together with"),
    (["sweep.yaml"], "--report: not with many runs; allowed: one combination of the sweep, by --set"),
])
def test_many_runs_are_refused(tmp_path, words, said):
    done = sim_run(SCENARIOS / words[0], *words[1:], "--report", tmp_path / "a.html")
    assert done.returncode == 2 and done.stderr.startswith(said) and done.stderr.count("\n") == 1 and list(tmp_path.iterdir()) == []


def test_first_seed_that_fails_gets_the_page(tmp_path):
    done = sim_run(SCENARIOS / "stuck.yaml", "--until-fail", "--seeds", "5-9", "--quiet", "--report", tmp_path / "a.html")
    assert done.returncode == 3
    assert data_of(tmp_path / "a.html")["result"]["scenario"]["seed"] == 5


def test_place_that_cannot_be_written_is_named(tmp_path):
    done = sim_run(SCENARIOS / "barrier.yaml", "--quiet", "--report", tmp_path / "none" / "a.html")
    assert done.returncode == 2 and "none/a.html" in done.stderr and list(tmp_path.iterdir()) == []
    done = sim_run(SCENARIOS / "barrier.yaml", "--quiet", "--report", "/dev/full")
    assert done.returncode == 2 and "/dev/full" in done.stderr


@pytest.mark.full
def test_four_thousand_ranks(tmp_path):
    scenario = tmp_path / "many.yaml"
    scenario.write_text("name: many\nfabric: {preset: daint30}\njobs:\n  - {name: halo, nodes: 0-3999, workload: halo3d, args: {steps: 5}}\n"
                        "faults:\n  - {label: loss, at: aries.packet, do: drop, skip: 40000, count: 8}\n")
    assert sim_run(scenario, "--quiet", "--report", tmp_path / "a.html").returncode == 0
    data = data_of(tmp_path / "a.html")
    assert len(data["rows"]["name"]) == 4000 and data["messages"]["all"] > 100_000 and sum(at >= 0 for at in data["messages"]["lost"]) == 8
    assert (tmp_path / "a.html").stat().st_size < 20_000_000
