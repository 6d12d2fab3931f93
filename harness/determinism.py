# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Checks determinism across builds: for every scenario, the digest and the results of each other build (and of
the reference in other surroundings: addresses, heap, CPU, environment, folder) are those of the reference build, and the digest is the one that
tests/digests.csv records. All surroundings are changed at once; if that makes a difference, one after the other, to find which. A change that is meant to alter what a scenario does records the new digests with `--record`,
so that the change shows in the commit. Run by `./dev determinism`.

`--of-the-record` runs the other builds only and compares their digests with the record. The reference runs, for a comparison of the
results, only where a digest is another one."""

import argparse
import csv
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jacquard
from generated import read_csv
from jacquard.scenario_files import EXPECTED_EXITS

ELSEWHERE = "other surroundings"
SCENARIOS = jacquard.ROOT / "scenarios"
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
    if not arguments.of_the_record:
        yield ELSEWHERE, {"program": arguments.reference, **jacquard.runner.elsewhere()}
    for text in arguments.other:
        name, _, program = text.partition("=")
        yield name, {"program": program}


def which_surroundings(scenario, reference, program):
    """The names of those that make a difference by themselves."""
    found = [name for name, how in jacquard.runner.SURROUNDINGS.items()
             if jacquard.differences(reference, jacquard.run(scenario, program=program, **how))]
    return ", ".join(found) or "none by itself"


def against_the_reference(scenario, results, expected, program):
    """The digest of the reference, and a list of texts, empty when the others are the same. expected: None if the digests are recorded."""
    reference, name = results["reference"], label(scenario)
    digest = reference.digest
    found = [] if digest else [f"no digest: {reference.report()}"]
    if scenario.is_relative_to(jacquard.ROOT) and expected is not None and digest != expected.get(name):
        found.append(f"recorded: digest {expected.get(name, 'none')} (tests/digests.csv; --record renews it)")
    for variant, result in results.items():
        different = [f"{variant}: {text}" for text in jacquard.differences(reference, result)[:5]]
        if different and variant == ELSEWHERE:
            different.append(f"that makes a difference: {which_surroundings(scenario, reference, program)}")
        found += different
    return digest, found


def against_the_record(scenario, builds, expected, reference):
    """The digest of the record, and a list of texts, empty when the builds have it."""
    ends = EXPECTED_EXITS.get(str(scenario.relative_to(SCENARIOS)), 0) if scenario.is_relative_to(SCENARIOS) else 0
    if expected and all(result.digest == expected and result.exit_code == ends for result in builds.values()):
        return expected, []
    own = jacquard.run(scenario, program=reference)
    found = [f"{name}: {text}" for name, result in builds.items() for text in jacquard.differences(own, result)[:5]]
    if own.exit_code != ends:
        found.append(f"exit code {own.exit_code}: {own.report()}")
    if own.digest != expected or not own.digest:
        found.append(f"recorded: digest {expected or 'none'} (tests/digests.csv; --record renews it)")
    return own.digest, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", required=True, help="the sim-run that the others are compared with")
    parser.add_argument("--other", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("--of-the-record", action="store_true", help="compare the digests of the other builds with the record only")
    parser.add_argument("--record", action="store_true",
                        help="write the digests of the reference to tests/digests.csv instead of comparing with it")
    parser.add_argument("scenarios", nargs="*", type=Path, help="default: all of scenarios/")
    arguments = parser.parse_args()
    arguments.reference = Path(arguments.reference).resolve()  # it runs in other folders, too
    arguments.other = [f"{name}={Path(program).resolve()}" for name, _, program in
                       (text.partition("=") for text in arguments.other)]
    if arguments.of_the_record and (arguments.record or not arguments.other):
        parser.error("--of-the-record compares other builds, and records nothing")
    scenarios = arguments.scenarios or sorted(SCENARIOS.rglob("*.yaml"))
    expected = recorded()
    digests = {}
    failed = 0

    with ThreadPoolExecutor(max_workers=2) as pool:
        work = []
        for scenario in scenarios:
            scenario = scenario.resolve()
            first = [] if arguments.of_the_record else [("reference", {"program": arguments.reference})]
            work.append((scenario, [(name, pool.submit(jacquard.run, scenario, **how)) for name, how in [*first, *variants(arguments)]]))
        for scenario, runs in work:
            name = label(scenario)
            results = {variant: future.result() for variant, future in runs}
            if arguments.of_the_record:
                digest, different = against_the_record(scenario, results, expected.get(name), arguments.reference)
            else:
                digest, different = against_the_reference(scenario, results, None if arguments.record else expected, arguments.reference)
            if digest:
                digests[name] = digest
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
