# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Madeleine II between processes that pmrun starts: mad_test, mad_ping, programs of the year 2000, and a process that dies."""

import re
import subprocess
import sys
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

sys.path.insert(0, str(jacquard.ROOT / "tests/pmrun"))
import launcher

HERE = Path(__file__).parent
BIN = launcher.BUILD / "bin"
HEADERS = jacquard.ROOT / "stack/madeleine/include"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Compiles a program against the headers alone, as users do."""
    folder = tmp_path_factory.mktemp("madeleine")

    def compile_program(name, *options):
        program = folder / name
        command(["gcc", *options, f"-I{HEADERS}", HERE / f"{name}.c", "-o", program,
                 f"-L{launcher.BUILD}/lib", "-lmadeleine", f"-Wl,-rpath,{launcher.BUILD}/lib"])
        return program

    return compile_program


def good(size, *arguments, **variables):
    done = launcher.run("-n", size, *arguments, env=launcher.environment(**variables))
    assert done.returncode == 0, done.stdout + done.stderr
    return done


VARIABLES = [{}, {"MAD_TCP_EAGER": "1"}, {"MAD_CHECK": "1"}, {"MAD_CHECK": "2"}, {"MAD_WAIT": "busy"}, {"MAD_ADAPTERS": "shm"},
             {"MAD_ADAPTERS": "shm", "MAD_CHECK": "2"}, {"MAD_ADAPTERS": "shm", "MAD_WAIT": "busy"}]


@pytest.mark.parametrize("variables", VARIABLES, ids=lambda variables: "-".join(variables.values()) or "default")
@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_mad_19_mad_9_eight_blocks(size, variables):
    lines = good(size, BIN / "mad_test", **variables).stdout.splitlines()
    pairs = {tuple(map(int, re.match(r"(\d+) <- (\d+): 1 2 3 4 5 6, the sender is rank \2: good$", line).groups())) for line in lines}
    assert pairs == {(to, of) for to in range(size) for of in range(size) if to != of}
    assert len(lines) == len(pairs)


def ping(*options, **variables):
    """The table of sizes and values on standard error."""
    lines = good(2, BIN / "mad_ping", "-nb_tests", 2, "-nb_echantillons", 20, *options, **variables).stderr.splitlines()
    assert all(re.fullmatch(r" *\d+ \d+\.\d{3}", line) for line in lines), lines
    return [(int(size), float(value)) for size, value in map(str.split, lines)]


def test_mad_100_sizes_and_output():
    assert [size for size, _ in ping()] == [1, *range(4, 257, 4)]  # the defaults: from 0, which becomes 1, to 256 in steps of 4
    assert [size for size, _ in ping("-min_size", 4, "-max_size", 70000, "-step", 0)] == [4 << shift for shift in range(15)]
    assert all(value > 0 for _, value in ping("-max_size", 16))


@pytest.mark.parametrize("send", ["safer", "later", "cheaper"])
@pytest.mark.parametrize("receive", ["express", "cheaper"])
def test_mad_100_modes_and_control(send, receive):
    sizes = ping(f"-send_{send}", f"-receive_{receive}", "-control_receive_on", "-min_size", 1, "-max_size", 200000, "-step", 66666)
    assert [size for size, _ in sizes] == [1, 66667, 133333, 199999]


def test_mad_100_bandwidth_and_migration():
    (size, latency), = ping("-min_size", 1000000, "-max_size", 1000000)
    (_, bandwidth), = ping("-min_size", 1000000, "-max_size", 1000000, "-bandwidth_on")
    assert size == 1000000
    assert bandwidth > 10 and latency > 10  # MB/s, µs
    assert [size for size, _ in ping("-migration")] == [636]


def test_mad_100_control_finds_a_wrong_byte(tmp_path):
    """A library that is loaded before changes byte 1234 of what the eleventh large receive returns."""
    library = tmp_path / "corrupt.so"
    command(["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", HERE / "corrupt.c", "-o", library, "-ldl"])
    options = ["-nb_tests", 1, "-nb_echantillons", 20, "-control_receive_on", "-min_size", 5000, "-max_size", 5000]
    done = launcher.run("-n", 2, BIN / "mad_ping", *options, env=launcher.environment(MAD_ADAPTERS="tcp", LD_PRELOAD=str(library)))
    assert done.returncode != 0
    assert done.stderr.count("Bad data at byte 1234\n") == 2  # in each of the two processes


def test_mad_100_help():
    text = command([BIN / "mad_ping", "--help"])
    options = set(re.findall(r" (-\w+)", text))
    assert {"-min_size", "-max_size", "-step", "-nb_tests", "-nb_echantillons", "-control_receive_on", "-migration"} <= options
    for option in sorted(options - {"-n", "-min_size", "-max_size", "-step", "-nb_tests", "-nb_echantillons"}):
        ping("-min_size", 4, "-max_size", 4, option)  # none of them is unknown


def test_mad_100_invalid_options():
    for options in (["-nb_tests", "0"], ["-no_such_option"], ["-max_size"]):
        done = launcher.run("-n", 2, BIN / "mad_ping", *options)
        assert done.returncode != 0
        assert "mad_ping: invalid option" in done.stderr


@pytest.mark.parametrize("size", [2, 4])
def test_mad_101_a_program_of_the_year_2000(compiled, size):
    program = compiled("year2000", "-std=gnu89", "-Wall")
    done = good(size, program, "-rank-like", "argument")
    assert done.stdout == f"TCP0: sum {(size - 1) * 499500}\n"
    assert sorted(done.stderr.splitlines()) == [f"process {rank} of {size}, 3 arguments" for rank in range(size)]


@pytest.mark.parametrize("size", [2, 4])
def test_mad_102_a_program_of_2008(compiled, size):
    program = compiled("year2008", "-std=gnu99", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}/compat/mad2_2008")
    assert good(size, program).stdout == f"the token has passed {size} processes\n"


@pytest.mark.parametrize("driver", ["tcp", "shm"])
def test_mad_83_sessions_one_after_the_other(compiled, driver):
    program = compiled("year2008", "-std=gnu99", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}/compat/mad2_2008")
    assert good(3, program, 4, MAD_ADAPTERS=driver).stdout == "the token has passed 3 processes\n" * 4


def test_mad_101_the_header_of_2000(compiled):
    program = compiled("year2000", "-std=gnu89", "-Wall", f"-I{HEADERS}/compat/mad2_2000")
    assert good(2, program).stdout == "TCP0: sum 499500\n"


def test_mad_101_the_toolbox_and_the_headers_of_2000(compiled):
    program = compiled("year2000_toolbox", "-std=gnu89", "-Wall", "-Werror", f"-I{HEADERS}/compat/mad2_2000")
    done = good(3, program, MAD_ADAPTERS="tcp")
    assert done.stderr == f"TCP0: 3 processes\nsum = {3 + 33 + 63}\ntext : words\nwork: -->\n"
    program = compiled("year2000_toolbox", "-std=gnu89", "-Wall", "-Werror", "-DDEBUG", "-DTRACING", f"-I{HEADERS}/compat/mad2_2000")
    lines = good(3, program, MAD_ADAPTERS="tcp").stderr.splitlines()
    assert {"sum_of: -->", "sum = 33", "sum_of: <--", "not shown"} <= set(lines)


@pytest.mark.parametrize("spawn", ["REGULAR_SPAWN", "APPLICATION_SPAWN", "LEONIE_SPAWN"])
def test_mad_101_three_forms_of_the_start(compiled, spawn):
    program = compiled("year2000_spawn", "-std=gnu89", "-Wall", "-Werror", f"-D{spawn}")
    done = good(2, program, "url", **({"MAD_ADAPTERS": "tcp"} if spawn == "LEONIE_SPAWN" else {}))
    assert done.stdout == "TCP0: 17 from 0\n"
    assert done.stderr == ("x-nexus://\n" * 2 if spawn == "APPLICATION_SPAWN" else "")


CHANNELS = """
networks : ({ name : net; hosts : node; dev : tcp; });
application : { name : example; networks : {
  channels : ({ name : all; net : net; hosts : node[0..3]; }, { name : some; net : net; hosts : node[1..3]; },
              { name : rail; net : net; hosts : node[0..3]; });
  xchannels : ({ name : mux; channels : (rail); sub_channels : (one, two); }); }; };
