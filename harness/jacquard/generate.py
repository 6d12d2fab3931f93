# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Hypothesis strategies that draw valid scenarios: small machines, jobs of every workload that sim-run knows, faults of
every kind. What they draw is a dict; `as_yaml` writes it as a scenario file."""

import functools
import json
import re
import subprocess

import yaml
from hypothesis import strategies as st

from . import runner

NODES_PER_ROUTER = 4
# Each job has little work, so that many different scenarios run in a short time.
COUNT_MAX, BYTES_MAX, TIME_MAX_NS, RANKS_MAX = 24, 64 * 1024, 5000, 12

LNET_FAULTED = ("lnet_unlink",)  # a rule must lose its first messages
LNET_CLIENTS = ("lnet_", "m0_")  # how the names of workloads begin that need LNet
SMALL_NETWORKS = ("sbp_", "sisci_", "tcp_", "via_")  # and those that need a network of a kind

# Scenarios that may run for ever end at these limits, with exit code 3 and an explanation. A lost packet costs its sender
# seconds of virtual time.
LIMITS = {"virtual_time": "2000s", "no_progress": "60s", "no_progress_events": 5000000}


@functools.cache
def workloads():
    """The workloads, from `sim-run --list-workloads --json`."""
    listed = subprocess.run([runner.sim_run(), "--list-workloads", "--json"], check=True, capture_output=True, text=True)
    return json.loads(listed.stdout)["workloads"]


def as_yaml(scenario):
    return yaml.safe_dump(scenario, sort_keys=False)


def number(text, fallback):
    """The number of a limit such as "4KiB"; None and limits past `fallback` give the fallback."""
    match = re.fullmatch(r"([0-9.]+)\s*([A-Za-z]*)", text or "")
    if not match:
        return fallback
    unit = {"": 1, "B": 1, "kB": 1000, "MB": 10**6, "GB": 10**9, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3,
            "ps": 0.001, "ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}[match.group(2)]
    return int(float(match.group(1)) * unit)


def argument_values(argument):
    kind, least, most = argument["type"], argument.get("minimum"), argument.get("maximum")
    if kind == "bool":
        return st.booleans()
    if kind == "choice":
        return st.sampled_from(argument["choices"])
    if kind == "real":
        least, most = float(least or 0), float(most or 1)
        return st.floats(least, most).map(lambda value: round(value, 3)).filter(lambda value: least <= value <= most)
    limit = {"count": COUNT_MAX, "size": BYTES_MAX, "time": TIME_MAX_NS}[kind]
    low = number(least, 0)
    high = max(low, min(limit, number(most, limit)))
    if kind == "size":
        # Odd sizes and the powers of two at which protocols change.
        powers = [2**power for power in range(20) if low <= 2**power <= high]
        return st.one_of(st.integers(low, high), *([st.sampled_from(powers)] if powers else []))
    if kind == "time":
        return st.integers(low, high).map(lambda value: f"{value}ns")
    return st.integers(low, high)


def dragonflies():
    return st.fixed_dictionaries({
        "topology": st.just("dragonfly"), "groups": st.integers(1, 3), "chassis": st.integers(1, 2),
        "slots": st.sampled_from([2, 4, 16]), "fidelity": st.sampled_from(["F0", "F1", "F2"]),
        "profile": st.sampled_from(["xc40_hsw", "xc30_snb", "xc40_knl"])})


def switched():
    single = st.fixed_dictionaries({"topology": st.just("single-switch"), "nodes": st.integers(2, 24),
                                    "fidelity": st.sampled_from(["F0", "F1"])})
    tree = st.fixed_dictionaries({"topology": st.just("fat-tree"), "nodes": st.integers(2, 24),
                                  "radix": st.sampled_from([4, 8, 32]), "fidelity": st.sampled_from(["F0", "F1"])})
    return st.one_of(single, tree)


def nodes_of(fabric):
    if fabric["topology"] == "dragonfly":
        return fabric["groups"] * fabric["chassis"] * fabric["slots"] * NODES_PER_ROUTER
    return fabric["nodes"]


@st.composite
def lnet_jobs(draw, name, fabric):
    """A job of a workload that uses LNet: one rank for each node, because the ranks of a node share their portals."""
    workload = draw(st.sampled_from([one for one in workloads() if one["name"].startswith(LNET_CLIENTS) and one["name"] not in LNET_FAULTED]))
    ranks_min = workload["ranks_min"]
    count = draw(st.integers(ranks_min, max(ranks_min, min(nodes_of(fabric), RANKS_MAX))))
    arguments = {one["name"]: draw(argument_values(one)) for one in workload["args"]
                 if one["name"] not in ("dies", "exits", "exits_after", "victim", "retries", "serve", "timeout",  # who dies, and what goes with it
                                        "loopback")  # needs all ranks on one node
                 and (one["type"] in ("count", "size") or draw(st.booleans()))}
    if "servers" in arguments:
        arguments["servers"] = min(arguments["servers"], count - ranks_min + 1)
    if "buffers" in arguments:  # a server with fewer buffers than clients loses messages
        arguments["buffers"] = max(arguments["buffers"], 2 * count)
    for limited in {"distribute", "span"} & arguments.keys():  # by the size of the smaller group; rank 0 is in none
        arguments[limited] = min(arguments[limited], arguments["servers"], count - 1 - arguments["servers"])
    return {"name": name, "workload": workload["name"], "placement": {"policy": "linear", "count": count}, "args": arguments}


@st.composite
def lnets(draw, fabric):
    """The section of LNet: every node is on one network, over what the fabric offers."""
    driver = "gni" if fabric["topology"] == "dragonfly" else draw(st.sampled_from(["tcp", "o2ib"]))
    section = {"nodes": [{"name": "all", "nodes": f"0-{nodes_of(fabric) - 1}", "networks": f"{driver}({fabric['name']})"}]}
    if draw(st.booleans()):
        section["nodes"][0]["parameters"] = draw(st.fixed_dictionaries({}, optional={
            "lnet_retry_count": st.integers(0, 5), "peer_credits": st.sampled_from([2, 8, 32]),
            "credits": st.sampled_from([4, 64, 256]), "lnet_transaction_timeout": st.sampled_from([10, 50])}))
    return section


@st.composite
def lnet_rules(draw):
    """Faults in LNet's own words."""
    rule = {"name": "rule", "do": draw(st.sampled_from(["drop", "delay"])), "nodes": "0-1", "rate": draw(st.integers(2, 30))}
    if rule["do"] == "delay":
        rule["latency"] = draw(st.integers(1, 3))
    if draw(st.booleans()):
        rule["message"] = draw(st.sampled_from([["PUT"], ["GET"], ["ACK", "REPLY"]]))
    return rule


