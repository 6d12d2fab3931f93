# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The automatic choice of the transfer method on SISCI and VIA beside each method alone, in virtual time."""

import json

import jacquard
import pytest

METHODS = {
    "sci": {"short": {"MAD_SISCI_OPT_MAX": 864}, "regular": {"MAD_SISCI_OPT_MAX": 0}, "dma": {"MAD_SISCI_OPT_MAX": 0, "MAD_SISCI_DMA_MIN": 1}},
    "via": {name: {"MAD_VIA_FORCE": name} for name in ("static", "dynamic", "rdma")},
}
SIZES = {"sci": [4, 64, 359, 360, 361, 400, 512, 864, 1024, 4096, 65536, 191999, 192000, 1 << 20],
         "via": [4, 512, 2048, 5119, 5120, 5121, 8192, 32767, 32768, 32769, 65536, 1 << 20]}
ADAPTERS = {"sci": "sisci", "via": "via:/dev/via_eth0"}


def run(folder, kind, jobs):
    """The jobs are (name, bytes, environment); each has two nodes."""
    file = folder / "choice.yaml"
    file.write_text(json.dumps({"name": "choice", "networks": [{"name": "net", "kind": kind, "nodes": 2 * len(jobs)}], "expect": [{"ledger": "balanced"}],
                                "jobs": [{"name": name, "nodes": f"{2 * i}-{2 * i + 1}", "workload": "mad_ping", "args": {"bytes": size, "iterations": 2},
                                          "env": {"MAD_ADAPTERS": ADAPTERS[kind], **env}} for i, (name, size, env) in enumerate(jobs)]}))
    result = jacquard.run(file)
    assert result.exit_code == 0, result.report()
    return result


@pytest.mark.parametrize("kind", METHODS)
def test_mad_99_the_choice_is_within_5_percent_of_the_best_method(tmp_path, kind):
    jobs = [(f"{name}_{size}", size, env) for size in SIZES[kind] for name, env in ({"auto": {}} | METHODS[kind]).items()
            if name != "short" or size <= 864]
    result = run(tmp_path, kind, jobs)
    for size in SIZES[kind]:
        names = [name for name in ("auto", *METHODS[kind]) if name != "short" or size <= 864]
        times = {name: result.metric(f"{name}_{size}.latency")["p50"] for name in names}
        assert times.pop("auto") <= 1.05 * min(times.values()), (size, times)


def packets(folder, size, **env):
    """Of two round trips."""
    return run(folder, "sci", [("job", size, env)]).metric("legacy.net.packets")["value"]


def test_mad_53_sisci_methods(tmp_path):
    """360 bytes are one packet of seven lines; 361 are six lines of data and a flag. From MAD_SISCI_DMA_MIN on a chunk is one packet of the DMA."""
    assert packets(tmp_path, 359) == packets(tmp_path, 360) == 4 * (7 + 1)
    assert packets(tmp_path, 361) == 4 * (6 + 1 + 1)
    assert packets(tmp_path, 361, MAD_SISCI_OPT_MAX=361) == packets(tmp_path, 360)
    assert packets(tmp_path, 192000) > 4 * 192000 // 64
    assert packets(tmp_path, 191999, MAD_SISCI_DMA_MIN=192000) > 4 * 191999 // 64
    assert packets(tmp_path, 192000, MAD_SISCI_DMA_MIN=192000) == 4 * 3 * (1 + 1 + 1)


def test_mad_53_blocks_over_dma(tmp_path):
    """Random messages with blocks and groups by DMA, with one segment and with two; chunks that the card loses are sent again."""
    file = tmp_path / "dma.yaml"
    jobs = [{"name": f"segments{n}", "nodes": f"{4 * n}-{4 * n + 3}", "workload": "mad_exchange", "args": {"bytes": "200KiB", "messages": 2, "channels": 1},
             "env": {"MAD_ADAPTERS": "sisci", "MAD_SISCI_DMA_MIN": 1000, "MAD_SISCI_SEGMENTS": n}} for n in (1, 2)]
    faults = [{"at": "net.packet", "do": "drop", "probability": 0.001}]
    for rules in ([], faults):
        file.write_text(json.dumps({"name": "dma", "networks": [{"name": "net", "kind": "sci", "nodes": 12}], "jobs": jobs, "faults": rules,
                                    "expect": [{"ledger": "balanced"}, *({"metric": f"segments{n}.missing", "equals": 0} for n in (1, 2))]}))
        result = jacquard.run(file)
        assert result.exit_code == 0, result.report()
