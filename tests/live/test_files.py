# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The files of a Cray node that live processes find: those of their own emulated node, however they ask."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fabric import BUILD, PMRUN, environment, fabric, run  # noqa: E402

SOURCE = Path(__file__).parent / "node_files.c"
FILES = ["/proc/cray_xt/nid", "/proc/cray_xt/cname", "/proc/job", "/proc/version", "/proc/self/task/1/task_is_app",
         "/etc/opt/cray/release/clerelease"]
NID, CNAME = FILES[:2]


def compiled(path, *options):
    """None: this compiler has no such thing."""
    done = run("gcc", "-O1", *options, SOURCE, "-o", path)
    return path if done.returncode == 0 else None


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("files") / "node_files")


def output(*command, **options):
    done = run(PMRUN, "--fabric", "--fabric-report", "none", "-n", 1, *command, **options)
    return done.returncode, done.stdout, done.stderr


def test_ranks_read_the_files_of_their_nodes(tmp_path):
    (tmp_path / "scenario.yaml").write_text("fabric: {topology: dragonfly, preset: xc-2-groups}\n"
                                            "jobs: [{name: a, nodes: '5,167,400', workload: smsg_pingpong}]\n")
    done = run(PMRUN, "--fabric", tmp_path / "scenario.yaml", "--fabric-report", "none", "cat", NID, CNAME)
    words = done.stdout.split()
    assert done.returncode == 0 and sorted(words) == ["167", "400", "5", "c0-0c0s1n1", "c0-0c2s9n3", "c1-0c0s4n0"], done
    done = run(PMRUN, "--fabric", tmp_path / "scenario.yaml", "--fabric-report", "none", "sh", "-c", f"echo $JACQUARD_NODE $(cat {NID})")
    assert sorted(done.stdout.splitlines()) == ["167 167", "400 400", "5 5"]


@pytest.mark.parametrize("file", FILES)
def test_every_interface_gives_the_same(program, file):
    code, said, errors = output(program, file)
    assert code == 0 and said.endswith("\n") and errors == "", said


def test_other_files_are_the_machines(program, tmp_path):
    assert output(program, "/nosuch", tmp_path) == (0, "", "")


def test_a_fabric_that_stays_says_it_too(program):
    with fabric() as running:
        for node, name in (None, "c0-0c0s0n0"), ("7", "c0-0c0s1n3"):
            more = {} if node is None else {"JACQUARD_NODE": node}
            assert run(program, CNAME, env=environment(**running.exports, **more)).stdout == f"{name}\n"


def test_who_does_not_want_them():
    absent = (1, "", f"cat: {NID}: No such file or directory\n")
    assert output("cat", NID, env=environment(JACQUARD_NODE_FILES="no")) == absent
    assert output("--genv", "LD_PRELOAD", "", "cat", NID) == absent
    with fabric(env=environment(JACQUARD_NODE_FILES="no")) as running:
        assert "LD_PRELOAD" not in running.exports and "JACQUARD_GROUP" not in running.exports


def test_the_library_alone_changes_nothing(program, tmp_path):
    with fabric() as running:
        library = running.exports["LD_PRELOAD"]
        for group in {}, {"JACQUARD_GROUP": "nonsense"}, {"JACQUARD_GROUP": "6x0"}:
            done = run("cat", NID, env=environment(LD_PRELOAD=library, JACQUARD_NODE="3", **group))
            assert done.stderr == f"cat: {NID}: No such file or directory\n"


def test_what_the_user_preloads_comes_first():
    code, said, _ = output("printenv", "LD_PRELOAD", env=environment(LD_PRELOAD="libm.so.6"))
    assert code == 0 and said.startswith("libm.so.6:/")


def test_static_programs_see_the_machine(tmp_path):
    program = compiled(tmp_path / "static", "-static")
    if program is None:
        pytest.skip("no static C library")
    code, said, errors = output(program, NID)
    assert code == 1 and "No such file" in said and errors == ""


def test_sanitized_programs_run(tmp_path):
    program = compiled(tmp_path / "sanitized", "-fsanitize=address,undefined")
    if program is None or subprocess.run([program, "/nosuch", tmp_path], check=False).returncode != 0:
        pytest.skip("no sanitizer")
    (tmp_path / "new").unlink()
    assert output(program, NID) == (0, "0\n", "")
    assert output(program, "/nosuch", tmp_path) == (0, "", "")


def test_in_a_folder_with_blanks(tmp_path):
    """LD_PRELOAD knows no quotes: the library gets another name as long as the fabric runs."""
    prefix = tmp_path / "a prefix"
    for name in ["bin/sim-run", "lib/jacquard/libjacquard-node.so"]:
        (prefix / name).parent.mkdir(parents=True)
        shutil.copy(BUILD / name, prefix / name)
    folder = Path(tempfile.mkdtemp(prefix="jacquard-"))
    try:
        with subprocess.Popen([prefix / "bin/sim-run", "--live", "--socket", folder / "fabric"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()) as process:
            said = next(line for line in process.stdout if "LD_PRELOAD" in line)
            name = folder / "fabric.node.so"
            assert str(name) in said and name.resolve() == (prefix / "lib/jacquard/libjacquard-node.so").resolve()
            process.terminate()
            process.stdout.read()
        assert process.returncode == 0 and not list(folder.iterdir())
    finally:
        shutil.rmtree(folder)
