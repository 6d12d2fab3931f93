# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the commands written in Python have in common: bad input is one line on standard error and exit code 2."""

from __future__ import annotations

import argparse
import sys
from typing import Callable


class BadInput(Exception):
    """A sentence for the user."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def execute(program: str, action: Callable[[], int]) -> int:
    """Runs an action; returns the exit code."""
    try:
        return action()
    except BadInput as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130
