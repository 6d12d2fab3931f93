# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What every driver must do (drivers.c): over TCP, live GNI and LNet between processes, and over GNI, LNet, MPI and the small networks
of the paper in simulation."""

import json
import os
import re
import sys
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

sys.path.insert(0, str(jacquard.ROOT / "tests/pmrun"))
import launcher

HERE = Path(__file__).parent
BIN = launcher.BUILD / "bin"
SIMULATED = {"simulated": "gni", "lnet_simulated": "lnet", "sisci": "sisci", "ethernet": "tcp", "via": "via:/dev/via_eth0",
             "sbp": "sbp", "mpi": "mpi"}  # network → adapter
# Slow: in a coverage run, scenarios and C tests execute the drivers of the small networks.
NETWORKS = ["tcp", "gni", "lnet", "simulated", *(pytest.param(name, marks=pytest.mark.slow) for name in SIMULATED if name != "simulated")]
# Beside Aries, as programs with a main() need it.
MACHINE = [{"name": "aries", "topology": "dragonfly", "preset": "mini2"}, {"name": "sci", "kind": "sci", "nodes": 8},
           {"name": "eth", "kind": "ethernet", "nodes": 8}, {"name": "via", "kind": "via", "nodes": 8},
           {"name": "sbp", "kind": "sbp", "nodes": 8}]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Compiles a program against the headers alone, as users do."""
    folder = tmp_path_factory.mktemp("madeleine")

    def compile_program(name, *options):
        program = folder / name
        if not program.exists():
            command(["gcc", *options, f"-I{jacquard.ROOT}/stack/madeleine/include", "-pthread", HERE / f"{name}.c", "-o", program,
                     f"-L{launcher.BUILD}/lib", "-lmadeleine", f"-Wl,-rpath,{launcher.BUILD}/lib"])
        return program

    return compile_program


def simulate(program, *arguments, size=2, variables=None, folder, **more):
    """Runs the program in simulation. The result, and the lines that its ranks print."""
    job = {"name": "job", "nodes": f"0-{size - 1}", "program": str(program), "argv": list(map(str, arguments)), "env": variables or {}}
    scenario = {"name": "madeleine", "networks": MACHINE, "limits": {"parking": "all"}, "jobs": [job], "expect": [{"ledger": "balanced"}], **more}
    file = folder / "scenario.yaml"
    file.write_text(json.dumps(scenario))  # JSON is YAML
    result = jacquard.run(file)
    return result, result.stderr.splitlines()


def lnet_on(nodes):
    """A second network, and LNet on it, for a scenario whose program finds Aries NICs in its process and does not use them."""
    return {"limits": {"parking": "all", "no_progress": "1000s"},
            "networks": [{"name": "aries", "preset": "mini2"}, {"name": "ethernet", "topology": "single-switch", "nodes": 64}],
            "lnet": {"nodes": [{"nodes": f"0-{nodes - 1}", "networks": "tcp(ethernet)"}]}}


# Each process is a node of LNet with an address of its own, which other tests do not use at the same time.
HOSTS = f"127.{os.getpid() // 250 % 200 + 20}.{os.getpid() % 250}"
ON_NODE = ["/bin/sh", "-c", f'LNET_OPTIONS="networks=tcp({HOSTS}.$((PMI_RANK + 1))) accept_port=9955" exec "$@"', "sh"]


def between_processes(program, *arguments, size=2, fabric=False, **variables):
    options = ["--fabric", "--fabric-report", "none"] if fabric else []
    node = ON_NODE if "lnet" in variables.get("MAD_ADAPTERS", "") else []
    done = launcher.run(*options, "-n", size, *node, program, *arguments, env=launcher.environment(**variables),
                        timeout=600)  # with short packets, each of which waits for a thread to wake up
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")


def program_of(compiled):
    return compiled("drivers", *WARNINGS)


