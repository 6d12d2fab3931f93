# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes tests/COVERAGE.md: each item of the conformance checklists and the tests that carry its number in their names:
C tests such as ugni_37_unmapped_page or aries_1_aries_3_wiring, Python tests such as test_ugni_8_exports, and
scenarios that name an item in their text, such as `name: aries-55-link-errors`."""

import re
import sys

from generated import arguments, files, finish, read_csv, without_comments

LISTS = {"ugni": "uGNI", "aries": "Aries"}
ITEM = re.compile(r"(?<![A-Za-z0-9])(ugni|aries)[_-](\d+)(?![A-Za-z0-9])")
NAME = {
    ".c": re.compile(r"\b(?:ugni|aries)_\d+(?:_\w+)?\b"),
    ".cmake": re.compile(r"\b(?:ugni|aries)_\d+_[\w${}]+"),
    ".py": re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE),
    ".yaml": re.compile(r"\b(?:ugni|aries)[_-]\d+\b"),
}


def items(name):
    # The underscore joins words of a name here; for \w it would be part of one.
    return {(which, int(number)) for which, number in ITEM.findall(name.replace("_ugni", " ugni").replace("_aries", " aries"))}


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


def page(lists, tests):
    yield "# Conformance"
    yield ""
    yield "Made by `harness/coverage.py` from `tests/checklists` and the names of the tests; do not edit."
    yield ""
    yield "| checklist | items | with a test | tests |"
    yield "|---|---|---|---|"
    for which, rows in lists.items():
        covered = [row for row in rows if (which, int(row["number"])) in tests]
        every = {test for (of, _), some in tests.items() if of == which for test in some}
        yield f"| {LISTS[which]} | {len(rows)} | {len(covered)} | {len(every)} |"
    for which, rows in lists.items():
        yield ""
        yield f"## {LISTS[which]}"
        yield ""
        yield "| item | what | tests |"
        yield "|---|---|---|"
        for row in rows:
            where = "<br>".join(sorted(tests.get((which, int(row["number"])), []))) or "–"
            yield f"| {row['number']} | {row['text']} | {where} |"


def main():
    options = arguments(__doc__)
    lists = {which: read_csv(options.root / f"tests/checklists/{which}.csv") for which in LISTS}
    tests = scan(options.root)
    known = {(which, int(row["number"])) for which, rows in lists.items() for row in rows}
    unknown = sorted(item for item in tests if item not in known)
    for item in unknown:
        print(f"no item {item[1]} in the checklist {item[0]}: {', '.join(sorted(tests[item]))}", file=sys.stderr)
    code = finish(options.root / "tests/COVERAGE.md", page(lists, tests), options.check)
    return 1 if unknown else code


if __name__ == "__main__":
    sys.exit(main())
