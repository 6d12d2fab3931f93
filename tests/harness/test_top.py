# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""`jacquard top` on a terminal of its own: it draws the page, scrolls, and ends with `q`."""

import os
import pty
import signal
import subprocess

import jacquard
import pyte
import pytest
from test_tool_files import fabric  # noqa: F401

PROGRAM = jacquard.build_directory() / "bin" / "jacquard"


class Terminal:
    """The program on a terminal of 24 lines with 120 characters, and the text on its screen."""

    def __init__(self, *arguments, **environment):
        self.screen = pyte.Screen(120, 24)
        self.stream = pyte.ByteStream(self.screen)
        self.master, slave = pty.openpty()
        environment = {**os.environ, "LINES": "24", "COLUMNS": "120", **environment}
        self.process = subprocess.Popen([PROGRAM, "top", *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave,
                                        env={name: value for name, value in environment.items() if value is not None})
        os.close(slave)

    def until(self, *beginnings):
        """Reads until the first lines of the screen begin with these texts."""
        while not all(line.startswith(text) for line, text in zip(self.screen.display, beginnings)):
            self.stream.feed(os.read(self.master, 4096))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(fabric):  # noqa: F811
    opened = []

    def start(*arguments, **environment):
        opened.append(Terminal(*arguments, fabric, **environment))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_q_ends_it(terminal):
    top = terminal("--interval=3600", TERM="xterm")
    top.until("fabric ", "process ")
    top.press("q")
    assert top.process.wait(60) == 0


def test_the_arrows_scroll_and_another_key_renews_the_page(terminal):
    top = terminal("--interval=3600", TERM="xterm")
    top.until("fabric ", "process ")
    top.press("\033OB")
    top.until("process ", " ")
    top.press("\033OA")
    top.until("fabric ", "process ")
    top.press("\033OB ")
    top.until("process ", " ")
    top.press("q")
    assert top.process.wait(60) == 0


@pytest.mark.parametrize("kind", [None, "nosuch-terminal"])
def test_a_terminal_that_cannot_be_addressed_gets_page_after_page(terminal, kind):
    top = terminal("--interval=0.1", TERM=kind)
    top.until(*["fabric ", "process "] * 5)
    top.process.terminate()
    assert top.process.wait(60) == -signal.SIGTERM