@pytest.fixture
def run_case(compiled, tmp_path):
    """Runs a case of drivers.c; every rank must find that it is good."""
    def run(network, case, size=2, adapters=None, check=0, variables=None, source="drivers", **more):
        variables = variables or {}
        program = compiled(source, *WARNINGS)
        if network in SIMULATED:
            if network == "lnet_simulated":
                more = lnet_on(size) | more
            variables = {"MAD_ADAPTERS": adapters or SIMULATED[network], **({"MAD_CHECK": str(check)} if check else {}), **variables}
            result, lines = simulate(program, case, size=size, variables=variables, folder=tmp_path, **more)
            assert result.exit_code == 0, result.report()
        else:
            lines = between_processes(program, case, size=size, fabric="gni" in (adapters or network), MAD_ADAPTERS=adapters or network,
                                      MAD_CHECK=str(check), **variables)
        assert [line for line in lines if line == case] == [case] * size
        return lines

    return run


@pytest.fixture(params=NETWORKS)
def network(request):
    return request.param


# ---- what all drivers must do --------------------------------------------------------------------

def test_mad_1_figure_1(run_case, network):
    run_case(network, "figure_1")


def test_mad_10_mad_11_mad_13_mad_14_mad_18_every_size_and_mode(run_case, network):
    run_case(network, "modes")


def test_mad_15_one_variable_three_times(run_case, network):
    run_case(network, "thrice")


def test_mad_12_memory_of_later_is_not_read_before_the_end(run_case, network):
    run_case(network, "later", source="blocks")


@pytest.mark.parametrize("seeds", [2, pytest.param(50, marks=pytest.mark.full)])
def test_mad_22_messages_of_ten_thousand_blocks(run_case, network, seeds):
    run_case(network, "long", source="blocks", variables={"SEEDS": str(seeds)})


def test_mad_20_an_empty_message(run_case, network):
    run_case(network, "empty")


def test_mad_21_message_ready(run_case, network):
    run_case(network, "ready")


def test_mad_31_messages_in_order(run_case, network):
    run_case(network, "order")


def test_mad_33_a_message_half_unpacked(run_case, network):
    run_case(network, "half")


def test_mad_9_mad_32_seven_senders(run_case, network):
    run_case(network, "senders_in_turn" if network == "sisci" else "senders", size=8)


def test_mad_36_one_incoming_and_several_outgoing(run_case, network):
    run_case(network, "several", size=6)


def test_both_directions_at_once(run_case, network):
    run_case(network, "both_directions")


def test_threads_with_channels_of_their_own(run_case, network):
    run_case(network, "threads")


def test_threads_that_send_and_receive_on_a_channel(run_case, network):
    run_case(network, "duplex")


@pytest.mark.parametrize("network, adapters", [("tcp", "tcp,tcp:127.0.0.1"), ("gni", "gni,gni:0"), ("simulated", "gni,gni:0"),
                                               ("via", "via:/dev/via_eth0,via:/dev/via_eth0")])
def test_mad_35_two_adapters_of_one_driver(run_case, network, adapters):
    run_case(network, "adapters", adapters=adapters)


@pytest.mark.parametrize("network, adapters", [("gni", "tcp,gni"), ("gni", "gni,tcp"), ("gni", "tcp,lnet"), ("gni", "lnet,gni"), ("sisci", "sisci,tcp"),
                                               ("sisci", "gni,sisci"), ("via", "via:/dev/via_eth0,sbp"), ("via", "tcp,via:/dev/via_eth0"), ("mpi", "mpi,tcp"),
                                               ("mpi", "gni,mpi")])
def test_mad_34_two_drivers(run_case, network, adapters):
    run_case(network, "adapters", adapters=adapters)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_mad_19_eight_blocks(tmp_path, network, size):
    if network in SIMULATED:
        more = lnet_on(size) if network == "lnet_simulated" else {}
        result, lines = simulate(BIN / "mad_test", size=size, variables={"MAD_ADAPTERS": SIMULATED[network]}, folder=tmp_path, **more)
        assert result.exit_code == 0, result.report()
    else:
        lines = between_processes(BIN / "mad_test", size=size, fabric=network == "gni", MAD_ADAPTERS=network)
    pairs = {tuple(map(int, re.match(r"(\d+) <- (\d+): 1 2 3 4 5 6, the sender is rank \2: good$", line).groups())) for line in lines}
    assert pairs == {(to, of) for to in range(size) for of in range(size) if to != of}


# ---- GNI -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("network", ["gni", "simulated", "lnet", "lnet_simulated"])
def test_mad_53_transfer_methods(run_case, network):
    run_case(network, "choice")


