# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Madeleine's MPI driver over the MPI libraries of the system, started by their launchers and by pmrun."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

sys.path.insert(0, str(jacquard.ROOT / "tests/pmrun"))
import launcher

HERE = Path(__file__).parent
BIN, LIB = launcher.BUILD / "bin", launcher.BUILD / "lib"
OPENMPI = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe")
LAUNCHERS = {"mpich": ("mpiexec.mpich",), "openmpi": OPENMPI, "pmrun-mpich": (BIN / "pmrun",), "pmrun-openmpi": (BIN / "pmrun", "--ompi")}


def has(name):
    """The MPI library is installed, and the driver was built for it: builds with sanitizers have none."""
    kind = name.split("-")[-1]
    return shutil.which(f"mpicc.{kind}") and (LIB / f"libmadeleine-{kind}.so").exists()


BOTH = pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.skipif(not has(name), reason="there is no MPI driver for it"))
                                        for name in LAUNCHERS])


@pytest.fixture
def run(tmp_path):
    """What a job prints. The ranks' shared memory is in a folder, as /dev/shm of a container has 64 MiB."""

    def run_job(name, size, *arguments, **variables):
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PMI", "HYDI", "MPI", "OMPI", "SLURM", "MAD_"))}
        variables.setdefault("MAD_ADAPTERS", f"mpi:{name.split('-')[-1]}")
        environment = {**clean, "UCX_POSIX_DIR": str(tmp_path), **variables}
        done = subprocess.run([*map(str, LAUNCHERS[name]), "-n", str(size), *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run_job


@BOTH
@pytest.mark.parametrize("size", [2, 3, pytest.param(8, marks=pytest.mark.full)])
def test_mad_19_eight_blocks(run, name, size):
    lines = run(name, size, BIN / "mad_test").stdout.splitlines()
    good = [line for line in lines if re.match(r"(\d+) <- (\d+): 1 2 3 4 5 6, the sender is rank \2: good$", line)]
    assert len(good) == len(lines) == size * (size - 1)


@BOTH
def test_mad_10_mad_11_mad_13_mad_14_modes(run, name):
    for send in ("safer", "later", "cheaper"):
        done = run(name, 2, BIN / "mad_ping", "-nb_tests", 1, "-nb_echantillons", 2, "-control_receive_on", f"-send_{send}", "-receive_express",
                   "-min_size", 1, "-max_size", 200000, "-step", 66666, MAD_CHECK="2" if send == "later" else "0")
        assert re.findall(r"^ *(\d+) \d+\.\d{3}$", done.stderr, re.MULTILINE) == ["1", "66667", "133333", "199999"]


CASES = {"later": 2, "long": 2, "figure_1": 2, "modes": 2, "thrice": 2, "empty": 2, "ready": 2, "half": 2, "several": 6, "senders": 8, "order": 2,
         "violation": 2, "violation_of_three": 3, "violation_at_the_end": 3}


def run_case(run, tmp_path, name, case, source="drivers", **variables):
    """A case of drivers.c, violations.c or blocks.c: every rank must find that it is good."""
    program = tmp_path / source
    command(["gcc", f"-I{jacquard.ROOT}/stack/madeleine/include", "-pthread", HERE / f"{source}.c", "-o", program, f"-L{LIB}", "-lmadeleine",
             f"-Wl,-rpath,{LIB}"])
    assert run(name, CASES[case], program, case, **variables).stdout.splitlines() == [case] * CASES[case]


# One launcher by default. With Open MPI the same driver runs over another library.
NAMES = pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.skipif(not has(name), reason="there is no MPI driver for it"),
                                                                   *([] if name == "pmrun-mpich" else [pytest.mark.full])])
                                         for name in ("pmrun-mpich", "openmpi")])


@NAMES
def test_mad_1_figure_1(run, tmp_path, name):
    run_case(run, tmp_path, name, "figure_1")


