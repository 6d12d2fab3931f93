# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Madeleine's SISCI driver in simulation: its segments, its short packets, its programs."""

import json
import math
import re
import subprocess

import jacquard
import pytest

HERE = jacquard.ROOT / "tests" / "madeleine"
# Beside Aries, as programs of a user need it.
NETWORKS = [{"name": "aries", "topology": "dragonfly", "preset": "mini2"}, {"name": "sci", "kind": "sci", "nodes": 8}]

def simulate(folder, jobs, exit_code=jacquard.OK, **more):
    file = folder / "scenario.yaml"
    file.write_text(json.dumps({"name": "sisci", "networks": NETWORKS, "jobs": jobs, "expect": [{"ledger": "balanced"}], **more}))
    result = jacquard.run(file)
    assert result.exit_code == exit_code, result.report()
    return result

@pytest.fixture(scope="session")
def workload(tmp_path_factory):
    """Compiles a workload of this folder."""
    folder = tmp_path_factory.mktemp("sisci")

    def compile_workload(name):
        program = folder / f"sisci_{name}.so"
        if not program.exists():
            includes = [f"-I{jacquard.ROOT}/{path}" for path in ("workloads/include", "stack/madeleine/include", "sim/legacy/include")]
            subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *includes, HERE / f"{program.stem}.c", "-o", program], check=True)
        return str(program)

    return compile_workload

def test_mad_61_mad_63_segments_and_chunks(workload, tmp_path):
    """Offsets and ids are those of the original; a sender waits for the permission, and fills the last line with zeros."""
    simulate(tmp_path, [{"name": "job", "nodes": "0-1", "program": workload("segments"), "env": {"MAD_ADAPTERS": "sisci", "MAD_SISCI_SEGMENTS": 1}}])

def lines_of(length, pattern):
    """Of a short packet: words that are not zero, with a descriptor for each seven words."""
    words = math.ceil(length / 4)
    stored = {"zeros": 0, "ones": words, "alternating": words // 2}[pattern]
    return math.ceil(4 * (stored + math.ceil(words / 7)) / 64)

@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("pattern", ["zeros", "ones", "alternating"])
def test_mad_62_short_blocks(workload, tmp_path, pattern, segments):
    """Blocks of each length arrive; no line more than needed is written: the packet's, and one for the permission. For the lines'
    order see tests/legacy/sisci_test.c: it is random here, too."""
    result = simulate(tmp_path, [{"name": "job", "nodes": "0-1", "program": workload("short"), "args": {"pattern": pattern},
                                  "env": {"MAD_ADAPTERS": "sisci", "MAD_SISCI_SEGMENTS": segments}}])
    assert result.metric("legacy.sci.packets")["value"] == sum(lines_of(length, pattern) + 1 for length in range(1, 361))


@pytest.mark.parametrize("dma", [0, 20000])
@pytest.mark.parametrize("ms", [11, 15, 150, 250])
def test_mad_64_a_cable_is_down_too_long(tmp_path, ms, dma):
    """The card gives up after 10 ms. Both ranks fail with MAD_EDRIVER (8): the sender tells the receiver when the cable is good again,
    which a probe every 100 ms would not notice."""
    cable = {"at": "link", "network": "sci", "routers": ["0", "1"]}
    result = simulate(tmp_path, [{"name": "job", "nodes": "0-1", "workload": "mad_ping", "args": {"bytes": "1MiB", "iterations": 100},
                                  "env": {"MAD_ADAPTERS": "sisci", "MAD_SISCI_DMA_MIN": dma}}],
                      faults=[{**cable, "do": "down", "time": "50ms"}, {**cable, "do": "up", "time": f"{50 + ms}ms"}], exit_code=1)
    failed = {line for line in result.problems if line.startswith("job job: rank")}
    assert failed <= {f"job job: rank {rank}: Madeleine: the network failed (8) (and 1 more ranks)" for rank in (0, 1)} and failed


@pytest.mark.parametrize("dma", [0, 20000])
def test_mad_64_a_cable_is_down_for_a_while(tmp_path, dma):
    """Transfers by DMA, which the card tries six times, are stored instead."""
    cable = {"at": "link", "network": "sci", "routers": ["0", "1"]}
    simulate(tmp_path, [{"name": "job", "nodes": "0-1", "workload": "mad_ping", "args": {"bytes": "1MiB", "iterations": 100},
                         "env": {"MAD_ADAPTERS": "sisci", "MAD_SISCI_DMA_MIN": dma}}],
             faults=[{**cable, "do": "down", "time": "50ms"}, {**cable, "do": "up", "time": "59ms"}])


def test_mad_64_a_cable_fails_for_good(tmp_path):
    """The driver stores a chunk again until the card says that this does not help: MAD_EDRIVER (8) at the sender."""
    result = simulate(tmp_path, [{"name": "job", "nodes": "0-1", "workload": "mad_ping", "args": {"bytes": "1MiB", "iterations": 100},
                                  "env": {"MAD_ADAPTERS": "sisci", "MAD_SISCI_PROBE_MS": 1000}}],
                      faults=[{"label": "cut", "at": "link", "network": "sci", "routers": ["0", "1"], "do": "down", "time": "50ms"}],
                      expect=[{"ledger": "balanced"}, {"fault": "fired"}], exit_code=1)
    assert re.search(r"Madeleine: [^(]*\(8\)", "\n".join(result.problems)), result.report()