# Thresholds by which the sizes of the case `modes` are of all three methods: with the defaults none is of FMA.
THREE_METHODS = {"MAD_GNI_SMSG_MAX": "1024", "MAD_GNI_BTE_MIN": "8192"}


@pytest.mark.parametrize("network", ["gni", "simulated"])
def test_mad_53_mad_10_all_three_transfer_methods(run_case, network):
    run_case(network, "choice", variables=THREE_METHODS)
    run_case(network, "modes", variables=THREE_METHODS)


@pytest.mark.parametrize("network", ["gni", "simulated", "lnet", "lnet_simulated"])
def test_mad_71_credits(run_case, network):
    run_case(network, "credits")


@pytest.mark.parametrize("late", [{"delay": "3us", "probability": 0.5}, {"delay": "200us", "probability": 0.1}], ids=["little", "much"])
def test_mad_70_late_data(run_case, late):
    """Data of puts are delayed, and messages of mailboxes overtake them."""
    run_case("simulated", "modes", variables=THREE_METHODS, faults=[{"label": "late", "at": "net.packet", "do": "delay", "kind": "request", **late}],
             expect=[{"ledger": "balanced"}, {"fault": "fired"}])


def test_mad_70_lost_packets(run_case):
    run_case("simulated", "modes", variables=THREE_METHODS, faults=[{"label": "lost", "at": "aries.packet", "do": "drop", "skip": 100, "count": 6, "probability": 0.01}],
             expect=[{"ledger": "balanced"}, {"fault": "fired"}])


def fail_transfers(compiled, folder, **fault):
    result, lines = simulate(program_of(compiled), "failing", folder=folder, variables={"MAD_GNI_SMSG_MAX": "100"},
                             faults=[{"label": "lost", "at": "aries.packet", "do": "fail", "status": "SSID_TIMEOUT", "kind": "request",
                                      "source": 0, "target": 1, **fault}],
                             expect=[{"ledger": "balanced"}, {"fault": "fired"}])
    assert result.exit_code == 0, result.report()
    return result, [line for line in lines if line != "failing"]


# Before the transfer, two messages go from rank 0 to rank 1: NEWMSG, and the return of a credit.
def test_mad_72_a_transfer_is_repeated(compiled, tmp_path):
    result, lines = fail_transfers(compiled, tmp_path, skip=1, count=3)
    assert lines == ["0 failures, code 0"] * 2


def test_mad_72_a_transfer_is_given_up(compiled, tmp_path):
    result, lines = fail_transfers(compiled, tmp_path, skip=1, count=12)
    assert sorted(lines) == ["1 failures, code 7", "1 failures, code 8"]  # MAD_EPEER, MAD_EDRIVER


# ---- peers that are gone, and programs -----------------------------------------------------------

def test_mad_87_nodes_crash(compiled, tmp_path):
    result, lines = simulate(program_of(compiled), "deserted", size=3, folder=tmp_path, limits={"parking": "all", "no_progress": "1000s"},
                             faults=[{"label": f"crash{node}", "at": "node", "do": "crash", "node": node, "time": f"{2 + node}ms"} for node in (1, 2)],
                             expect=[{"outcome": "failed"}, {"job": "job", "exit": 137}])
    assert "nobody, code 7" in lines, lines


def test_mad_87_processes_are_killed(compiled):
    """As in test_live.py, over GNI: a probe of the peer's memory fails when its process has gone."""
    done = launcher.run("--fabric", "--fabric-report", "none", "-n", 3, "-disable-auto-cleanup", compiled("killed", "-Wall", "-Wextra", "-Werror"),
                        env=launcher.environment(MAD_ADAPTERS="gni"))
    assert re.search(r"^from 2: 7\n.* inside\nEPEER, no peer is left\n", done.stdout, re.MULTILINE), done


@pytest.mark.parametrize("network", ["gni", "simulated"])
def test_mad_101_a_program_of_the_year_2000(compiled, tmp_path, network):
    program = compiled("year2000", "-std=gnu89", "-Wall")
    if network == "simulated":
        result, lines = simulate(program, size=4, folder=tmp_path)
        assert result.exit_code == 0, result.report()
    else:
        lines = between_processes(program, size=4, fabric=True, MAD_ADAPTERS="gni")
    assert f"GNI0: sum {3 * 499500}" in lines