"""


def test_mad_101_a_program_of_madeleine_3(compiled, tmp_path):
    (tmp_path / "channels.cfg").write_text(CHANNELS)
    for folder in ("mad3", "mad2_2008"):
        program = compiled("madeleine3", "-std=gnu99", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}/compat/{folder}")
        lines = good(4, program, MAD_CONF=str(tmp_path / "channels.cfg")).stdout.splitlines()
        assert sorted(lines) == ["all: from 0, 4 hops of 4", "mux: from 0, 4 hops of 4", "processes = 4", "rank 0 is not in some",
                                 "some: from 1, 3 hops of 3"]
        assert good(1, program).stdout == "processes = 1\nno channels: here\n"


def test_mad_103_mad_35_figures_of_the_paper(compiled):
    assert good(2, compiled("figures", "-Wall", "-Wextra", "-Werror")).stdout == "a title, 9\n"


CONFIGURATION = """
application : { name : example; flavor : mad2;
  networks : { include : "networks.cfg";
    channels : (
      { name : all; net : first; hosts : localhost[0..2]; },
      { name : pair; net : second; hosts : localhost[1..2]; check : 2; }); }; };
"""
NETWORKS = """
networks : ({ name : first; hosts : localhost; dev : %s; }, { name : second; hosts : localhost; dev : %s; params : { eager : 1; }; });
"""


@pytest.mark.parametrize("drivers", [("tcp", "shm"), ("shm", "tcp")], ids=" ".join)
@pytest.mark.parametrize("how", ["argument", "MAD_CONF"])
def test_mad_85_channels_of_a_configuration_file(compiled, tmp_path, drivers, how):
    (tmp_path / "networks.cfg").write_text(NETWORKS % drivers)
    file = tmp_path / "main.cfg"
    file.write_text(CONFIGURATION)
    program = compiled("configured", "-Wall", "-Wextra", "-Werror")
    done = good(3, program, file) if how == "argument" else good(3, program, MAD_CONF=str(file))
    name = f"{drivers[0].upper()}0"
    assert done.stdout == f"all on {name}, adapters: 2\n1 mad_get_channel: this process has no channel pair\nround and round\n"


def test_mad_85_a_wrong_configuration_file(compiled, tmp_path):
    program = compiled("configured", "-Wall", "-Wextra", "-Werror")
    file = tmp_path / "main.cfg"
    for content, expected in ((CONFIGURATION.replace("[0..2]", "[0..3]"), "another number of hosts"), (CONFIGURATION.replace("net : first", "net ! first"),
                              f"11 {file}:5:25: a character that the language does not have"), (CONFIGURATION, "networks.cfg: the file cannot be read")):
        file.write_text(content)
        (tmp_path / "networks.cfg").unlink(missing_ok=True)
        if "read" not in expected:
            (tmp_path / "networks.cfg").write_text(NETWORKS % ("tcp", "tcp"))
        done = launcher.run("-n", 3, program, file)
        assert done.returncode != 0
        assert expected in done.stdout


def test_mad_86_alone():
    """Without a process manager the session has one process, which has nobody to talk to."""
    assert command([BIN / "mad_test"], env=launcher.environment()) == ""
    done = subprocess.run([BIN / "mad_ping"], env=launcher.environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "two processes are needed" in done.stderr


@pytest.mark.parametrize("driver", ["tcp", "shm"])
def test_mad_87_a_process_is_killed(compiled, driver):
    """Rank 0 waits for messages; the others die one after the other, the last of them inside a message."""
    done = launcher.run("-n", 3, "-disable-auto-cleanup", compiled("killed", "-Wall", "-Wextra", "-Werror"),
                        env=launcher.environment(MAD_ADAPTERS=driver))
    assert "from 2: 7\nEPEER inside\nEPEER, no peer is left\n" in done.stdout


@pytest.mark.parametrize("how", ["environment", "file"])
def test_mad_80_parameters_that_differ_between_processes(compiled, tmp_path, how):
    """A parameter that decides how blocks travel: rank 1 has another value, and every process is told."""
    program = compiled("configured", "-Wall", "-Wextra", "-Werror")
    (tmp_path / "networks.cfg").write_text(NETWORKS % ("tcp", "tcp"))
    (tmp_path / "main.cfg").write_text(CONFIGURATION)
    if how == "file":
        (tmp_path / "0.cfg").write_text(CONFIGURATION.replace("networks.cfg", "other.cfg"))
        (tmp_path / "other.cfg").write_text(NETWORKS.replace("eager : 1", "eager : 0") % ("tcp", "tcp"))
        change = f'case $PMI_RANK in 1) export MAD_CONF="{tmp_path}/0.cfg";; *) export MAD_CONF="{tmp_path}/main.cfg";; esac'
    else:
        change = "case $PMI_RANK in 1) export MAD_TCP_EAGER=1;; esac"
    script = tmp_path / "differ"
    script.write_text(f'#!/bin/sh\n{change}\nexec "{program}"\n')
    script.chmod(0o755)
    done = launcher.run("-n", 3, script)
    assert done.returncode != 0
    found = re.findall(r"^11 rank 1 has (1,3,0,\d,[0-9a-f]{8}) rank 0 has (1,3,0,\d,[0-9a-f]{8})$", done.stdout, re.MULTILINE)
    assert len(found) == 3
    assert all(mine != others for mine, others in found)


def test_mad_80_adapters_that_differ_between_processes(tmp_path):
    script = tmp_path / "differ"
    script.write_text(f'#!/bin/sh\ncase $PMI_RANK in 2) export MAD_ADAPTERS=tcp,loop;; *) export MAD_ADAPTERS=tcp,shm;; esac\nexec "{BIN}/mad_test"\n')
    script.chmod(0o755)
    done = launcher.run("-n", 3, script)
    assert done.returncode != 0
    values = re.search(r"FAILURE: rank 2 has (1,3,0,2,[0-9a-f]{8}) rank 0 has (1,3,0,2,[0-9a-f]{8})", done.stderr)
    assert values and values[1] != values[2]


def test_mad_78_a_list_with_an_unknown_driver():
    done = launcher.run("-n", 1, BIN / "mad_test", env=launcher.environment(MAD_ADAPTERS="tcp,myrinet"))
    assert done.returncode != 0
    assert "FAILURE: invalid list of adapters: tcp,myrinet" in done.stderr


def test_mad_80_mad_28_levels_that_differ_between_processes(tmp_path):
    script = tmp_path / "differ"
    script.write_text(f'#!/bin/sh\nMAD_CHECK=$((PMI_RANK % 2)) exec "{BIN}/mad_test"\n')
    script.chmod(0o755)
    done = launcher.run("-n", 3, script)
    assert done.returncode != 0
    assert re.search(r"FAILURE: rank 1 has 1,3,1,3,[0-9a-f]{8} rank 0 has 1,3,0,3,[0-9a-f]{8}", done.stderr)
