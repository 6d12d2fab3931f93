# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs a scenario and writes its report page.

    jacquard report SCENARIO [-o FILE.html] [options of sim-run]

Without -o, the file has the name of the scenario and is in the current folder. The exit code is that of sim-run."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from . import runner
from .command import BadInput, Parser, execute


def run(scenario: Path, output: Path | None, options: list[str]) -> int:
    program = str(runner.sim_run())
    try:
        os.execv(program, [program, str(scenario), "--report", str(output or f"{scenario.stem}.html"), *options])
    except OSError as error:
        raise BadInput(f"{program}: {error.strerror}") from None


def main(words: list[str] | None = None) -> int:
    parser = Parser(prog="jacquard report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path, metavar="SCENARIO")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html")
    arguments, options = parser.parse_known_args(words)
    return execute("jacquard report", lambda: run(arguments.scenario, arguments.output, options))
