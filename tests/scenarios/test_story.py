# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Cause before symptom: which fault was injected, what it hit and who waits for it; chosen faults, groups of failing
seeds, the first failing seed, the smallest scenario that fails."""

import json
import re
import subprocess

import jacquard
import pytest
import yaml
from jacquard import trace

STUCK = jacquard.ROOT / "scenarios/stuck.yaml"
FIRST = jacquard.ROOT / "docs/examples/first.yaml"
LOSS = "faults=[{label: loss, at: aries.packet, do: drop, probability: 0.01}]"


def sim_run(*words, code=0, cwd=None):
    done = subprocess.run([jacquard.runner.sim_run(), *map(str, words)], capture_output=True, text=True, check=False,
                          cwd=cwd)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def result_of(*words, code=0):
    return json.loads(sim_run(*words, "--json", code=code).stdout)


@pytest.fixture
def lossy(tmp_path):
    """A lost packet stops some seeds: the run must end before the NIC's timeout."""
    path = tmp_path / "lossy.yaml"
    path.write_text("name: lossy\nfabric: {preset: mini2}\nlimits: {virtual_time: 1s}\n"
                    "jobs: [{name: ring, nodes: 0-12/4, workload: put_latency}]\n"
                    "faults:\n- {label: loss, at: aries.packet, do: drop, probability: 0.0002}\n"
                    "- {label: late, at: aries.datagram, do: delay, probability: 0.5}\n")
    return path


def test_the_report_of_a_lost_packet_names_it_and_the_cause_comes_first():
    result = result_of(STUCK, code=3)
    injected, = result["faults"][0]["injected"]
    assert re.fullmatch(r"loss #1: PUT 0→4, 8 B at offset 0 B, link g0-c0s0→g0-c0s1", injected["text"])
    assert (injected["source_rank"], injected["target_rank"]) == ("ring.0", "ring.1")
    assert result["problems"][0].startswith(injected["text"])
    screen = sim_run(STUCK, code=3).stdout
    assert screen.splitlines()[3] == "what happened" and screen.splitlines()[4].startswith("  1. loss #1: PUT 0→4")


def test_a_hang_shows_the_chain_down_to_the_lost_transfer():
    chain, = (line for line in result_of(STUCK, code=3)["story"] if line.startswith("wait-for chain: "))
    assert re.search(r"ring\.1 \(and 2 more\) waits for the barrier .* → ring\.0 waits for completion queue .* → "
                     r"the transfer that was hit: loss #1: PUT 0→4", chain)


def test_a_chain_names_the_process_that_was_there_not_a_later_one():
    """Node 3 crashes and boots again, and a rank of another job has the same instance there."""
    report = sim_run(jacquard.ROOT / "scenarios/faults/node_reboot.yaml", "--set", "limits.virtual_time=3ms", code=3).stdout
    assert "waits for an SMSG credit, peer messages.3 on node 3\n      → messages.3, which was killed: node crashed\n" in report


def test_knock_on_kills_are_one_line():
    result = result_of(jacquard.ROOT / "scenarios/faults/node_down.yaml", "--set", "expect=[]", code=1)
    kills = [text.split(": ")[0::3] for text in result["problems"] if ": killed: " in text]
    assert kills and len(kills) == len(set(map(tuple, kills)))
    assert "node crash" in result["problems"][0]


def test_an_injected_fault_is_in_the_trace_on_the_flow_of_what_it_hit(tmp_path):
    sim_run(STUCK, "--trace", tmp_path / "run.pftrace", code=3)
    events = trace.read(tmp_path / "run.pftrace")
    loss, = (event for event in events if event.name.startswith("loss #1: PUT 0→4, 8 B at offset 0 B"))
    put, = (event for event in events if event.name == "put" and event.flows == loss.flows)
    assert (loss.line, put.line) == ("faults", "node 0")
    assert put.arguments == {"bytes": 8, "to node": 4, "from": "ring.0", "to": "ring.1"}


def test_a_trace_does_not_change_the_digest(tmp_path):
    traced = result_of(STUCK, "--trace", tmp_path / "run.pftrace", code=3)
    assert traced["digest"] == result_of(STUCK, code=3)["digest"]


def test_only_injects_the_chosen_faults():
    every = result_of(FIRST, "--set", LOSS, "--set", "expect=[]")["faults"][0]
    numbers = [fault["number"] for fault in every["injected"]]
    assert numbers[:5] == [1, 2, 3, 4, 5]
    chosen = result_of(FIRST, "--set", LOSS, "--set", "expect=[]", "--set", "faults.loss.only=[5, 1]")["faults"][0]
    assert [fault["number"] for fault in chosen["injected"]] == [1, 5] and chosen["fired"] == 2
    # Without the other faults nothing is sent again, so later ones may hit another candidate.
    assert chosen["injected"][0]["candidate"] == every["injected"][0]["candidate"]


@pytest.mark.parametrize("value", ["0", "x", "[]", "[1, 1]", "[[1]]", "{a: 1}", "-1"])
def test_a_wrong_number_is_refused(value):
    done = sim_run(STUCK, "--set", f"faults.loss.only={value}", code=2)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert "faults.0.only" in done.stderr and "allowed" in done.stderr


