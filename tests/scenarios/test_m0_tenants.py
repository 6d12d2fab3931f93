# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""scenarios/m0/tenants.yaml (E2E-11), which is on InfiniBand, on the other networks and across a router."""

import jacquard
import pytest
import yaml

SCENARIO = jacquard.ROOT / "scenarios/m0/tenants.yaml"
ETHERNET = {"name": "eth0", "topology": "single-switch", "nodes": 4, "link_rate_GBps": 1.25, "link_latency": "500ns"}
ARIES = {"name": "machine", "topology": "dragonfly", "groups": 1, "chassis": 1, "slots": 1, "profile": "xc40_hsw", "fidelity": "F1"}
NETWORKS = {
    "tcp": {"fabric": ETHERNET, "lnet": {"nodes": [{"name": "all", "nodes": "0-3", "networks": "tcp(eth0)"}]}},
    "gni": {"fabric": ARIES, "lnet": {"nodes": [{"name": "all", "nodes": "0-3", "networks": "gni(machine)"}]}},
    "routed": {
        "networks": [{"name": "aries", "preset": "mini2"},
                     {"name": "ib", "topology": "single-switch", "attached": "20-31", "link_rate_GBps": 6.4, "link_latency": "150ns"}],
        "lnet": {"nodes": [
            {"name": "all", "nodes": "0-15", "networks": "gni(aries)", "routes": "o2ib [20-23]@gni"},
            {"name": "routers", "nodes": "20-23", "networks": "gni(aries),o2ib(ib)", "forwarding": "enabled", "start": True},
            {"name": "servers", "nodes": "24-31", "networks": "o2ib(ib)", "routes": "gni 10.4.0.[21-24]@o2ib"}]}},
}


@pytest.mark.parametrize("network", NETWORKS)
def test_m0_160_e2e_11_tenants_on_other_networks(tmp_path, network):
    scenario = yaml.safe_load(SCENARIO.read_text())
    del scenario["fabric"]
    if network == "routed":
        for job in scenario["jobs"]:
            job["nodes"] = "0-1,24-25"
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario | NETWORKS[network], sort_keys=False))
    result = jacquard.run(path)
    assert result.exit_code == jacquard.OK and result.ledger["balanced"], result.report()
