# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Checks determinism across builds: for every scenario, the digest and the results of each other build (and of
the reference in other surroundings: addresses, heap, CPU, environment, folder) are those of the reference build, and the digest is the one that
tests/digests.csv records. All surroundings are changed at once; if that makes a difference, one after the other, to find which. A change that is meant to alter what a scenario does records the new digests with `--record`,
so that the change shows in the commit. Run by `./dev determinism`."""

import argparse
import csv
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jacquard
from generated import read_csv

ELSEWHERE = "other surroundings"
RECORD = jacquard.ROOT / "tests" / "digests.csv"
HEAD = """# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The digest of each shipped scenario, compared by `./dev determinism` and renewed by `./dev determinism --record`.
"""


def label(scenario):
    """The name of a scenario in the record and in the output: its path in the tree, if it is in the tree."""
    try:
        return str(scenario.relative_to(jacquard.ROOT))
    except ValueError:
        return str(scenario)


def recorded():
    """The digests of the record, by the name of the scenario; none before the first `--record`."""
    if not RECORD.exists():
        return {}
    return {row["scenario"]: row["digest"] for row in read_csv(RECORD)}


def record(digests):
    with RECORD.open("w", newline="") as file:
        file.write(HEAD)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("scenario", "digest"))
        writer.writerows(sorted(digests.items()))


def variants(arguments):
    if not arguments.same_surroundings:
        yield ELSEWHERE, {"program": arguments.reference, **jacquard.runner.elsewhere()}
    for text in arguments.other:
        name, _, program = text.partition("=")
        yield name, {"program": program}


def which_surroundings(scenario, reference, program):
    """The names of those that make a difference by themselves."""
    found = [name for name, how in jacquard.runner.SURROUNDINGS.items()
             if jacquard.differences(reference, jacquard.run(scenario, program=program, **how))]
    return ", ".join(found) or "none by itself"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", required=True, help="the sim-run that the others are compared with")
    parser.add_argument("--other", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("--same-surroundings", action="store_true", help="only compare builds")
    parser.add_argument("--record", action="store_true",
                        help="write the digests of the reference to tests/digests.csv instead of comparing with it")
    parser.add_argument("scenarios", nargs="*", type=Path, help="default: all of scenarios/")
    arguments = parser.parse_args()
    arguments.reference = Path(arguments.reference).resolve()  # it runs in other folders, too
    arguments.other = [f"{name}={Path(program).resolve()}" for name, _, program in
                       (text.partition("=") for text in arguments.other)]
    scenarios = arguments.scenarios or sorted((jacquard.ROOT / "scenarios").rglob("*.yaml"))
    expected = recorded()
    digests = {}
    failed = 0

    with ThreadPoolExecutor(max_workers=2) as pool:
        work = []
        for scenario in scenarios:
            scenario = scenario.resolve()
            runs = [("reference", pool.submit(jacquard.run, scenario, program=arguments.reference))]
            runs += [(name, pool.submit(jacquard.run, scenario, **how)) for name, how in variants(arguments)]
            work.append((scenario, runs))
        for scenario, ((_, reference), *others) in work:
            reference = reference.result()
            digest = reference.digest
            different = [] if digest else [f"no digest: {reference.report()}"]
            name = label(scenario)
            if digest:
                digests[name] = digest
            if scenario.is_relative_to(jacquard.ROOT) and not arguments.record and digest != expected.get(name):
                different.append(f"recorded: digest {expected.get(name, 'none')} (tests/digests.csv; --record renews it)")
            for variant, future in others:
                found = [f"{variant}: {text}" for text in jacquard.differences(reference, future.result())[:5]]
                if found and variant == ELSEWHERE:
                    found.append(f"that makes a difference: {which_surroundings(scenario, reference, arguments.reference)}")
                different += found
            print(f"{'DIFFERENT' if different else 'same':9} {(digest or 'none')[:16]:16} {name}", flush=True)
            for text in different:
                print(f"          {text}")
            failed += bool(different)
    if arguments.record:
        record(digests if not arguments.scenarios else expected | digests)
    names = ", ".join(name for name, _ in variants(arguments))
    print(f"{len(scenarios)} scenarios, {failed} differ ({names})")
    return 1 if failed or not scenarios else 0


if __name__ == "__main__":
    sys.exit(main())
