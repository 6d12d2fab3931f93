# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The messages of the programs about files that they cannot use: full disks, devices, pipes, folders, invalid text."""

import os
import subprocess
from pathlib import Path

import pytest
from jacquard.runner import build_directory

GOOD = "jobs: [{name: a, nodes: 0-3, workload: barrier}]\n"


def tool(name, *arguments, **options):
    options = {"stdout": subprocess.PIPE, **options}
    return subprocess.run([build_directory() / "bin" / name, *arguments], stderr=subprocess.PIPE, text=True, timeout=60, **options)


@pytest.fixture
def good(tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    return file


@pytest.fixture
def fabric(tmp_path):
    """The socket of a live fabric. sim-run prints when it exists, and ends when nobody reads its output any more."""
    reading, writing = os.pipe()
    socket = tmp_path / "fabric"
    server = subprocess.Popen([build_directory() / "bin/sim-run", "--live", f"--socket={socket}", f"--ready-fd={writing}", "--quiet"],
                              pass_fds=[writing])
    os.close(writing)
    assert os.read(reading, 4096)
    yield socket
    server.terminate()
    server.wait(timeout=60)
    os.close(reading)


def one_line(done, *parts):
    assert done.returncode not in (0, -11), done
    assert done.stderr.count("\n") == 1 and all(part in done.stderr for part in parts), done.stderr


@pytest.mark.parametrize("name, arguments", [
    ("sim-run", ["--help"]), ("sim-run", ["--version"]), ("sim-run", ["--list-workloads"]), ("sim-run", ["--list-params", "--json"]),
    ("sim-run", ["--schema-markdown"]), ("sim-run", ["{good}"]), ("sim-run", ["--json", "{good}"]), ("sim-run", ["--check", "{good}"]),
    ("sim-run", ["campaign", "--help"]), ("sim-run", ["campaign", "--schema"]),
    ("sim-run", ["--seeds=1-2", "{good}"]), ("sim-run", ["--seeds=1-2", "--json", "{good}"]),
    ("pmrun", ["-help"]), ("pmrun", ["-version"]), ("pmrun", ["-list-options"]),
    ("jacquard", ["--help"]), ("jacquard", ["--version"]), ("jacquard-fabricd", ["--help"])])
def test_full_disk(good, name, arguments):
    with open("/dev/full", "w") as full:
        done = tool(name, *(argument.format(good=good) for argument in arguments), stdout=full)
    one_line(done, name, "standard output: No space left on device")


def test_full_disk_while_a_fabric_is_watched(fabric):
    assert tool("jacquard", "top", "--once", fabric).returncode == 0
    with open("/dev/full", "w") as full:
        one_line(tool("jacquard", "top", "--once", fabric, stdout=full), "jacquard: standard output: No space left on device")


def test_trace_follows_links_and_replaces_only_files(good, tmp_path):
    trace, link, pipe = tmp_path / "run.pftrace", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(trace.name)
    assert tool("sim-run", good, f"--trace={link}").returncode == 0
    assert link.is_symlink() and trace.stat().st_size > 100  # it did not exist before
    written, before = trace.read_bytes(), trace.stat().st_ino
    trace.write_bytes(b"old")
    assert tool("sim-run", good, f"--trace={link}").returncode == 0
    assert link.is_symlink() and trace.read_bytes() == written and trace.stat().st_ino != before
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert tool("sim-run", good, f"--trace={pipe}").returncode == 0
    assert pipe.is_fifo() and os.read(reader, 1 << 20) == written
    os.close(reader)
    assert tool("sim-run", good, "--trace=/dev/null").returncode == 0 and Path("/dev/null").is_char_device()
    assert sorted(os.listdir(tmp_path)) == ["good.yaml", "link", "pipe", "run.pftrace"]
    one_line(tool("sim-run", good, "--trace=/dev/full"), "cannot write /dev/full: No space left on device\n")


@pytest.mark.parametrize("arguments, said", [
    (["--json=x.json"], "sim-run: --json takes no value; see sim-run --help"), (["--quiet=1"], "--quiet takes no value"),
    (["--trace", "no/x.pftrace"], "cannot write no/x.pftrace: No such file or directory\n"), (["--trace="], "--trace: an empty name"), (["--out="], "--out: an empty name"),
    (["--report="], "--report: an empty name"), (["--trace=x", "--report=x"], "--report: x is also the file of --trace"),
    (["--trace=x", "--out=y"], "--trace: not together with --out, which writes trace.pftrace")])
def test_options_that_would_lose_something(good, tmp_path, arguments, said):
    one_line(tool("sim-run", *arguments, good, cwd=tmp_path), said)
    assert os.listdir(tmp_path) == ["good.yaml"]


def test_an_empty_file_is_no_scenario_and_no_campaign(tmp_path):
    (tmp_path / "empty.yaml").touch()
    for command in [[], ["campaign"]]:
        one_line(tool("sim-run", *command, tmp_path / "empty.yaml"), "empty.yaml:1: empty; allowed: a mapping\n")
    one_line(tool("sim-run", "campaign", "--json=3", tmp_path / "empty.yaml"), "sim-run campaign: --json takes no value")


def test_a_sweep_refuses_its_output_before_it_runs(good, tmp_path):
    (tmp_path / "kept.json").write_text("kept")
    for arguments, said in [(["-o", "no/x.json"], "no/x.json: No such file or directory"), (["-o", "."], ".: Is a directory"),
                            (["-o", "kept.json/x"], "kept.json/x: Not a directory"), (["-o", "x.json", "-j", "-3"], "-3: allowed: 0 to 256"),
                            (["-o", "x.json", "-j", "257"], "257: allowed: 0 to 256")]:
        one_line(tool("jacquard", "sweep", good, *arguments, cwd=tmp_path), "jacquard sweep: ", said)
    assert sorted(os.listdir(tmp_path)) == ["good.yaml", "kept.json"] and (tmp_path / "kept.json").read_text() == "kept"


def test_only_files_that_end_are_read(good, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for what in ["/dev/zero", pipe]:
        one_line(tool("sim-run", what), f"{what}: is no regular file; allowed: a file, or a pipe on /dev/stdin")
        program = tmp_path / "program.yaml"
        program.write_text(f"jobs:\n- {{name: a, nodes: 0-3, program: {what}}}\n")
        one_line(tool("sim-run", program), "program.yaml:2: jobs.0.program: is no regular file")
        one_line(tool("jacquard-fabricd", f"--scenario={what}", tmp_path / "socket"), f"{what} is no file of at most 1 MiB")
    one_line(tool("sim-run", tmp_path), "is a folder; allowed: a file")
    one_line(tool("sim-run", tmp_path / "nosuch"), "nosuch: No such file or directory")
    for option in ["-hostfile", "-configfile"]:
        one_line(tool("pmrun", option, "/dev/zero", "-n", "1", "true"), "/dev/zero: is no regular file")
    large = tmp_path / "large.yaml"
    large.write_text(GOOD + "#" * (1 << 20))
    one_line(tool("sim-run", large), "is too large; allowed: 1048576 bytes")
    assert tool("sim-run", "--check", "/dev/stdin", input=GOOD).returncode == 0  # a pipe that the user has put there


def test_text_of_scenarios(good, tmp_path):
    file = tmp_path / "scenario.yaml"
    for text in ["[" * 40000, "a: " + "{b: " * 40000, "\n".join(" " * i + "- " for i in range(900))]:
        file.write_text(text)
        one_line(tool("sim-run", file), "scenario.yaml:", "nested too deeply; allowed: 32 levels")
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())  # the mark of UTF-8
    assert tool("sim-run", "--check", file).returncode == 0
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode() + b"nosuch: 1\n")
    one_line(tool("sim-run", "--check", file), "scenario.yaml:2: nosuch")


@pytest.mark.parametrize("text, said", [
    ("sweep:\n  jobs.a.nodes:\n  - 0-1\n  - nonsense\n", "scenario.yaml:5: sweep: jobs.0.nodes: \"nonsense\""),
    ("sweep:\n  jobs.b.nodes: [0-1]\n", "scenario.yaml:3: sweep: b: no such item"),
    ("sweep:\n  sweep.seed: [1, 2]\n", "scenario.yaml:3: sweep.sweep.seed: a sweep cannot vary itself"),
    ("sweep:\n  seed: [1]\n  sweep: [1, 2]\n", "scenario.yaml:4: sweep.sweep: a sweep cannot vary itself")])
def test_sweeps_name_file_and_line(tmp_path, text, said):
    file = tmp_path / "scenario.yaml"
    file.write_text(GOOD + text)
    one_line(tool("sim-run", "--check", file), said)
    if "vary" not in said:
        done = tool("sim-run", file)
        assert done.returncode in (1, 2) and said in done.stdout
