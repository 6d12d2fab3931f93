# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Records a run of the tests with the slow set (./dev test --slow and --full call it) in tests/slow-results.json, and makes
docs/test-results.md from that. A run replaces the records of the slow tests that it ran and keeps those of the others, so that the slow
set can be run in pieces. The folder of a run has the JUnit files ctest.xml and pytest.xml, what the runners printed (ctest.log,
pytest.log), the names of all slow tests (slow.txt) and the facts of the run (run.json: commit, date, seconds, whole). The files of a
runner that was not needed are missing.

A whole run (./dev test --full) also renews its closing lines and tests/checklists/skipped.csv, which names a C test by its function, a
Python test as FILE::FUNCTION and a scenario by its file. It also lists the tests of checklist items that are in the tree and were not
part of the run, for example because their program was not built."""

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
VERDICTS = ("passed", "failed", "skipped")


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
    """(name, outcome, reason, seconds, output) of each test of a JUnit file; of none if the runner was not needed."""
    if not path.exists():
        return
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


def read(folder):
    """The three kinds of tests: rows of (name, outcome, reason, seconds)."""
    programs, inside = [], []
    for name, verdict, reason, seconds, output in cases(folder / "ctest.xml"):
        programs.append((name, verdict, reason, seconds))
        slow = FULL if name.endswith(".full") else ""
        inside += [(test + slow, ended, "the test skips itself", 0.0) for test, ended in cmocka(output).items()]
    python = [row[:4] for row in cases(folder / "pytest.xml")]
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


def whole_run(kinds, folder, run):
    """The record of a run of all tests."""
    counts = {kind: Counter(verdict for _, verdict, _, _ in rows) for kind, rows in kinds.items()}
    return {"commit": run["commit"], "date": run["date"], "minutes": round(run["seconds"] / 60), "machine": machine(),
            "closing": {runner: closing_line(folder, runner) for runner in CLOSING},
            "counts": {kind: {verdict: count[verdict] for verdict in VERDICTS} for kind, count in counts.items()}}


def renewed(records, names, kinds, run):
    """The records of the slow tests after a run; tests that the tree no longer has are left out."""
    ran = {name: {"commit": run["commit"], "date": run["date"], "outcome": verdict, "reason": reason, "seconds": round(seconds, 1)}
           for rows in kinds.values() for name, verdict, reason, seconds in rows}
    return {name: ran.get(name) or records[name] for name in names if name in ran or name in records}


def group(name):
    return name.split("::")[0]


def span(values):
    """The smallest and the largest, or the only one."""
    least, most = min(values), max(values)
    return least if least == most else f"{least} to {most}"


def page(results):
    slow, names = results["slow"], results["names"]
    groups = {}
    for name in names:
        groups.setdefault(group(name), []).append(name)
    yield "# Results of the slow set"
    yield ""
    yield "`./dev test --slow` and `./dev test --full` write this page. The slow set has the tests that take too long for each commit: the"
    yield "full numbers of the checklists, 500 seeds of scenarios. It can be run in pieces; the page keeps the last result of each test."
    yield ""
    count = Counter(record["outcome"] for record in slow.values())
    yield "| tests | passed | failed | skipped | not recorded |"
    yield "|---|---|---|---|---|"
    yield f"| {len(names)} | {count['passed']} | {count['failed']} | {count['skipped']} | {len(names) - len(slow)} |"
    yield ""
    yield "| C program or file of tests | tests | passed | seconds | commits | dates |"
    yield "|---|---|---|---|---|---|"
    for of, tests in groups.items():
        known = [slow[name] for name in tests if name in slow]
        commits = ", ".join(f"`{commit}`" for commit in sorted({record["commit"] for record in known})) or "–"
        yield (f"| `{of}` | {len(tests)} | {sum(record['outcome'] == 'passed' for record in known)} "
               f"| {sum(record['seconds'] for record in known):.0f} | {commits} | {span([record['date'] for record in known]) if known else '–'} |")
    for title, verdict in (("Failed", "failed"), ("Skipped", "skipped")):
        found = [(name, record["reason"]) for name, record in slow.items() if record["outcome"] == verdict]
        if found:
            yield from ["", f"## {title}", "", "| test | why |", "|---|---|"]
            yield from (f"| `{name}` | {reason} |" for name, reason in found)
    yield from ["", "## The longest", "", "| test | seconds |", "|---|---|"]
    longest = sorted(slow.items(), key=lambda item: (-item[1]["seconds"], item[0]))[:LONGEST]
    yield from (f"| `{name}` | {record['seconds']:.0f} |" for name, record in longest)
    yield from ["", "## The last run of all tests", ""]
    whole = results.get("whole")
    if not whole:
        yield "No run of all tests at once (`./dev test --full`) has been recorded."
        return
    yield f"Commit `{whole['commit']}`, {whole['date']}: {whole['minutes']} minutes on {whole['machine']}."
    yield from ["", "```text"]
    yield from (f"{runner}: {line}" for runner, line in whole["closing"].items())
    yield from ["```", "", "| kind | run | passed | failed | skipped |", "|---|---|---|---|---|"]
    for kind, counts in whole["counts"].items():
        yield f"| {kind} | {sum(counts.values())} | {counts['passed']} | {counts['failed']} | {counts['skipped']} |"


def write_skipped(path, missed):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(f"# {LICENCE}\n# Tests that the last run of all tests skipped (docs/test-results.md). They cover nothing.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["test", "reason"])
        writer.writerows(missed.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="another tree")
    parser.add_argument("folder", type=Path, help="what the run left")
    options = parser.parse_args()
    store = options.root / "tests/slow-results.json"
    results = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {"slow": {}}
    run = json.loads((options.folder / "run.json").read_text(encoding="utf-8"))
    kinds = read(options.folder)
    results["names"] = sorted((options.folder / "slow.txt").read_text(encoding="utf-8").splitlines())
    results["slow"] = renewed(results["slow"], results["names"], kinds, run)
    if run["whole"]:
        results["whole"] = whole_run(kinds, options.folder, run)
        write_skipped(options.root / "tests/checklists/skipped.csv", never_ran(kinds, of_items(options.root)))
    results.update([LICENCE.split(": ")])
    store.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    text = "\n".join([f"<!-- {LICENCE} -->", *page(results)]) + "\n"
    (options.root / "docs/test-results.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
