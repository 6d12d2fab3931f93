# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The promise of determinism across builds: for every scenario, the digest and the results of each other build (and of
the reference without address-space randomisation) are those of the reference build. Run by `./dev determinism`."""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jacquard


def variants(arguments):
    yield "again", arguments.reference, True
    yield "no ASLR", arguments.reference, False
    for text in arguments.other:
        name, _, program = text.partition("=")
        yield name, program, True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", required=True, help="the sim-run that the others are compared with")
    parser.add_argument("--other", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("scenarios", nargs="*", type=Path, help="default: all of scenarios/")
    arguments = parser.parse_args()
    scenarios = arguments.scenarios or sorted((jacquard.ROOT / "scenarios").rglob("*.yaml"))
    failed = 0

    with ThreadPoolExecutor(max_workers=2) as pool:
        work = []
        for scenario in scenarios:
            scenario = scenario.resolve()
            runs = [("reference", pool.submit(jacquard.run, scenario, program=arguments.reference))]
            runs += [(name, pool.submit(jacquard.run, scenario, program=program, randomise=randomise))
                     for name, program, randomise in variants(arguments)]
            work.append((scenario, runs))
        for scenario, ((_, reference), *others) in work:
            reference = reference.result()
            digest = reference.digest
            different = [] if digest else [f"no digest: {reference.report()}"]
            for name, future in others:
                different += [f"{name}: {text}" for text in jacquard.differences(reference, future.result())[:5]]
            try:
                label = scenario.relative_to(jacquard.ROOT)
            except ValueError:
                label = scenario
            print(f"{'DIFFERENT' if different else 'same':9} {(digest or 'none')[:16]:16} {label}", flush=True)
            for text in different:
                print(f"          {text}")
            failed += bool(different)
    names = ", ".join(name for name, _, _ in variants(arguments))
    print(f"{len(scenarios)} scenarios, {failed} differ ({names})")
    return 1 if failed or not scenarios else 0


if __name__ == "__main__":
    sys.exit(main())
