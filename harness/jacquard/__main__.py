# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The commands that are written in Python. The program `jacquard` executes this file; python3 -m jacquard does, too."""

import sys
from pathlib import Path

if not __package__:  # executed as a file: the package is beside its folder
    sys.path[0] = str(Path(__file__).absolute().parents[1])

from jacquard.command import execute  # noqa: E402


def main(words: list[str]) -> int:
    command, *rest = words or [""]
    if command == "trace":
        from jacquard import trace as chosen
    elif command == "plot":
        def draw() -> int:
            from jacquard import plot

            return plot.main(rest)

        return execute("jacquard plot", draw)  # without matplotlib, importing it is an error already
    elif command == "sweep":
        from jacquard import sweep as chosen
    elif command == "report":
        from jacquard import report as chosen
    else:
        print("jacquard: the commands in Python are plot, report, sweep and trace", file=sys.stderr)
        return 2
    return chosen.main(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
