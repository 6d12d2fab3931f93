# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs a scenario with every combination of settings, on all cores, and writes one JSON file that harness/plots.py reads.

    /usr/bin/python3 harness/sweep.py scenarios/x.yaml --vary jobs.0.args.bytes=8,64,512 --seeds 1-3 -o out/x.json
"""

import argparse
import itertools
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jacquard


def seeds(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def variation(text):
    name, separator, values = text.partition("=")
    if not separator or not values:
        raise argparse.ArgumentTypeError(f"{text}: not NAME=VALUE,VALUE...")
    return name, values.split(",")


def sweep(scenario, variations, seed_list=(None,), workers=None):
    """A list of {"set": {...}, "seed": n, "result": {...}}, in the order of the combinations."""
    names = [name for name, _ in variations]
    points = [(dict(zip(names, values)), seed)
              for values in itertools.product(*(values for _, values in variations)) for seed in seed_list]
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        results = pool.map(lambda point: jacquard.run(scenario, set=point[0], seed=point[1]), points)
        return [{"set": settings, "seed": seed, "result": result}
                for (settings, seed), result in zip(points, results)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--vary", type=variation, action="append", default=[], metavar="NAME=VALUE,VALUE...")
    parser.add_argument("--seeds", type=seeds, default=[None], metavar="A-B")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()

    rows = sweep(arguments.scenario.resolve(), arguments.vary, arguments.seeds)
    failed = [row for row in rows if not row["result"].ok]
    for row in failed:
        print(row["result"].report(), file=sys.stderr)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps([dict(row, result=row["result"].data) for row in rows], indent=1) + "\n")
    print(f"{arguments.output}: {len(rows)} runs, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