@NAMES
def test_mad_10_mad_11_mad_13_mad_14_mad_18_every_size_and_mode(run, tmp_path, name):
    run_case(run, tmp_path, name, "modes")


@NAMES
def test_mad_15_one_variable_three_times(run, tmp_path, name):
    run_case(run, tmp_path, name, "thrice")


@NAMES
def test_mad_12_memory_of_later_is_not_read_before_the_end(run, tmp_path, name):
    run_case(run, tmp_path, name, "later", "blocks")


@NAMES
def test_mad_22_messages_of_ten_thousand_blocks(run, tmp_path, name):
    run_case(run, tmp_path, name, "long", "blocks")


@NAMES
def test_mad_20_an_empty_message(run, tmp_path, name):
    run_case(run, tmp_path, name, "empty")


@NAMES
def test_mad_21_message_ready(run, tmp_path, name):
    run_case(run, tmp_path, name, "ready")


@NAMES
def test_mad_33_a_message_half_unpacked(run, tmp_path, name):
    run_case(run, tmp_path, name, "half")


@NAMES
def test_mad_9_mad_32_seven_senders(run, tmp_path, name):
    run_case(run, tmp_path, name, "senders")


@NAMES
def test_mad_36_one_incoming_and_several_outgoing(run, tmp_path, name):
    run_case(run, tmp_path, name, "several")


@NAMES
def test_mad_31_messages_in_order(run, tmp_path, name):
    run_case(run, tmp_path, name, "order")


@NAMES
@pytest.mark.parametrize("case", ["violation", "violation_of_three", "violation_at_the_end"])
def test_mad_25_mad_83_mad_88_a_violation(run, tmp_path, name, case):
    """The sender of a block that the receiver refuses does not hang; other connections get on, and all channels close."""
    run_case(run, tmp_path, name, case, "violations", MAD_CHECK="2")


@BOTH
def test_mad_58_mad_34_mad_53_communicators_and_groups(run, name, tmp_path):
    kind = name.split("-")[-1]
    program = tmp_path / "mpi_groups"
    command([f"mpicc.{kind}", "-Wall", "-Wextra", "-Werror", "-rdynamic", f"-I{jacquard.ROOT}/stack/madeleine/include", HERE / "mpi_groups.c",
             "-o", program, f"-L{LIB}", "-lmadeleine", f"-Wl,-rpath,{LIB}"])
    assert "good\n" in run(name, 2, program, MAD_ADAPTERS=f"mpi:{kind},tcp").stdout


@BOTH
def test_mad_85_a_channel_of_some_processes(run, name, tmp_path):
    kind = name.split("-")[-1]
    program, file = tmp_path / "configured", tmp_path / "main.cfg"
    command(["gcc", f"-I{jacquard.ROOT}/stack/madeleine/include", HERE / "configured.c", "-o", program, f"-L{LIB}", "-lmadeleine",
             f"-Wl,-rpath,{LIB}"])
    file.write_text(f"""
networks : ({{ name : first; hosts : node; dev : tcp; }}, {{ name : second; hosts : node; dev : mpi; adapter : {kind}; }});
application : {{ networks : {{ channels : (
  {{ name : all; net : first; ranks : 0..2; }}, {{ name : pair; net : second; ranks : (1, 2); }}); }}; }};
""")
    assert run(name, 3, program, MAD_CONF=str(file)).stdout.splitlines()[-1] == "round and round"


def test_mad_58_libmadeleine_needs_no_mpi():
    needed = re.findall(r"NEEDED.*\[(.*)\]", command(["readelf", "-d", LIB / "libmadeleine.so"]))
    assert needed and not [name for name in needed if "mpi" in name]


def test_mad_78_a_module_that_is_not_there():
    done = launcher.run("-n", 1, BIN / "mad_test", env=launcher.environment(MAD_ADAPTERS="mpi:lam"))
    assert done.returncode != 0
    assert "FAILURE: " in done.stderr
