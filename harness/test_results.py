# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes docs/test-results.md and tests/checklists/skipped.csv from the folders that the parts of a whole run left
(./dev test --full calls it). Each folder has the JUnit files ctest.xml and pytest.xml, what the runners printed (ctest.log, pytest.log)
and the facts of the part (`part.json`: part, commit, date, seconds). The closing lines of the runners are copied from what they printed.

skipped.csv names a C test by its function, a Python test as FILE::FUNCTION and a scenario by its file. It also lists the tests of
checklist items that are in the tree and were not part of the run, for example because their program was not built."""

import argparse
import csv
import json
import os
import platform
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import coverage
from generated import LICENCE, without_comments

CMOCKA = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] (\w+)$", re.MULTILINE)
REGISTERED = re.compile(r"\bcmocka_unit_test\w*\(\s*(\w+)")
CLOSING = {
    "ctest": re.compile(r"^(\d+% tests passed, .*)$", re.MULTILINE),
    "pytest": re.compile(r"^=+ (.*\b(?:passed|failed|skipped|error)s?\b.* in .*?) =+$", re.MULTILINE),
}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FULL = " (full numbers)"
LONGEST = 10


def outcome(case):
    for name in ("failure", "error", "skipped"):
        found = case.find(name)
        if found is not None:
            return ("skipped" if name == "skipped" else "failed"), (found.get("message") or "").replace("\n", " ")
    return "passed", ""


def named(case):
    """pytest's class of a test is its file, with dots for slashes; the items of a scenario have the same names in all files."""
    name, where = case.get("name"), case.get("classname") or ""
    if where.endswith(".yaml"):
        return f"{where.removesuffix('.yaml').replace('.', '/')}.yaml::{name}"
    return f"{where.replace('.', '/')}.py::{name}" if name.startswith("test_") else name


def cases(path):
    """(name, outcome, reason, seconds, output) of each test of a JUnit file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        yield named(case), *outcome(case), float(case.get("time") or 0), case.findtext("system-out") or ""


def cmocka(output):
    """name → outcome of the tests in the output of a cmocka program."""
    words = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    found = {}
    for word, name in CMOCKA.findall(output):
        # A test that a signal ended has a begin line and no end line.
        found[name] = words.get(word, found.get(name, "failed"))
    return found


def read(folders):
    """The three kinds of tests: rows of (name, outcome, reason, seconds)."""
    programs, inside, python = [], [], []
    for folder in folders:
        for name, verdict, reason, seconds, output in cases(folder / "ctest.xml"):
            programs.append((name, verdict, reason, seconds))
            slow = FULL if name.endswith(".full") else ""
            inside += [(test + slow, ended, "the test skips itself", 0.0) for test, ended in cmocka(output).items()]
        python += [row[:4] for row in cases(folder / "pytest.xml")]
    return {"C test programs": programs, "tests in them": inside, "Python tests and scenarios": python}


def never_ran(kinds, expected=()):
    """test → reason, of those skipped with all their parameters, and of those expected that are not there at all."""
    reasons, ran = dict.fromkeys(expected, "not part of the run"), set()
    for name, verdict, reason, _ in (row for rows in kinds.values() for row in rows):
        test = name.split("[")[0].removesuffix(FULL)
        if ".yaml::" in test:
            test = test.split("::")[0]
        if verdict == "skipped":
            reasons[test] = reason
        else:
            ran.add(test)
    return {test: reason for test, reason in sorted(reasons.items()) if test not in ran}


def of_items(root):
    """The tests of checklist items that the tree has, named as in a run."""
    registered = {path: set(REGISTERED.findall(without_comments((root / path).read_text(encoding="utf-8"))))
                  for path in {where for tests in coverage.scan(root).values() for where, _ in tests if where.endswith(".c")}}
    for tests in coverage.scan(root).values():
        for where, name in tests:
            if where.endswith(".py"):
                yield f"{where}::{name}"
            elif where.endswith(".yaml"):
                yield where
            elif where.endswith(".c") and name in registered[where] or where.endswith(".cmake") and "$" not in name:
                yield name


def machine():
    model = "an unknown processor"
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE).group(1)
    except (OSError, AttributeError):
        pass
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{os.cpu_count()} processors ({model}, {platform.machine()}), {round(pages / 2**30)} GiB of memory, {platform.system()}"


def closing_line(folder, runner):
    """The line with which a runner ended, from its log in the folder."""
    lines = CLOSING[runner].findall(COLOUR.sub("", (folder / f"{runner}.log").read_text(encoding="utf-8", errors="replace")))
    return lines[-1] if lines else "no closing line: it did not end by itself"


def page(kinds, folders, missed):
    parts = [json.loads((folder / "part.json").read_text(encoding="utf-8")) for folder in folders]
    yield "# Results of the whole test run"
    yield ""
    yield "`./dev test --full` writes this page. It runs every test, those of the slow set with the full numbers of the checklists"
    yield "included. `tests/COVERAGE.md` counts tests that were skipped in this run as covering nothing."
    yield ""
    yield f"The run took {round(sum(part['seconds'] for part in parts) / 60)} minutes on {machine()}."
    yield ""
    yield "| part | commit | ended on | minutes |"
    yield "|---|---|---|---|"
    yield from (f"| {part['part']} | `{part['commit']}` | {part['date']} | {round(part['seconds'] / 60)} |" for part in parts)
    yield ""
    yield "The last lines of the two runners:"
    yield ""
    yield "```text"
    yield from (f"{runner}: {closing_line(folder, runner)}" for folder in folders for runner in CLOSING)
    yield "```"
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
    parser.add_argument("folders", type=Path, nargs="+", help="what the parts of the run left, in order")
    options = parser.parse_args()
    kinds = read(options.folders)
    missed = never_ran(kinds, of_items(options.root))
    text = "\n".join([f"<!-- {LICENCE} -->", *page(kinds, options.folders, missed)]) + "\n"
    (options.root / "docs/test-results.md").write_text(text, encoding="utf-8")
    with open(options.root / "tests/checklists/skipped.csv", "w", encoding="utf-8", newline="") as file:
        file.write(f"# {LICENCE}\n# Tests that the run of docs/test-results.md skipped. They cover nothing.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["test", "reason"])
        writer.writerows(missed.items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
