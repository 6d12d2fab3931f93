# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Completion of the installed programs in real shells: what a user gets who presses tab, and that it is what --help has."""

import os
import pty
import re
import select
import subprocess
import time

import pyte
import pytest
from jacquard.installed import Installed

TAB_SECONDS = 60


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("completion"))


def environment(installed, **more):
    return {"PATH": f"{installed.prefix}/bin:{os.environ['PATH']}", "HOME": "/nonexistent", "TERM": "xterm", "COLUMNS": "200", "LINES": "50", "LC_ALL": "C.UTF-8",
            "XDG_DATA_DIRS": f"{installed.prefix}/share", "HISTFILE": "", **more}


class Shell:
    """An interactive shell on a terminal."""

    def __init__(self, command, env):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, env)
        self.screen = pyte.Screen(200, 50)
        self.stream = pyte.ByteStream(self.screen)

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def until(self, text):
        """Reads until a line of the screen has this text."""
        deadline = time.monotonic() + TAB_SECONDS
        while not any(text in line for line in self.screen.display):
            ready, _, _ = select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))
            assert ready, "\n".join(line.rstrip() for line in self.screen.display).rstrip()
            self.stream.feed(os.read(self.terminal, 4096))

    def close(self):
        os.close(self.terminal)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


CASES = [("sim-run --schema-m", "sim-run --schema-markdown"), ("sim-run camp", "sim-run campaign"),
         ("jacquard top --int", "jacquard top --interval"), ("jacquard lnet pi", "jacquard lnet ping"),
         ("pmrun -max-sp", "pmrun -max-spawned"), ("jacquard-fabricd --pre", "jacquard-fabricd --preset")]


@pytest.fixture
def shell():
    opened = []

    def start(*arguments):
        opened.append(Shell(*arguments))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def check(shell):
    for line, completed in CASES:
        shell.type(line + "\t")
        shell.until(completed)
        shell.type("\x15")  # removes the line


def test_bash_completes(installed, shell):
    bash = shell(["bash", "--norc", "--noprofile", "-i"], environment(installed, PS1="ready> "))
    folder = installed.prefix / "share/bash-completion/completions"
    for program in ("sim-run", "pmrun"):
        bash.type(f". {folder}/{program}\n")
    bash.type("bind 'set enable-bracketed-paste off'; echo begin-$((1+1))\n")
    bash.until("begin-2")
    check(bash)


def test_zsh_completes(installed, shell):
    zsh = shell(["zsh", "-f", "-i"], environment(installed, PS1="ready> "))
    zsh.type(f"fpath=({installed.prefix}/share/zsh/vendor-completions $fpath); autoload -Uz compinit; compinit -u -D; echo begin-$((1+1))\n")
    zsh.until("begin-2")
    check(zsh)


def test_fish_completes(installed, tmp_path):
    env = environment(installed, HOME=str(tmp_path))
    for line, completed in CASES:
        done = subprocess.run(["fish", "-c", f'complete -C "{line}"'], check=True, capture_output=True, text=True, env=env)
        assert completed.split()[-1] in [answer.split("\t")[0] for answer in done.stdout.splitlines()], done.stdout + done.stderr


def candidates(installed, *words):
    done = subprocess.run([installed.prefix / "share/jacquard/complete.sh", installed.prefix / "bin" / words[0], *words[1:]],
                          check=True, capture_output=True, text=True, env=environment(installed))
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("words", [["sim-run"], ["sim-run", "campaign"], ["jacquard", "top"], ["jacquard-fabricd"], ["jacquard", "m0"],
                                   ["jacquard", "lnet"], ["jacquard", "trace", "show"]], ids=" ".join)
def test_the_options_are_those_of_the_help(installed, words):
    text = subprocess.run([installed.prefix / "bin" / words[0], *words[1:], "--help"], check=True, capture_output=True, text=True).stdout
    offered = candidates(installed, *words, "--")
    assert offered >= set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", text, re.M)) and offered <= set(re.findall(r"--[a-z0-9-]+", text))


def test_the_commands_are_those_of_the_usage(installed):
    assert candidates(installed, "jacquard", "") >= {"top", "scenario", "trace", "lnetd", "lnet", "lnetctl", "lst", "m0"}
    assert candidates(installed, "jacquard", "m0", "") == {"serve", "show", "ping", "nettest", "nettest-node"}
    assert candidates(installed, "sim-run", "") >= {"diff", "campaign"}


def test_every_program_with_options_has_files_for_each_shell(installed):
    names = {path.name for path in (installed.prefix / "share/bash-completion/completions").iterdir()}
    programs = {path.name for path in (installed.prefix / "bin").iterdir()} - {"pmproxy"}  # pmrun starts it
    assert names == programs
    assert {path.stem for path in (installed.prefix / "share/fish/vendor_completions.d").iterdir()} == programs
    registered = (installed.prefix / "share/zsh/vendor-completions/_jacquard").read_text().splitlines()[0]
    assert set(registered.split()[1:]) == programs
