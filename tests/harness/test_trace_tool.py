# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""`jacquard trace show` and `diff`, on traces of sim-run."""

import random
import subprocess

import jacquard
import pytest
from jacquard import trace

SCENARIO = jacquard.ROOT / "scenarios" / "quickstart.yaml"
# Fewer messages, because Python takes seconds to read the trace of all.
SHORT = {"jobs.pingpong.args.iterations": 40, "jobs.alltoall.ranks_per_node": 2, "jobs.incast.args.messages": 20}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")

    def write(name, scenario=SCENARIO, **how):
        path = folder / name
        settings = (SHORT if scenario == SCENARIO else {}) | how.pop("set", {})
        jacquard.run(scenario, options=["--trace", str(path)], set=settings, **how)
        return str(path)

    return write


@pytest.fixture(scope="module")
def sample(written):
    return written("sample.pftrace")


@pytest.fixture(scope="module")
def other(written):
    """Of another scenario."""
    return written("other.pftrace", jacquard.ROOT / "scenarios" / "barrier.yaml")


@pytest.fixture(scope="module")
def events_of_sample(sample):
    return trace.read(sample)


def test_calls_have_names_arguments_and_results_and_idling_is_one_slice(events_of_sample):
    events = [event for event in events_of_sample if event.track.startswith("pingpong.0 (API)")]
    names = {event.name for event in events}
    assert {"GNI_CdmAttach", "GNI_SmsgSend", "GNI_CqGetEvent", "GNI_SmsgRelease", "idle"} <= names
    first = next(event for event in events if event.name == "GNI_CdmAttach")
    assert first.arguments["result"] == "GNI_RC_SUCCESS" and first.duration > 0
    assert {"SMSG", "POST"} >= {event.arguments["event_data"] for event in events
                                if event.name == "GNI_CqGetEvent" and "event_data" in event.arguments}
    idle = [event for event in events if event.name == "idle"]
    assert all(event.arguments["call"].startswith("GNI_") for event in idle)
    assert not any(one.name == two.name == "idle" for one, two in zip(events, events[1:]))


def test_queues_have_their_depth(events_of_sample):
    """It rises by one with an event and falls by one when the program takes it."""
    depths = {}
    for event in sorted((event for event in events_of_sample if event.track.endswith(" depth")), key=lambda event: event.time):
        depths.setdefault((event.line, event.track), [0]).append(int(event.arguments["value"]))
    assert any(values[-1] == 0 for values in depths.values())
    for queue, values in depths.items():
        assert all(abs(later - earlier) == 1 for earlier, later in zip(values, values[1:])), (queue, values[:20])


def test_connections_of_the_provider_have_their_states(written, tmp_path):
    """In the trace only: the digest is that of a run without one. A connection that is open when the program ends is in it, too."""
    scenario = jacquard.ROOT / "scenarios" / "gni" / "client_server.yaml"
    events = [event for event in trace.read(written("connections.pftrace", scenario)) if event.track.startswith("connections")]
    assert {"connecting", "connected"} <= {event.name for event in events}
    assert all(event.arguments["peer"] for event in events)
    traced = jacquard.run(scenario, options=["--trace", str(tmp_path / "trace")])
    assert traced.data["digest"] == jacquard.run(scenario).data["digest"]


def test_show_filters_by_rank_and_time(sample, capsys):
    assert trace.main(["show", sample, "--rank", "0", "--from", "200us", "--to", "300us"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and all(".0 (API)" in line for line in lines) and "GNI_CqCreate" in lines[0]


def test_show_lists_the_events_of_one_message(sample, events_of_sample, capsys):
    flow = next(event.flows[0] for event in events_of_sample if event.flows)
    assert trace.main(["show", sample, "--flow", str(flow)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1 and all(f"flow={flow}" in line.split() for line in lines)


def test_idle_stretches_do_not_count():
    events = [trace.Event(time, "node 0", "a.0 (API)", "call", 10) for time in (0, 50, 1_000_000, 1_000_020)]
    assert trace.without_idle(events, 100) == [0, 50, 160, 180]


def test_the_same_run_has_the_same_trace(written, sample, capsys):
    assert trace.main(["diff", sample, written("again.pftrace", randomise=False)]) == 0
    assert capsys.readouterr().out.startswith("the same: ")


def test_diff_shows_the_first_difference_with_context(written, sample, capsys):
    other = written("faster.pftrace", set={"params.aries.nic.tx_ns": 99})
    assert trace.main(["diff", sample, other]) in (1, 2)
    assert capsys.readouterr() != ("", "")


def sim_run_diff(*paths):
    done = subprocess.run([jacquard.sim_run(), "diff", *map(str, paths)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_sim_run_diff_names_the_fault_by_which_two_runs_part(written):
    stuck = jacquard.ROOT / "scenarios" / "stuck.yaml"
    lossy, sound = written("lossy.pftrace", stuck), written("sound.pftrace", stuck, set={"faults.loss.skip": 1_000_000})
    assert sim_run_diff(lossy, lossy)[0] == 0
    code, out, _ = sim_run_diff(sound, lossy)
    lines = out.splitlines()
    at = lines.index(f"+ {lossy}:")
    assert code == 1 and lines[0] == "the traces differ from 668.037 us on; before it both have:"
    assert "loss #1: PUT 0→4, 8 B at offset 0 B" in lines[at + 1]


def test_sim_run_diff_refuses_in_one_line(sample, other, tmp_path):
    for paths, reason in (((sample, other), "different scenarios"), ((sample,), "required: B"),
                          ((sample, tmp_path / "none"), "No such file"), ((sample, SCENARIO), "not a trace")):
        code, out, err = sim_run_diff(*paths)
        assert (code, out, err.count("\n")) == (2, "", 1) and reason in err and err.startswith("sim-run"), err


def test_values_have_names(events_of_sample):
    events = events_of_sample
    named = {event.name: set(event.arguments) for event in events if "(API)" not in event.track}
    assert named["put"] == {"bytes", "to node", "from", "to"} and named["arrive"] == {"bytes", "from node"}
    assert {event.arguments["status"] for event in events if event.name == "complete"} >= {"OKAY"}
    assert {event.arguments["kind"] for event in events if event.name == "event"} >= {"completion", "remote event"}
    assert {"pingpong.8"} == {event.arguments["peer"] for event in events
                            if event.name == "GNI_SmsgSend" and event.track.startswith("pingpong.0 ")}
    assert not any("address" in event.arguments for event in events if event.name == "GNI_MemRegister")


def test_ranks_of_several_jobs_on_a_node_have_tracks_of_their_own(events_of_sample):
    calls = [event for event in events_of_sample if event.name == "GNI_SmsgSend"]
    jobs = {(event.track.split(".")[0], event.arguments["peer"].split(".")[0]) for event in calls}
    assert jobs == {("pingpong", "pingpong"), ("incast", "incast")}


def test_traces_of_different_scenarios_are_refused_in_one_line(sample, other, capsys):
    assert trace.main(["diff", sample, other]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "the traces are of different scenarios" in message


def test_what_is_no_trace_is_refused_in_one_line(tmp_path, sample, capsys):
    whole = open(sample, "rb").read()[:20_000]
    draw = random.Random(1)
    path = tmp_path / "broken"
    for _ in range(100):
        at = draw.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([draw.randrange(256)]) + whole[at + 1:draw.randrange(at, len(whole)) + 1])
        assert trace.main(["show", str(path)]) in (0, 2)
        assert capsys.readouterr().err.count("\n") <= 1
    assert trace.main(["show", str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err
