# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes tests/COVERAGE.md: each item of the conformance checklists and the tests that carry its number in their names:
C tests such as ugni_37_unmapped_page or aries_1_aries_3_wiring, Python tests such as test_ugni_8_exports, and
scenarios that name an item in their text, such as `name: aries-55-link-errors`. What no test can show here, and why, is in
tests/checklists/reasons.csv."""

import re
import sys

from generated import arguments, files, finish, read_csv, without_comments

LISTS = {"ugni": "uGNI", "aries": "Aries", "pmi2": "PMI-2", "gni": "libfabric provider"}
ANY = "|".join(LISTS)
ITEM = re.compile(rf"(?<![A-Za-z0-9])({ANY})[_-](\d+)(?![A-Za-z0-9])")
NAME = {
    ".c": re.compile(rf"\b(?:{ANY})_\d+(?:_\w+)?\b"),
    ".cmake": re.compile(rf"\b(?:{ANY})_\d+_[\w${{}}]+"),
    ".py": re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE),
    ".yaml": re.compile(rf"\b(?:{ANY})[_-]\d+\b"),
}


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
    """(list, number) → tests, as texts for the page."""
    result = {}
    for folder in ("tests", "scenarios"):
        suffixes = (".yaml",) if folder == "scenarios" else (".c", ".cmake", ".py")
        for path in files(root / folder, *suffixes):
            where = path.relative_to(root).as_posix()
            for name in names(path):
                for item in items(name):
                    result.setdefault(item, set()).add(f"`{where}`" if folder == "scenarios" else f"`{where}` {name}")
    return result


def reasons(root):
    """(list, number) → why a test cannot show it, or not all of it."""
    path = root / "tests/checklists/reasons.csv"
    rows = read_csv(path) if path.exists() else []
    return {(row["list"], int(row["number"])): row["reason"] for row in rows}


def shown(tests, reason):
    where = "<br>".join(sorted(tests))
    if reason is None:
        return where or "–"
    return f"{where}<br>not here: {reason}" if where else f"not here: {reason}"


def page(lists, tests, why):
    yield "# Conformance"
    yield ""
    yield "Made by `harness/coverage.py` from `tests/checklists` and the names of the tests; do not edit."
    yield ""
    yield "| checklist | items | with a test | with a reason only | tests |"
    yield "|---|---|---|---|---|"
    for which, rows in lists.items():
        keys = {(which, int(row["number"])) for row in rows}
        covered = keys & set(tests)
        explained = (keys & set(why)) - covered
        every = {test for (of, _), some in tests.items() if of == which for test in some}
        yield f"| {LISTS[which]} | {len(rows)} | {len(covered)} | {len(explained)} | {len(every)} |"
    for which, rows in lists.items():
        yield ""
        yield f"## {LISTS[which]}"
        yield ""
        yield "| item | what | tests |"
        yield "|---|---|---|"
        for row in rows:
            key = (which, int(row["number"]))
            yield f"| {row['number']} | {row['text']} | {shown(tests.get(key, []), why.get(key))} |"


def main():
    options = arguments(__doc__)
    lists = {which: read_csv(options.root / f"tests/checklists/{which}.csv") for which in LISTS}
    tests = scan(options.root)
    why = reasons(options.root)
    known = {(which, int(row["number"])) for which, rows in lists.items() for row in rows}
    unknown = sorted((set(tests) | set(why)) - known)
    for item in unknown:
        where = ", ".join(sorted(tests.get(item, []))) or "tests/checklists/reasons.csv"
        print(f"no item {item[1]} in the checklist {item[0]}: {where}", file=sys.stderr)
    code = finish(options.root / "tests/COVERAGE.md", page(lists, tests, why), options.check)
    return 1 if unknown else code


if __name__ == "__main__":
    sys.exit(main())
