# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""./dev where it does not depend on a build: what it says, and what it does without the right to install."""

import os
import subprocess

import jacquard
import pytest


def dev(*arguments, path=None):
    environment = dict(os.environ)
    if path:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    return subprocess.run([jacquard.ROOT / "dev", *arguments], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)


@pytest.fixture
def bare(tmp_path):
    """A system without packages and a user without rights, as far as ./dev can tell."""
    for name, text in {"dpkg-query": "exit 1", "id": "echo 1000", "sudo": "exit 1", "apt-get": "exit 99"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_help_names_every_command():
    done = dev("help")
    assert done.returncode == 0
    for command in "setup build run test bench lint coverage sanitize fuzz determinism generate clean".split():
        assert f"  {command}" in done.stdout
    assert "--full" in done.stdout


def test_unknown_command():
    done = dev("frobnicate")
    assert done.returncode == 2 and "usage" in done.stderr


@pytest.mark.parametrize("command", [["run", "scenarios/quickstart.yaml"], ["test"], ["setup"], ["bench", "engine"]])
def test_without_rights_it_prints_the_packages_and_stops(bare, command):
    done = dev(*command, path=bare)
    assert done.returncode == 1
    assert "apt-get install -y --no-install-recommends" in done.stderr and "libyaml-dev" in done.stderr
    # Running takes no test tools; testing does.
    assert ("python3-pytest" in done.stderr) == (command[0] in ("test", "setup"))


def test_run_without_a_scenario_says_what_is_missing():
    done = dev("run")
    assert done.returncode == 1 and "quickstart.yaml" in done.stderr


def test_unknown_preset():
    done = dev("build", "fast")
    assert done.returncode == 1 and "clang-debug" in done.stderr
