# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs a scenario with every combination of settings, on all cores, and writes one JSON file that jacquard plot reads.

    jacquard sweep scenarios/x.yaml --vary jobs.0.args.bytes=8,64,512 --seeds 1-3 -o out/x.json

Exit code: 0 all runs hold, 1 one does not, 2 bad input."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterable

from . import runner
from .command import BadInput, Parser, execute, writable


def seeds(text: str) -> range:
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) < int(first):
        raise argparse.ArgumentTypeError(f"{text}: not N or A-B")
    return range(int(first), int(last or first) + 1)


def job_count(text: str) -> int:
    if not text.isdecimal() or int(text) > 256:
        raise argparse.ArgumentTypeError(f"{text}: allowed: 0 to 256")
    return int(text)


def variation(text: str) -> tuple[str, list[str]]:
    name, separator, values = text.partition("=")
    if not separator or not values:
        raise argparse.ArgumentTypeError(f"{text}: not NAME=VALUE,VALUE...")
    return name, values.split(",")


def sweep(scenario: str | Path, variations: list[tuple[str, list[str]]], seed_list: Iterable[int | None] = (None,),
          workers: int | None = None) -> list[dict[str, Any]]:
    """A list of {"set": {...}, "seed": n, "result": {...}}, in the order of the combinations."""
    names = [name for name, _ in variations]
    points = [(dict(zip(names, values)), seed)
              for values in itertools.product(*(values for _, values in variations)) for seed in seed_list]
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        results = pool.map(lambda point: runner.run(scenario, set=point[0], seed=point[1]), points)
        return [{"set": settings, "seed": seed, "result": result}
                for (settings, seed), result in zip(points, results)]


def run(arguments) -> int:
    if not arguments.scenario.exists():
        raise BadInput(f"{arguments.scenario}: No such file or directory")
    writable(arguments.output)  # before the runs, which may take long
    rows = sweep(arguments.scenario.resolve(), arguments.vary, arguments.seeds, arguments.jobs)
    if all(row["result"].exit_code == runner.BAD_INPUT for row in rows):
        raise BadInput((rows[0]["result"].stderr.strip() or f"{arguments.scenario}: sim-run refused it").splitlines()[-1])
    failed = [row for row in rows if not row["result"].ok]
    for row in failed:
        print(row["result"].report(), file=sys.stderr)
    data = [dict(row, result=row["result"].data or {"error": (row["result"].stderr.strip() or "it was refused").splitlines()[-1]})
            for row in rows]
    try:
        arguments.output.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{arguments.output}: {error.strerror}") from None
    print(f"{arguments.output}: {len(rows)} runs, {len(failed)} failed")
    return 1 if failed else 0


def main(words: list[str] | None = None) -> int:
    parser = Parser(prog="jacquard sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path, metavar="SCENARIO")
    parser.add_argument("--vary", type=variation, action="append", default=[], metavar="NAME=VALUE,VALUE...", help="a setting of the scenario with its values; may be repeated")
    parser.add_argument("--seeds", type=seeds, default=[None], metavar="A-B", help="each combination with each of these seeds")
    parser.add_argument("-j", "--jobs", type=job_count, metavar="N", help="runs at a time, at most 256 (0, the default: one for each core)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args(words)
    return execute("jacquard sweep", lambda: run(arguments))
