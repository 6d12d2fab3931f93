# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes docs/test-results.md and tests/checklists/skipped.csv from the JUnit files of ctest and pytest for a whole run
(./dev test --full calls it). The page has no dates; git records when it changed."""

import argparse
import csv
import os
import platform
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from generated import LICENCE

CMOCKA = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] (\w+)$", re.MULTILINE)
LONGEST = 10


def outcome(case):
    for name in ("failure", "error", "skipped"):
        found = case.find(name)
        if found is not None:
            return ("skipped" if name == "skipped" else "failed"), (found.get("message") or "").replace("\n", " ")
    return "passed", ""


def cases(path):
    """(name, outcome, reason, seconds, output) of each test of a JUnit file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        yield case.get("name"), *outcome(case), float(case.get("time") or 0), case.findtext("system-out") or ""


def cmocka(output):
    """name → outcome of the tests in the output of a cmocka program."""
    words = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    found = {}
    for word, name in CMOCKA.findall(output):
        # A test that a signal ended has a begin line and no end line.
        found[name] = words.get(word, found.get(name, "failed"))
    return found


def read(ctest, pytest):
    """The three kinds of tests: rows of (name, outcome, reason, seconds)."""
    programs, inside, python = [], [], []
    for name, verdict, reason, seconds, output in cases(ctest):
        programs.append((name, verdict, reason, seconds))
        slow = " (full numbers)" if name.endswith(".full") else ""
        inside += [(test + slow, ended, "the test skips itself", 0.0) for test, ended in cmocka(output).items()]
    python = [row[:4] for row in cases(pytest)]
    return {"C test programs": programs, "tests in them": inside, "Python tests and scenarios": python}


def never_ran(kinds):
    """test → reason, of those skipped with all their parameters."""
    reasons, ran = {}, set()
    for name, verdict, reason, _ in (row for rows in kinds.values() for row in rows):
        test = name.split("[")[0].removesuffix(" (full numbers)")
        if verdict == "skipped":
            reasons.setdefault(test, reason)
        else:
            ran.add(test)
    return {test: reason for test, reason in sorted(reasons.items()) if test not in ran}


def machine():
    model = "an unknown processor"
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE).group(1)
    except (OSError, AttributeError):
        pass
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{os.cpu_count()} processors ({model}, {platform.machine()}), {round(pages / 2**30)} GiB of memory, {platform.system()}"


def page(kinds, seconds):
    yield "# Results of the whole test run"
    yield ""
    yield "`./dev test --full` writes this page. It runs every test, those of the slow set with the full numbers of the checklists"
    yield "included. `tests/COVERAGE.md` counts tests that were skipped in this run as covering nothing."
    yield ""
    yield f"The run took {round(seconds / 60)} minutes on {machine()}."
    yield ""
    yield "| kind | run | passed | failed | skipped |"
    yield "|---|---|---|---|---|"
    for kind, rows in kinds.items():
        count = Counter(verdict for _, verdict, _, _ in rows)
        yield f"| {kind} | {len(rows)} | {count['passed']} | {count['failed']} | {count['skipped']} |"
    failed = [(kind, name) for kind, rows in kinds.items() for name, verdict, _, _ in rows if verdict == "failed"]
    if failed:
        yield ""
        yield "## Failed"
        yield ""
        yield "| kind | test |"
        yield "|---|---|"
        yield from (f"| {kind} | `{name}` |" for kind, name in failed)
    missed = never_ran(kinds)
    if missed:
        yield ""
        yield "## Skipped"
        yield ""
        yield "| test | why |"
        yield "|---|---|"
        yield from (f"| `{name}` | {reason} |" for name, reason in missed.items())
    yield ""
    yield "## The longest"
    yield ""
    yield "| test | seconds |"
    yield "|---|---|"
    longest = sorted((row for rows in kinds.values() for row in rows), key=lambda row: (-row[3], row[0]))[:LONGEST]
    yield from (f"| `{name}` | {took:.0f} |" for name, _, _, took in longest)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="another tree")
    parser.add_argument("--seconds", type=float, required=True, help="how long the run took")
    parser.add_argument("ctest", type=Path, help="JUnit file of ctest")
    parser.add_argument("pytest", type=Path, help="JUnit file of pytest")
    options = parser.parse_args()
    kinds = read(options.ctest, options.pytest)
    text = "\n".join([f"<!-- {LICENCE} -->", *page(kinds, options.seconds)]) + "\n"
    (options.root / "docs/test-results.md").write_text(text, encoding="utf-8")
    with open(options.root / "tests/checklists/skipped.csv", "w", encoding="utf-8", newline="") as file:
        file.write(f"# {LICENCE}\n# Tests that the run of docs/test-results.md skipped. They cover nothing.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["test", "reason"])
        writer.writerows(never_ran(kinds).items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
