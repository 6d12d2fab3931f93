# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""PMI-2 in simulation: spawned jobs (scenarios/pmi/spawn_*.yaml and variants of them), and what describes the machine."""

import json

import jacquard
import pytest

SCENARIOS = jacquard.ROOT / "scenarios/pmi"
CHAIN = SCENARIOS / "spawn_chain.yaml"
DEAD = SCENARIOS / "spawn_dead_node.yaml"


def run(path, **options):
    result = jacquard.run(path, **options)
    assert result.exit_code == jacquard.OK, result.report()
    return result


def write(path, **scenario):
    path.write_text(json.dumps(scenario))
    return path


@pytest.mark.parametrize("api", ["pmi2", "pmi1"])
@pytest.mark.parametrize("ranks", [1, 2, 6])
def test_pmi2_63_pmi2_64_pmi2_65_each_job_spawns_the_next(api, ranks):
    """Sizes, ranks, appnums, ids and the pair that the parent put are checked by the ranks."""
    result = jacquard.run(CHAIN, set={"jobs.root.args.api": api, "jobs.root.args.ranks": ranks})
    assert [job["exit"] for job in result.data["jobs"]] == [0] * 12, result.report()
    assert result.metric("link.checked")["value"] == 10 * ranks
    links = [job for job in result.data["jobs"] if job["name"].startswith("link#")]
    assert [job["spawned_by"] for job in links] == ["root"] + [f"link#{i}" for i in range(1, 10)]
    assert all(later["started_ps"] > before["started_ps"] for before, later in zip(links, links[1:]))


@pytest.mark.parametrize("fault", ["drop", "duplicate", "delay"])
def test_pmi2_63_spawns_over_a_bad_network(tmp_path, fault):
    """The servers repeat what is lost, so that what ranks see is the same."""
    result = run(write(tmp_path / "lossy.yaml", fabric={"preset": "mini2"}, oob={"fan_out": 2},
                       jobs=[{"name": "root", "nodes": "0-7", "workload": "pmi_spawn", "args": {"depth": 10, "ranks": 16}},
                             {"name": "link", "nodes": "20-35", "spawnable": True, "workload": "pmi_spawn"}],
                       faults=[{"at": "oob.message", "do": fault, "probability": 0.2, "delay": "1ms"}],
                       expect=[{"ledger": "balanced"}, {"fault": "fired"}, {"job": "link", "exit": 0},
                               {"metric": "link.checked", "equals": 160}]))
    assert len(result.data["jobs"]) == 11


@pytest.mark.parametrize("fails, ranks, refused", [("missing", 5, 5), ("argument", 5, 5), ("many", 7, 6)])
def test_pmi2_68_nothing_is_started(fails, ranks, refused):
    """Of seven processes for six places the second command, six, has no room."""
    result = run(DEAD, set={"jobs.root.args.fails": fails, "jobs.root.args.ranks": ranks, "expect.4.equals": refused})
    assert [job["name"] for job in result.data["jobs"]] == ["root"]


def test_pmi2_68_a_dead_node_takes_nothing_with_it():
    """All nodes dead: each process says so."""
    run(DEAD, set={"jobs.link.nodes": "41", "jobs.link.ranks_per_node": 6, "expect.4.equals": 6})


def test_spawned_ranks_die_with_their_node(tmp_path):
    """As those of any job; the parent, which has finished its spawn, goes on."""
    run(write(tmp_path / "crash.yaml", fabric={"preset": "mini2"},
              jobs=[{"name": "root", "nodes": "0-3", "workload": "pmi_spawn", "args": {"depth": 2, "ranks": 4}},
                    {"name": "link", "nodes": "20-23", "spawnable": True, "workload": "pmi_spawn"}],
              oob={"exec_time": "20ms"},
              faults=[{"at": "node", "do": "crash", "node": 22, "time": "30ms"}],  # when the first link spawns the second
              expect=[{"ledger": "balanced"}, {"fault": "fired"}, {"outcome": "failed"}, {"job": "root", "exit": 0},
                      {"job": "link", "exit": "failed"}, {"metric": "root.checked", "equals": 4}]))


def test_pmi2_121_the_same_twice_and_by_seed():
    first, second = run(CHAIN), run(CHAIN)
    assert first.digest == second.digest
    assert jacquard.differences(first, second) == []


def test_pmi2_121_jobs_beside_a_spawn_draw_the_same_numbers(tmp_path):
    """Who does not take part does the same as without: its traffic depends on its random numbers."""
    jobs = [{"name": "messages", "nodes": "40-55", "workload": "smsg_random", "args": {"messages": 200}},
            {"name": "root", "nodes": "0-3", "workload": "pmi_spawn", "args": {"depth": 5}},
            {"name": "link", "nodes": "8", "spawnable": True, "workload": "pmi_spawn"}]
    metrics = []
    for i, depth in enumerate([5, 0]):
        jobs[1]["args"]["depth"] = depth
        result = run(write(tmp_path / f"{i}.yaml", fabric={"preset": "mini2"}, jobs=jobs))
        assert len(result.data["jobs"]) == 2 + depth
        metrics.append({name: value for name, value in result.metrics.items() if name.startswith("messages.")})
    assert metrics[0] == metrics[1] and metrics[0]


@pytest.mark.parametrize("preset", ["blade", "chassis", "mini2", "group", "xc-2-groups"])
def test_pmi2_57_topology_is_the_dragonfly(tmp_path, preset):
    """pmi_place compares cartDims and cartCoords with the numbers of the nodes, and all else with the placement."""
    nodes = {"blade": 4, "chassis": 64, "mini2": 64, "group": 384, "xc-2-groups": 768}[preset]
    count = min(nodes // 2, 40)  # so that the process mapping has at most 1024 bytes
    run(write(tmp_path / "place.yaml", fabric={"preset": preset},
              jobs=[{"name": "a", "placement": {"policy": "random", "count": count}, "ranks_per_node": 2,
                     "workload": "pmi_place"}],
              expect=[{"metric": "a.checked", "equals": 2 * count}]))
