# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""lnet.show and lnet.nodes.export of a scenario: what lnetctl prints at a virtual time, and a configuration that it wrote."""

import json
import subprocess

import jacquard
import pytest
import yaml

SIM_RUN = jacquard.build_directory() / "bin/sim-run"
SCENARIOS = jacquard.ROOT / "scenarios/lnet"


def run(file, *arguments):
    return subprocess.run([SIM_RUN, str(file), *arguments], capture_output=True, text=True, timeout=300)


def shown(result):
    return {(one["node"], one["command"]): one for one in result["lnetctl"]}


def test_states_during_the_run_are_yaml(tmp_path):
    done = run(SCENARIOS / "exported.yaml", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    parts = shown(result)
    routes = yaml.safe_load(parts[0, "route show -v"]["output"])["route"]
    # The second route of the file says nothing of hops.
    assert routes == [{"net": "o2ib", "gateway": f"{node}@gni", "hop": -1, "priority": 0, "state": "up"} for node in (20, 21)]
    assert parts[0, "route show -v"]["time_ps"] == 10**9
    nets = {net["net type"]: net["local NI(s)"][0] for net in yaml.safe_load(parts[20, "net show -v"]["output"])["net"]}
    assert set(nets) == {"lo", "gni", "o2ib"} and nets["gni"]["interfaces"] == {0: "aries"}
    assert nets["gni"]["statistics"]["send_count"] > 0 and nets["o2ib"]["tunables"]["peer_credits"] == 8
    # At the end the counters are those of the metrics: node 20 routes a half, and no message is under way.
    last = parts[20, "stats show"]
    assert 10**9 < last["time_ps"] < 10**13
    statistics = yaml.safe_load(last["output"])["statistics"]
    assert 0 < statistics["route_count"] < result["metrics"]["lnet.routers.route_count"]["value"] and statistics["msgs_alloc"] == 0


def test_what_one_node_exports_another_one_reads(tmp_path):
    """The export of a simulated node is a configuration for `export`, and gives the same routes."""
    scenario = yaml.safe_load((SCENARIOS / "exported.yaml").read_text())
    scenario["lnet"]["nodes"][0]["export"] = str(SCENARIOS / "client.lnetctl")
    scenario["lnet"]["show"] = [{"at": "1ms", "nodes": 0, "command": "export"}]
    (tmp_path / "first.yaml").write_text(yaml.dump(scenario))
    first = json.loads(run(tmp_path / "first.yaml", "--json").stdout)
    (tmp_path / "exported").write_text(first["lnetctl"][0]["output"])
    scenario["lnet"]["nodes"][0]["export"] = "exported"
    (tmp_path / "second.yaml").write_text(yaml.dump(scenario))
    second = json.loads(run(tmp_path / "second.yaml", "--json").stdout)
    for part in ("route", "global", "net"):
        assert yaml.safe_load(first["lnetctl"][0]["output"])[part] == yaml.safe_load(second["lnetctl"][0]["output"])[part]
    assert first["digest"] == second["digest"]


def test_a_network_comes_and_goes():
    result = json.loads(run(SCENARIOS / "changes.yaml", "--json").stdout)
    before, during, after = ({net["net type"]: net["local NI(s)"][0] for net in yaml.safe_load(one["output"])["net"]} for one in result["lnetctl"])
    assert set(before) == set(after) == {"lo", "tcp"} and set(during) == {"lo", "tcp", "tcp1"}
    assert during["tcp1"]["tunables"]["peer_credits"] == 16 and during["tcp1"]["interfaces"] == {0: "second"}
    # Discovery uses the new network for requests and answers, as many as the old one has meanwhile.
    assert during["tcp1"]["statistics"]["send_count"] > 50 and during["tcp1"]["statistics"]["recv_count"] > 50
    assert result["ledger"]["balanced"]


def test_a_command_that_fails_is_a_finding():
    done = run(SCENARIOS / "changes.yaml", "--json", "--set", "lnet.change.0.command=net add --net tcp --if first", "--set", "lnet.change.0.nodes=2")
    finding, other = json.loads(done.stdout)["findings"]["lnet.command"]["first"]
    assert other["text"] == "lnetctl net del --net tcp1: No such file or directory"
    assert done.returncode != 0 and finding["node"] == 2 and finding["text"] == "lnetctl net add --net tcp --if first: File exists"


def test_showing_changes_nothing():
    """Without `show` the simulation is the same."""
    with_it = json.loads(run(SCENARIOS / "exported.yaml", "--json").stdout)
    without = json.loads(run(SCENARIOS / "exported.yaml", "--json", "--set", "lnet.show=[]").stdout)
    assert "lnetctl" not in without
    for key in ("digest", "virtual_time_ps", "metrics", "ledger"):
        if key == "metrics":
            assert {k: v for k, v in with_it[key].items() if not k.startswith("engine.")} == \
                {k: v for k, v in without[key].items() if not k.startswith("engine.")}
        else:
            assert with_it[key] == without[key], key


@pytest.mark.parametrize("change, message", [
    ("lnet.show.0.command=net delete", "lnet.show.0.command"),
    ("lnet.show.0.command=net show -v x", "lnet.show.0.command"),
    ("lnet.show.0.nodes=9", "node 9 has no LNet"),
    ("lnet.show.0.nodes=99", "node 99 is not in this machine"),
    ("lnet.nodes.0.export=nothing.here", "nothing.here: No such file"),
    ("lnet.nodes.0.networks=gni", "allowed: either export, or networks"),
])
def test_bad_input_is_one_line(change, message):
    done = run(SCENARIOS / "exported.yaml", "--set", change)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("text, message", [
    ("net:\n  - net type: nonsense\n", ":2:"),
    ("route:\n  - net: o2ib\n", ':2: a route needs a "gateway"'),
    ("net: [\n", "client:2:"),
    ("", "the file is empty"),
])
def test_a_bad_export_names_file_and_line(tmp_path, text, message):
    (tmp_path / "client").write_text(text)
    done = run(SCENARIOS / "exported.yaml", "--set", f"lnet.nodes.0.export={tmp_path / 'client'}")
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


BY_ADDRESS = """ip2nets:
  - net-spec: tcp
    ip-range: {0: "10.0.0.[1-2]"}
  - net-spec: tcp1
    ip-range: {0: "10.0.0.[3-4]"}
fly: high
"""


def test_networks_by_the_address_of_each_node(tmp_path):
    """Each node of an entry has the networks of its own address; the section that lnetctl does not have is a finding."""
    (tmp_path / "all").write_text(BY_ADDRESS)
    (tmp_path / "scenario.yaml").write_text(yaml.dump({
        "fabric": {"name": "ethernet", "topology": "single-switch", "nodes": 4}, "lnet": {"nodes": [{"nodes": "0-3", "export": "all", "start": True}],
                                       "show": [{"at": "1ms", "nodes": "0-3", "command": "net show"}]},
        "jobs": [{"name": "peers", "nodes": "0-1", "workload": "lnet_put", "args": {"bytes": "4KiB", "messages": 10}}]}))
    done = run(tmp_path / "scenario.yaml", "--json")
    result = json.loads(done.stdout)
    nids = [yaml.safe_load(shown(result)[node, "net show"]["output"])["net"][1]["local NI(s)"][0]["nid"] for node in range(4)]
    assert nids == ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp1", "10.0.0.4@tcp1"]
    ignored = result["findings"]["lnet.setting-ignored"]
    assert ignored["count"] == 4 and ignored["first"][0]["text"].endswith('all:6: "fly" is skipped: lnetctl has no such section')
