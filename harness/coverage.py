# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes tests/COVERAGE.md: each item of the conformance checklists, how much of it the tests cover, and which tests do.

A test says which items it is for by its name: C tests such as ugni_37_unmapped_page or aries_1_aries_3_wiring, Python tests
such as test_ugni_8_exports, and scenarios that name an item in their text, such as `name: aries-55-link-errors`.

How much the tests cover is `full` unless tests/checklists/partial.csv says otherwise: `partial` and what is missing, `slow`
(full, but the whole number only in ./dev test --slow) and what the default run does, or `none` and why there is no test.
A test that tests/checklists/skipped.csv lists did not run in the reference run and covers nothing.

tests/checklists/m0_requirements.csv names the requirements that m0_net has to meet, and the items that show each of them. A
requirement without items, or with an item that no test names, is an error."""

import re
import sys

from generated import arguments, files, finish, read_csv, without_comments

LISTS = {"ugni": "uGNI", "aries": "Aries", "pmi2": "PMI-2", "gni": "libfabric provider", "lnet": "LNet", "m0": "m0_net",
         "mad": "Madeleine II"}
ANY = "|".join(LISTS)
ITEM = re.compile(rf"(?<![A-Za-z0-9])({ANY})[_-](\d+)(?![A-Za-z0-9])")
NAME = {
    ".c": re.compile(rf"\b(?:{ANY})_\d+(?:_\w+)?\b"),
    ".cmake": re.compile(rf"\b(?:{ANY})_\d+_[\w${{}}]+"),
    ".py": re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE),
    ".yaml": re.compile(rf"\b(?:{ANY})[_-]\d+\b"),
}
COVERED = ("partial", "slow", "none")


def items(name):
    # The underscore joins words of a name here; for \w it would be part of one.
    return {(which, int(number)) for which, number in ITEM.findall(re.sub(rf"_(?=(?:{ANY})_)", " ", name))}


def names(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".c":
        text = without_comments(text)
    found = set(NAME[path.suffix].findall(text))
    return found | {path.stem} if path.suffix == ".yaml" else found


def scan(root):
    """(list, number) → tests, as pairs of a file and a name; a scenario has no name besides its file."""
    result = {}
    for folder in ("tests", "scenarios"):
        suffixes = (".yaml",) if folder == "scenarios" else (".c", ".cmake", ".py")
        for path in files(root / folder, *suffixes):
            where = path.relative_to(root).as_posix()
            for name in names(path):
                for item in items(name):
                    result.setdefault(item, set()).add((where, "" if folder == "scenarios" else name))
    return result


def optional_csv(path):
    return read_csv(path) if path.exists() else []


def notes(root):
    """(list, number) → (covered, note) of the items that the default run does not cover in full."""
    rows = optional_csv(root / "tests/checklists/partial.csv")
    return {(row["list"], int(row["number"])): (row["covered"], row["note"]) for row in rows}


def skipped(root):
    """Names of tests and scenarios that the reference run skipped."""
    return {row["test"] for row in optional_csv(root / "tests/checklists/skipped.csv")}


def requirements(root):
    """Requirement → items, in the order of the file; `3-5 9` are the items 3, 4, 5 and 9 of m0_net."""
    rows = optional_csv(root / "tests/checklists/m0_requirements.csv")
    return {row["requirement"]: [("m0", number) for part in row["items"].split() for number in span(part)] for row in rows}


def span(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def is_absent(test, absent):
    where, name = test
    return bool({where, name, f"{where}::{name}"} & absent)


def state(tests, note, absent):
    """full, slow, partial or none; an item without a note is full as soon as one of its tests runs."""
    if all(is_absent(test, absent) for test in tests):
        return "none"
    return note[0] if note else "full"


def problems(known, tests, partial):
    """What is wrong with the names and with partial.csv, as lines."""
    for item in sorted((set(tests) | set(partial)) - known):
        where = ", ".join(sorted(" ".join(test).strip() for test in tests.get(item, []))) or "tests/checklists/partial.csv"
        yield f"no item {item[1]} in the checklist {item[0]}: {where}"
    for item, (covered, note) in sorted(partial.items()):
        where = f"tests/checklists/partial.csv: {item[0]} {item[1]}"
        if covered not in COVERED:
            yield f"{where}: `{covered}` is none of {', '.join(COVERED)}"
        elif (covered == "none") == (item in tests):
            yield f"{where}: `{covered}`, but it has {'tests' if item in tests else 'no test'}"
        if not note:
            yield f"{where}: no note"


def unmet(wanted, known, tests, absent):
    """What the requirements lack, as lines."""
    for requirement, keys in wanted.items():
        if not keys:
            yield f"{requirement} has no item"
        for key in keys:
            if key not in known:
                yield f"{requirement}: no item {key[1]} in the checklist {key[0]}"
            elif all(is_absent(test, absent) for test in tests.get(key, ())):
                yield f"{requirement}: no test for item {key[1]} of {LISTS[key[0]]}"


def ranges(numbers):
    """3, 4, 5, 9 → `3-5, 9`."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def requirement_rows(wanted, states, tests):
    if not wanted:
        return
    yield ""
    yield "## Requirements of m0_net"
    yield ""
    yield "| requirement | items | not in full | tests |"
    yield "|---|---|---|---|"
    for requirement, keys in wanted.items():
        less = ", ".join(f"{number} ({states['m0', number]})" for _, number in keys if states["m0", number] not in ("full", "slow"))
        count = len({test for key in keys for test in tests.get(key, ())})
        yield f"| {requirement} | {ranges(number for _, number in keys)} | {less or '–'} | {count} |"