def test_failing_seeds_are_grouped_by_cause(lossy):
    result = result_of(lossy, "--seeds", "1-150", code=1)
    causes, failed = result["summary"]["causes"], result["summary"]["failed"]
    assert 0 < len(causes) < len(failed)
    assert sum(cause["count"] for cause in causes) == len(failed)
    assert f"run-seed{causes[0]['seed']}" == failed[0]
    screen = sim_run(lossy, "--seeds", "1-150", code=1).stdout
    assert sum("the first is" in line for line in screen.splitlines()) == len(causes)


def test_until_fail_ends_at_the_first_failing_seed(lossy):
    first = result_of(lossy, "--seeds", "1-30", code=1)["summary"]["causes"][0]["seed"]
    done = sim_run(lossy, "--until-fail", "--seed", "1", code=3)
    assert f"--seed {first}\n" in done.stdout and f"seed {first};" in done.stdout
    assert "no seed from 1 to 1 fails" in sim_run(FIRST, "--until-fail", "--seeds", "1-1").stdout


def test_minimize_leaves_what_the_failure_needs(lossy, tmp_path):
    seed = result_of(lossy, "--seeds", "1-30", code=1)["summary"]["causes"][0]["seed"]
    before = result_of(lossy, "--seed", seed, code=3)
    done = sim_run(lossy, "--seed", seed, "--minimize", "--out", tmp_path / "small", cwd=tmp_path)
    assert "are enough: loss #1: " in done.stdout
    small = result_of(tmp_path / "small/minimal.yaml", code=3)
    assert small["signature"] == before["signature"]
    assert small["jobs"][0]["ranks"] == 2
    assert [fault["fired"] for fault in small["faults"]] == [1]
    assert small["events"] < before["events"]


def test_minimize_reduces_the_arguments_of_a_program(tmp_path):
    """It fails with 3 messages or more and the option --odd; everything else in argv is left out."""
    (tmp_path / "p.c").write_text("#include <gni_pub.h>\n#include <stdlib.h>\n#include <string.h>\n"
                                  "int main(int argc, char **argv) {\n"
                                  "  gni_cdm_handle_t cdm; int i, n = 0, odd = 0;\n"
                                  "  GNI_CdmCreate(0, 7, 0x12340000, 0, &cdm);\n"
                                  "  for (i = 1; i < argc; i++) {\n"
                                  "    if (!strcmp(argv[i], \"-n\")) n = atoi(argv[i + 1]);\n"
                                  "    odd |= !strcmp(argv[i], \"--odd\");\n"
                                  "  }\n"
                                  "  return n >= 3 && odd ? 9 : 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{jacquard.ROOT}/sim/aries/include", tmp_path / "p.c", "-o", tmp_path / "p.so"],
                   check=True)
    scenario = {"fabric": {"topology": "dragonfly", "groups": 1},
                "jobs": [{"name": "p", "program": "p.so", "nodes": "0-3", "argv": ["--verbose", "-n", "1000", "--size", "64", "--odd", "last"]}]}
    (tmp_path / "p.yaml").write_text(yaml.dump(scenario))
    sim_run(tmp_path / "p.yaml", "--minimize", "--out", tmp_path / "small", cwd=tmp_path)
    small = yaml.safe_load((tmp_path / "small/minimal.yaml").read_text())
    assert [str(word) for word in small["jobs"][0]["argv"]] == ["-n", "4", "--odd"]
    assert small["jobs"][0]["nodes"] in (0, "0")


def test_minimize_refuses_a_run_that_holds(tmp_path):
    done = sim_run(FIRST, "--minimize", code=2, cwd=tmp_path)
    assert done.stderr.count("\n") == 1 and "holds" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_output_is_kept_of_failing_seeds_only(tmp_path):
    program = tmp_path / "talk.c"
    program.write_text("#include <stdio.h>\n#include <run/workload.h>\n"
                       "static int talk(struct rank *rank) { puts(\"hello\"); fflush(stdout);\n"
                       "  return rank_random(rank) % 2 ? rank_fail(rank, \"odd\") : 0; }\n"
                       "static const struct workload talks = {.name = \"talk\", .meaning = \"-\", .metrics = \"\",\n"
                       "  .ranks_min = 1, .main = talk};\nWORKLOAD(talks)\n")
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{jacquard.ROOT}/workloads/include", program, "-o",
                    tmp_path / "talk.so"], check=True)
    scenario = tmp_path / "talk.yaml"
    scenario.write_text("jobs: [{name: talk, nodes: 0, program: talk.so}]\n")
    done = sim_run(scenario, "--seeds", "1-8", "--out", tmp_path / "kept", code=1)
    failed = json.loads((tmp_path / "kept/summary.json").read_text())["summary"]["failed"]
    assert "hello" not in done.stdout + done.stderr
    assert sorted(path.parent.name for path in (tmp_path / "kept").glob("*/output.txt")) == sorted(failed)
    assert 0 < len(failed) < 8