@st.composite
def jobs(draw, name, fabric):
    nodes = nodes_of(fabric)
    aries = fabric["topology"] == "dragonfly"
    # Two workloads need a second job: pmi_names another job of its kind, pmi_spawn one to spawn. For LNet's clients see lnet_jobs.
    # Others are written for the machine of their scenario, or need an even number of ranks.
    # mad_book plants errors.
    special = ("pmi_names", "pmi_spawn", "mad_book", "mad_forward", "mad_mux", "fi_reopen", "fi_restart", "fi_triggered", "fine_grain", "mpi_pattern",
               "put_get_random", "put_get_streams")
    elsewhere = (*LNET_CLIENTS, *SMALL_NETWORKS, *(() if aries else ("mad_",)))
    workload = draw(st.sampled_from([one for one in workloads() if (aries or one.get("any_network"))
                                     and one["name"] not in special and not one["name"].startswith(elsewhere)
                                     and not one["name"].endswith("_edges")]))
    per_node = draw(st.sampled_from([1, 1, 1, 2, 4]))
    ranks_min = max(workload.get("ranks_min", 1), 1)
    nodes_min = 2 if workload["name"] == "msgq_rate" else 1
    count_min = min(nodes, max(nodes_min, -(-ranks_min // per_node)))
    count = draw(st.integers(count_min, max(count_min, min(nodes, RANKS_MAX // per_node))))
    job = {"name": name, "workload": workload["name"], "ranks_per_node": per_node,
           "placement": {"policy": draw(st.sampled_from(["linear", "random", "per-group"])), "count": count}}
    # The amount of work is always set, because a workload's default is meant for measurements.
    # A rank that gives up early is no fault of the fabric.
    arguments = {one["name"]: "100s" if one["name"] == "give_up" else draw(argument_values(one)) for one in workload["args"]
                 if one["type"] in ("count", "size") or draw(st.booleans())}
    for limited in {"root", "servers"} & arguments.keys():  # by the number of ranks
        arguments[limited] = min(arguments[limited], count * per_node - 1)
    if arguments.get("call") == "inject":  # fi_inject takes 64 bytes at most
        arguments["bytes"] = min(arguments["bytes"], 64)
    arguments.pop("loss", None)  # of a rank, by a fault
    if workload["name"] == "traffic":  # each rank measures a window of messages at least, so its time has no end
        arguments.pop("duration", None)
        arguments["messages"] = max(arguments["messages"], 2 * arguments["window"])
    if arguments:
        job["args"] = arguments
    if draw(st.booleans()):
        job["start"] = f"{draw(st.integers(0, TIME_MAX_NS))}ns"
    return job


def times(nanoseconds=200000):
    return st.integers(0, nanoseconds).map(lambda value: f"{value}ns")


def probabilities():
    return st.sampled_from([0.0001, 0.001, 0.01, 0.05, 0.3])


@st.composite
def faults(draw, fabric):
    nodes = nodes_of(fabric)
    node = st.integers(0, nodes - 1)
    rule = {"probability": probabilities()}
    choices = [{"at": st.just("net.packet"), "do": st.sampled_from(["drop", "delay", "duplicate", "corrupt"]), **rule}]
    if fabric["topology"] == "dragonfly":
        routers = nodes // NODES_PER_ROUTER
        choices = [
            {"at": st.just("aries.packet"), "do": st.sampled_from(["drop", "corrupt"]), **rule},
            {"at": st.just("aries.packet"), "do": st.just("drop"), "count": st.integers(1, 3), "skip": st.integers(0, 20),
             "kind": st.sampled_from(["request", "response"])},
            {"at": st.just("aries.packet"), "do": st.just("fail"), "count": st.integers(1, 3), "skip": st.integers(0, 20),
             "kind": st.sampled_from(["request", "response"]),
             "status": st.sampled_from(["DATA_ERR", "SSID_TIMEOUT", "RMT_DESC_UNAVAILABLE", "PI_TIMEOUT"])},
            {"at": st.just("aries.cq"), "do": st.just("drop"), **rule},
            {"at": st.just("aries.datagram"), "do": st.sampled_from(["drop", "delay", "duplicate"]), **rule},
            {"at": st.just("node"), "do": st.sampled_from(["crash", "hang", "pcie_stall", "reboot"]), "node": node, "time": times()},
            {"at": st.just("node"), "do": st.just("bi_set"), "node": node, "time": times(), "orbs": st.integers(0, 992)},
            {"at": st.just("memory"), "do": st.just("corrupt"), "node": node, "time": times()},
            {"at": st.just("error"), "do": st.just("raise"), "node": node, "time": times(),
             "category": st.sampled_from(["correctable_memory", "critical", "transient", "diag_only"])},
            {"at": st.just("cq"), "do": st.just("overrun"), "node": node, "time": times()},
            {"at": st.just("fabric"), "do": st.sampled_from(["quiesce", "throttle"]), "time": times(), "for": times(50000)
             .filter(lambda text: text != "0ns")},
            {"at": st.just("router"), "do": st.just("down"), "router": st.integers(0, routers - 1), "time": times()},
            # Routers 0 and 1 of a chassis are always linked.
            {"at": st.just("link"), "do": st.sampled_from(["down", "lane_loss"]), "routers": st.just([0, 1]),
             "time": times()},
            {"at": st.just("link"), "do": st.just("link_error"), "routers": st.just([0, 1]), "time": times(),
             "rate": st.sampled_from([0.001, 0.02, 0.3])},
        ]
    return draw(st.fixed_dictionaries(draw(st.sampled_from(choices))))


@st.composite
def scenarios(draw, with_faults=True):
    fabric = draw(st.one_of(dragonflies(), dragonflies(), dragonflies(), switched()))
    scenario = {"name": "generated", "seed": draw(st.integers(0, 2**32)), "fabric": fabric, "limits": LIMITS,
                "jobs": [draw(jobs(f"job{index}", fabric)) for index in range(draw(st.sampled_from([1, 1, 2])))]}
    if nodes_of(fabric) >= 3 and draw(st.sampled_from([False, False, True])):
        fabric["name"] = "machine"
        scenario["lnet"] = draw(lnets(fabric))
        scenario["jobs"][0] = draw(lnet_jobs("job0", fabric))
        if with_faults and draw(st.booleans()):
            scenario["lnet"]["rules"] = [draw(lnet_rules())]
    if with_faults:
        scenario["faults"] = draw(st.lists(faults(fabric), min_size=1, max_size=3))
    return scenario