def shown(tests, absent):
    for where, name in sorted(tests):
        yield f"`{where}` {name}".strip() + (" (skipped)" if is_absent((where, name), absent) else "")


def cell(text):
    return text.replace("|", r"\|")


def page(lists, tests, partial, absent, wanted):
    yield "# Conformance"
    yield ""
    yield "Made by `harness/coverage.py` from `tests/checklists` and the names of the tests; do not edit."
    yield "[Working on Jacquard](../docs/contributing.md#what-a-test-covers) explains the states."
    yield ""
    yield "Sections that an item names are those of the specification it comes from. Marks at the end of an item of the PMI-2 list"
    yield "name the peer of the test: [H] Hydra, [S] Slurm, [L] Slurm's client library, [M] MPICH, [O] Open MPI. Marks at the"
    yield "beginning of an item of the provider's list: (sim) needs several processes, (x) needs the loaded library."
    yield ""
    yield "| checklist | items | full | of these slow | partial | none | tests |"
    yield "|---|---|---|---|---|---|---|"
    totals = [0] * 6
    states = {}
    for which, rows in lists.items():
        keys = [(which, int(row["number"])) for row in rows]
        states |= {key: state(tests.get(key, ()), partial.get(key), absent) for key in keys}
        of = [states[key] for key in keys]
        every = {test for key, some in tests.items() if key[0] == which for test in some}
        counts = [len(rows), of.count("full") + of.count("slow"), of.count("slow"), of.count("partial"), of.count("none"),
                  len(every)]
        totals = [total + count for total, count in zip(totals, counts)]
        yield f"| {LISTS[which]} | {' | '.join(map(str, counts))} |"
    yield f"| all | {' | '.join(map(str, totals))} |"
    for which, rows in lists.items():
        yield ""
        yield f"## {LISTS[which]}"
        yield ""
        yield "| item | what | covered | tests |"
        yield "|---|---|---|---|"
        for row in rows:
            key = (which, int(row["number"]))
            covered, (_, note) = states[key], partial.get(key, ("", ""))
            how = {"slow": "full with `--slow`; by default"}.get(covered, covered)
            yield (f"| {row['number']} | {cell(row['text'])} | {how}{': ' if note else ''}{cell(note)} | "
                   f"{'<br>'.join(shown(tests.get(key, ()), absent)) or '–'} |")
    yield from requirement_rows(wanted, states, tests)


def main():
    options = arguments(__doc__)
    lists = {which: read_csv(options.root / f"tests/checklists/{which}.csv") for which in LISTS}
    tests = scan(options.root)
    partial = notes(options.root)
    known = {(which, int(row["number"])) for which, rows in lists.items() for row in rows}
    absent = skipped(options.root)
    wanted = requirements(options.root)
    wrong = [*problems(known, tests, partial), *unmet(wanted, known, tests, absent)]
    for line in wrong:
        print(line, file=sys.stderr)
    wanted = {name: [key for key in keys if key in known] for name, keys in wanted.items()}
    code = finish(options.root / "tests/COVERAGE.md", page(lists, tests, partial, absent, wanted), options.check)
    return 1 if wrong else code


if __name__ == "__main__":
    sys.exit(main())
