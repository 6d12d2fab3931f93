# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Programs as they were written about the year 2000, for Madeleine II, VIPL and SISCI, compiled through pkg-config against the installed tree."""

import json
import os

import jacquard
import pytest
from jacquard.installed import Installed
from jacquard.installed import command as run

SOURCES = jacquard.ROOT / "tests/clients/year2000"
# The networks of the time, without Aries.
NETWORKS = [{"name": kind, "kind": kind, "nodes": 4} for kind in ("via", "ethernet", "sci", "sbp")]
ADAPTERS = {"tcp": "TCP0", "sisci": "SISCI0", "via:/dev/via_eth0": "VIA0", "sbp": "SBP0"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


@pytest.fixture(scope="module")
def compiled(installed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")

    def compile_program(name, module):
        program = folder / name
        run(["gcc", "-std=gnu89", "-Wall", "-Werror", SOURCES / f"{name}.c", "-o", program, *installed.pkg_config("--cflags", "--libs", module)])
        return program

    return compile_program


def simulate(program, folder, size, *arguments, **variables):
    """The lines that the ranks print."""
    file = folder / "scenario.yaml"
    file.write_text(json.dumps({"name": "year2000", "networks": NETWORKS, "limits": {"parking": "all"}, "expect": [{"ledger": "balanced"}],
                                "jobs": [{"name": "job", "nodes": f"0-{size - 1}", "program": str(program), "argv": list(arguments), "env": variables}]}))
    result = jacquard.run(file)
    assert result.exit_code == 0, result.report()
    return sorted(result.stderr.splitlines())


@pytest.mark.parametrize("adapters", ADAPTERS)
def test_mad_101_a_ring_on_the_networks_of_the_time(compiled, tmp_path, adapters):
    """mad_DRIVER_DEFAULT without a selector is the first entry of MAD_ADAPTERS with its own."""
    expected = [f"{rank} on nid{rank:05}: token {4 * 3 + (rank or 4) - 1 if rank else 15}" for rank in range(4)]
    assert simulate(compiled("ring", "madeleine"), tmp_path, 4, MAD_ADAPTERS=adapters) == expected


@pytest.mark.parametrize("adapters", ["tcp", "shm"])
def test_mad_101_hosts_of_a_file_of_2000(installed, compiled, tmp_path, adapters):
    """pmrun places the processes: the names in the file are names only."""
    file = tmp_path / "hosts"
    file.write_text("3\nno-such-host-a no-such-host-b\nno-such-host-c\n")
    environment = {name: value for name, value in installed.environment.items() if not name.startswith(("PMI", "MAD_"))}
    lines = run([installed.prefix / "bin/pmrun", "-n", 3, compiled("ring", "madeleine"), file], env=dict(environment, MAD_ADAPTERS=adapters)).splitlines()
    assert sorted(line.split(":")[0] for line in lines) == [f"{rank} on no-such-host-{'abc'[rank]}" for rank in range(3)]


def test_a_client_and_a_server_of_vipl(compiled, tmp_path):
    assert simulate(compiled("via_server", "vipl"), tmp_path, 2, "nid00000") == ["client: 0 bad", "server: 0 bad"]


def test_copies_dma_and_interrupts_of_sisci(compiled, tmp_path):
    assert simulate(compiled("sci_copy", "sisci"), tmp_path, 2, "4", "8") == ["0 bad"]


def test_outside_of_a_simulation_there_are_no_devices(installed, compiled):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(installed.library))
    for program, arguments, text in ((compiled("via_server", "vipl"), [], "VIPL returns 3"), (compiled("sci_copy", "sisci"), ["4", "8"], "SCIInitialize: 0x40000909")):
        with pytest.raises(AssertionError, match=text):
            run([program, *arguments], env=environment)