SIZES = [4 << shift for shift in range(0, 21, 2)] + [2048, 8192, 12287, 12288, 12289, 13312, 14000, 32768]


def latencies(folder, **variables):
    """By size, in seconds."""
    jobs = [{"name": f"b{size}", "nodes": f"{4 * i}-{4 * i + 1}", "workload": "mad_ping", "args": {"bytes": size, "iterations": 3},
             "env": variables} for i, size in enumerate(SIZES)]
    file = folder / "curve.yaml"
    file.write_text(json.dumps({"name": "curve", "fabric": {"preset": "group", "profile": "xc40_hsw"}, "jobs": jobs}))
    result = jacquard.run(file)
    assert result.exit_code == 0, result.report()
    return [result.metric(f"b{size}.latency")["p50"] for size in SIZES]


def test_mad_99_choice_of_the_transfer_method(tmp_path):
    forced = [latencies(tmp_path, MAD_GNI_SMSG_MAX=1 << 30), latencies(tmp_path, MAD_GNI_SMSG_MAX=0, MAD_GNI_BTE_MIN=1 << 30),
              latencies(tmp_path, MAD_GNI_SMSG_MAX=0, MAD_GNI_BTE_MIN=0)]
    chosen = latencies(tmp_path)
    for size, value, *others in zip(SIZES, chosen, *forced, strict=True):
        assert value <= 1.05 * min(others), (size, value, others)


def test_mad_41_mad_100_mad_ping_in_simulation(tmp_path):
    options = ["-min_size", 4, "-max_size", 70000, "-step", 0, "-nb_tests", 2, "-nb_echantillons", 20, "-control_receive_on"]
    result, lines = simulate(BIN / "mad_ping", *options, folder=tmp_path)
    assert result.exit_code == 0, result.report()
    table = [(int(size), float(value)) for size, value in map(str.split, lines)]
    assert [size for size, _ in table] == [4 << shift for shift in range(15)]
    assert 0.5 < table[0][1] < 1.5 and all(value < 60 for _, value in table)  # us
    again, printed = simulate(BIN / "mad_ping", *options, folder=tmp_path)
    assert (again.digest, printed) == (result.digest, lines)


# Table 2 of the paper: latency of 4 bytes in us, bandwidth of 1 MiB in MB/s; Madeleine I had 77.4 us and 5.9 us.
@pytest.mark.parametrize("network, latency, bandwidth, least, most", [("ethernet", 67.2, 11.0, 59.8, 77.4), ("sisci", 7.9, 57.0, 5.9, 8.7)])
def test_mad_91_mad_92_table_2_by_mad_ping(tmp_path, network, latency, bandwidth, least, most):
    options = ["-nb_tests", 1, "-nb_echantillons", 5, "-step", 0]
    variables = {"MAD_ADAPTERS": SIMULATED[network], "MAD_SISCI_SEGMENTS": 1}
    _, short = simulate(BIN / "mad_ping", "-min_size", 4, "-max_size", 4, *options, variables=variables, folder=tmp_path)
    _, long = simulate(BIN / "mad_ping", "-min_size", 1 << 20, "-max_size", 1 << 20, "-bandwidth_on", *options, variables=variables, folder=tmp_path)
    assert float(short[0].split()[1]) == pytest.approx(latency, rel=0.1)
    assert least < float(short[0].split()[1]) < most
    assert float(long[0].split()[1]) == pytest.approx(bandwidth, rel=0.1)


@pytest.mark.parametrize("variable", ["MAD_GNI_SMSG_MAX", "MAD_GNI_BTE_MIN", "MAD_TCP_EAGER", "MAD_LNET_EAGER_MAX", "MAD_LNET_PORTAL"])
def test_mad_80_parameters_that_differ(tmp_path, variable):
    script = tmp_path / "differ"
    script.write_text(f'#!/bin/sh\n{variable}=$((PMI_RANK % 2)) exec "{BIN}/mad_test"\n')
    script.chmod(0o755)
    done = launcher.run("-n", 3, script)
    assert done.returncode != 0
    assert re.search(r"FAILURE: rank 1 has 1,3,0,\d,[0-9a-f]{8} rank 0 has 1,3,0,\d,[0-9a-f]{8}", done.stderr)


