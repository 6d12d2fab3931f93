# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the commands written in Python have in common: bad input is one line on standard error and exit code 2."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from pathlib import Path
from typing import Callable


class BadInput(Exception):
    """A sentence for the user."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def writable(path: Path) -> None:
    """Refuses the name of a file that cannot be written, before the work whose result the file is to have.

    The folder of a file must exist, as for the files that sim-run writes. Only folders that an option names are created."""
    if not path.parent.is_dir():
        problem = errno.ENOTDIR if path.parent.exists() else errno.ENOENT
    elif path.is_dir():
        problem = errno.EISDIR
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        problem = errno.EACCES
    else:
        return
    raise BadInput(f"{path}: {os.strerror(problem)}")


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
