# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A test tool in the style of kernel modules with global variables (tests/lnet/consumer) as a program of simulated nodes."""

import json
import re
import subprocess
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

ROOT = Path(__file__).parents[2]
DROPS = [
    {"name": "requests", "do": "drop", "nodes": "0-3", "rate": 10, "message": "PUT", "portal": 53, "count": 4},
    {"name": "bulk", "do": "drop", "nodes": "0-3", "rate": 12, "message": "GET", "portal": 54, "count": 2},
    {"name": "data", "do": "drop", "nodes": "0-3", "rate": 15, "message": "REPLY", "count": 2},
    {"name": "replies", "do": "drop", "nodes": "0-3", "rate": 20, "message": "PUT", "portal": 54, "count": 3},
]


@pytest.fixture(scope="module", params=["one unit", "three files"])
def program(request, tmp_path_factory):
    program = tmp_path_factory.mktemp("program") / "lab"
    names = ["lab_unit"] if request.param == "one unit" else ["lab_timer", "lab_rpc", "lab_module"]
    command(["gcc", "-std=gnu89", "-D__KERNEL__", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
             '-DKBUILD_MODNAME="lab"', f"-I{ROOT}/sim/lnet/include",
             *(ROOT / f"tests/lnet/consumer/{name}.c" for name in names), "-o", program])
    return program


def run(program, folder, seed, rules, parameters):
    scenario = folder / "lab.yaml"
    scenario.write_text(json.dumps({
        "seed": seed,
        "fabric": {"name": "ethernet", "topology": "single-switch", "nodes": 4},
        "lnet": {"nodes": [{"nodes": "0-3", "networks": "tcp(ethernet)", "parameters": parameters}], "rules": rules},
        "jobs": [{"name": "p", "program": str(program), "nodes": "0-3"}],
        "expect": [{"ledger": "balanced"}, {"metric": "lnet.leaks.mds", "equals": 0}, {"metric": "lnet.leaks.eqs", "equals": 0}],
    }))
    done = subprocess.run([jacquard.build_directory() / "bin/sim-run", scenario, "--json"], text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, f"seed {seed}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    ranks = re.findall(r"rank (\d) done (\d+) failed (\d+) bad 0 handled (\d+) received some", done.stderr)
    assert len(ranks) == 4, done.stderr
    return [[int(value) for value in rank[1:]] for rank in ranks], json.loads(done.stdout)["digest"]


def test_lnet_99_modules_with_global_variables(program, tmp_path):
    ranks, digest = run(program, tmp_path, 1, [], {})
    assert ranks == [[36, 0, 36]] * 4
    assert run(program, tmp_path, 1, [], {})[1] == digest


@pytest.mark.parametrize("seed", range(1, 6))
def test_lnet_99_modules_whose_messages_are_dropped(program, tmp_path, seed):
    """Requests time out and are unlinked while others arrive; each ends once, and nothing is left behind."""
    ranks, _ = run(program, tmp_path, seed, DROPS, {"lab.lab_rpc_timeout": 2, "lnet_transaction_timeout": 10, "lnet_retry_count": 0})
    assert all(done + failed == 36 for done, failed, _ in ranks)
    assert sum(failed for _, failed, _ in ranks) > 0