def test_mad_80_adapters_that_differ(tmp_path):
    script = tmp_path / "differ"
    script.write_text(f'#!/bin/sh\n[ $PMI_RANK = 1 ] && export MAD_ADAPTERS=tcp,tcp || export MAD_ADAPTERS=tcp\nexec "{BIN}/mad_test"\n')
    script.chmod(0o755)
    done = launcher.run("-n", 3, script)
    assert done.returncode != 0
    assert re.search(r"FAILURE: rank 1 has 1,3,0,2,[0-9a-f]{8} rank 0 has 1,3,0,1,[0-9a-f]{8}", done.stderr)


def test_no_fabric():
    """Without credentials there is no adapter of GNI, and the list of default adapters leaves it out."""
    done = launcher.run("-n", 2, BIN / "mad_test", env=launcher.environment(MAD_ADAPTERS="gni"))
    assert done.returncode != 0 and "FAILURE: not supported" in done.stderr


VIOLATED = pytest.mark.parametrize("network", ["tcp", "shm", "gni", "lnet", "simulated", "lnet_simulated", "sisci", "ethernet", "via", "sbp", "mpi"])


@VIOLATED
def test_mad_25_a_violation_ends_the_senders_wait(run_case, network):
    """The receiver finds another block than its own before a long one comes, and the sender of that does not hang."""
    run_case(network, "violation", check=2, source="violations")


@VIOLATED
def test_mad_25_mad_88_a_violation_between_two_of_three(run_case, network):
    """The sender reaches a third rank, and the channels close, while the receiver does not wait for messages."""
    run_case(network, "violation_of_three", size=3, check=2, source="violations")


@VIOLATED
def test_mad_83_mad_88_channels_close_after_a_violation(run_case, network):
    """The sender does not learn of it before it closes the channel; no process of the session reports a failure of the close."""
    run_case(network, "violation_at_the_end", size=3, check=2, source="violations")


@pytest.mark.parametrize("lost", range(3))
@pytest.mark.parametrize("adapters", ["sisci", "sisci,tcp", "sisci,gni"])
def test_mad_33_mad_64_a_lost_credit_of_another_channel(run_case, adapters, lost):
    """The card gives up one store of the receiver after 16 tries. The receiver waits on another channel, also on one of another driver,
    and the credit is stored again."""
    run_case("sisci", "credit_elsewhere", adapters=adapters, variables={"MAD_SISCI_SEGMENTS": "1"},
             faults=[{"at": "net.packet", "network": "sci", "do": "drop", "source": 1, "target": 0, "skip": lost, "count": 16}])


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("settings", [{}, {"MAD_SISCI_SEGMENTS": "1"}, {"MAD_SISCI_DMA_MIN": "5000"}])
def test_mad_64_mad_76_threads_where_most_lines_are_lost(run_case, settings, seed):
    """The card gives up one line of 14: no chunk of hundreds of lines gets through as a whole. Of two threads that store into one
    segment, the one that did not see the error stores again, too."""
    run_case("sisci", "duplex", variables=settings, seed=seed,
             faults=[{"at": "net.packet", "network": "sci", "do": "drop", "probability": 0.85}])


@pytest.mark.parametrize("driver", ["tcp", "shm"])
def test_mad_87_a_program_that_polls_learns_of_deaths(compiled, driver):
    done = launcher.run("-n", 3, "-disable-auto-cleanup", compiled("violations", *WARNINGS), "poll_deserted", env=launcher.environment(MAD_ADAPTERS=driver))
    assert done.stdout == "both have gone\n", done


def test_a_deadlock_is_named(compiled, tmp_path):
    """Both ranks send a long block, and none of them is ready to receive."""
    result, _ = simulate(program_of(compiled), "deadlock", folder=tmp_path, variables={"MAD_ADAPTERS": "gni"})
    assert result.exit_code != 0
    assert "job.0 waits for the receiver of a block, peer job.1 on Madeleine's channel ch1" in "\n".join(result.problems), result.report()
