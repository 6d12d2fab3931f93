# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Programs as they were written about the year 2000, for Madeleine II, VIPL, SISCI and SBP, compiled through pkg-config against the installed tree."""

import json
import os

import jacquard
import pytest
from jacquard.installed import Installed
from jacquard.installed import command as run

SOURCES = jacquard.ROOT / "tests/clients/year2000"
# The networks of the time, without Aries.
NETWORKS = [{"name": kind, "kind": kind, "nodes": 5} for kind in ("via", "ethernet", "sci", "sbp")]
ADAPTERS = {"tcp": "TCP0", "sisci": "SISCI0", "via:/dev/via_eth0": "VIA0", "sbp": "SBP0"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


@pytest.fixture(scope="module")
def compiled(installed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")

    def compile_program(name, module, source=None):
        program = folder / name
        run(["gcc", "-std=gnu89", "-Wall", "-Werror", source or SOURCES / f"{name}.c", "-o", program,
             *installed.pkg_config("--cflags", "--libs", module)])
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


def configuration(folder, *networks):
    """DIR of the option -conf, whose file .mad2_conf joins two networks by rank 2."""
    parts = [f"{{ name : part{i}; net : net{i}; ranks : {2 * i}..{2 * i + 2}; }}" for i in range(2)]
    nets = [f'{{ name : net{i}; hosts : node; dev : {name.split(":")[0]}; {"".join(f"""adapter : "{rest}"; """ for rest in name.split(":")[1:])}}}'
            for i, name in enumerate(networks)]
    (folder / ".mad2_conf").write_text(f"networks : ({', '.join(nets)});\napplication : {{ name : relay; networks : {{ channels : ({', '.join(parts)});\n"
                                       "vchannels : { name : whole; channels : (part0, part1); }; }; };\n")
    return folder


RELAYED = sorted(["sum of the ranks: 10", *(f"{rank} of 5, argument: token {rank or 4}" for rank in range(5))])


@pytest.mark.parametrize("networks", [("sisci", "tcp"), ("via:/dev/via_eth0", "sbp"), ("sbp", "sisci")], ids="-".join)
def test_mad_101_mad_104_through_a_gateway_of_the_time(compiled, tmp_path, networks):
    """Two clusters of the year 2000 as one channel: a file of the option -conf, arrays with all send modes, and a ring."""
    folder = configuration(tmp_path, *networks)
    assert simulate(compiled("relay", "madeleine"), tmp_path, 5, "argument", "-conf", str(folder)) == RELAYED


def test_mad_101_mad_104_a_gateway_between_processes(installed, compiled, tmp_path):
    """With the whole command line of the original: the master, and the slaves that it used to start."""
    folder = configuration(tmp_path, "tcp", "shm")
    script = f"""[ $PMI_RANK = 0 ] && role="-master -rank 0" || role="-slave -rank $PMI_RANK -device tcp:1234 -device shm"; exec "$0" $role -cwd {tmp_path} -conf {folder} argument"""
    environment = {name: value for name, value in installed.environment.items() if not name.startswith(("PMI", "MAD_"))}
    lines = run([installed.prefix / "bin/pmrun", "-n", 5, "/bin/sh", "-c", script, compiled("relay", "madeleine")], env=environment).splitlines()
    assert sorted(lines) == RELAYED


@pytest.mark.parametrize("adapters", ["tcp", "sisci"])
def test_mad_102_a_program_of_2008(installed, compiled, tmp_path, adapters):
    """The module madeleine-2008 has its own headers before those of 2000."""
    program = compiled("year2008", "madeleine-2008", jacquard.ROOT / "tests/madeleine/year2008.c")
    assert installed.pkg_config("--cflags", "madeleine-2008")[0].endswith("compat/mad2_2008")
    if adapters == "tcp":
        environment = {name: value for name, value in installed.environment.items() if not name.startswith(("PMI", "MAD_"))}
        assert run([installed.prefix / "bin/pmrun", "-n", 3, program, 2], env=environment) == "the token has passed 3 processes\n" * 2
    else:
        assert simulate(program, tmp_path, 4, MAD_ADAPTERS=adapters) == ["the token has passed 4 processes"]


@pytest.mark.parametrize("size", [2, 4])
def test_frames_of_sbp(compiled, tmp_path, size):
    assert simulate(compiled("sbp_echo", "sbp"), tmp_path, size) == [f"rank {rank} of {size}: 0 bad" for rank in range(size)]


def test_a_client_and_a_server_of_vipl(compiled, tmp_path):
    assert simulate(compiled("via_server", "vipl"), tmp_path, 2, "nid00000") == ["client: 0 bad", "server: 0 bad"]


@pytest.mark.parametrize("size", [2, 5])
def test_peers_of_vipl_connect_to_each_other(compiled, tmp_path, size):
    hosts = [f"nid{rank:05}" for rank in range(size)]
    assert simulate(compiled("via_peers", "vipl"), tmp_path, size, *hosts) == [f"{host} of {size}: 0 bad" for host in hosts]


def test_remote_writes_of_vipl_without_a_protection_tag(compiled, tmp_path):
    assert simulate(compiled("via_rdma", "vipl"), tmp_path, 2, "nid00000", "nid00001") == ["first: 0 errors", "second: 0 errors"]


def test_copies_dma_and_interrupts_of_sisci(compiled, tmp_path):
    assert simulate(compiled("sci_copy", "sisci"), tmp_path, 2, "4", "8") == ["0 bad"]


def test_events_callbacks_and_checked_sequences_of_sisci(compiled, tmp_path):
    assert simulate(compiled("sci_events", "sisci"), tmp_path, 2, "4", "8") == ["client: 0 errors", "server: 0 errors"]


def test_outside_of_a_simulation_there_are_no_devices(installed, compiled):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(installed.library))
    for program, arguments, text in ((compiled("via_server", "vipl"), [], "VIPL returns 3"), (compiled("sci_copy", "sisci"), ["4", "8"], "SCIInitialize: 0x40000909"),
                                     (compiled("sbp_echo", "sbp"), [], "there is no SBP")):
        with pytest.raises(AssertionError, match=text):
            run([program, *arguments], env=environment)
