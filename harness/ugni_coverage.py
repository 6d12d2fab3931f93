# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes docs/ugni-coverage.md: each function of gni_pub.h, whether it is implemented, and which tests call it."""

import re
import sys

from generated import arguments, files, finish, read_csv, without_comments

DEFINITION = re.compile(r"^gni_return_t\s+(GNI_\w+)\s*\(", re.MULTILINE)
MACRO = re.compile(r"\bGNIX_UNIMPLEMENTED\s*\(\s*(GNI_\w+)")
CALL = re.compile(r"\b(GNI_[A-Z][A-Za-z]*[a-z][A-Za-z]*)\s*\(")
BODY = re.compile(r"^(?:static )?(?:inline )?(?:const )?(?:struct |enum )?\w+[ *]+(\w+)\(", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\s*"([^"]+)"', re.MULTILINE)
TEST = re.compile(r"\bcmocka_unit_test\w*\(\s*(\w+)")
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
FRAME = re.compile(r'^#include "(\w+_frame)\.h"', re.MULTILINE)
SHOWN = 4  # tests of a function
REFUSAL = re.compile(r"\{\s*(?:\(void\)\s*\w+;\s*)*return GNI_RC_ILLEGAL_OP;\s*\}")


def closing(text, start):
    """Index after the parenthesis or brace that closes the one at start."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] in "({") - (text[index] in ")}")
        if depth == 0:
            return index + 1
    return len(text)


def implemented(root):
    """The implemented functions. A function that only returns an error does not count."""
    found, refused = set(), set()
    for path in files(root / "sim/aries", ".c"):
        text = without_comments(path.read_text(encoding="utf-8"))
        refused.update(MACRO.findall(text))
        for match in DEFINITION.finditer(text):
            body = closing(text, match.end() - 1)
            while body < len(text) and text[body].isspace():
                body += 1
            if text[body:body + 1] != "{":
                continue
            refuses = REFUSAL.fullmatch(text[body:closing(text, body)])
            (refused if refuses else found).add(match.group(1))
    return found - refused


def callers(root):
    """Function → files below tests/ that call it."""
    result = {}
    for path in files(root / "tests", ".c", ".h", ".py", ".cpp"):
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".py":
            text = without_comments(text)
        for name in set(CALL.findall(text)):
            result.setdefault(name, []).append(path.relative_to(root / "tests").as_posix())
    return result


def bodies(text):
    """Function → the names that its body uses. A body begins with a brace at the start of a line."""
    found = {}
    for match in BODY.finditer(text):
        start = closing(text, match.end() - 1)
        while start < len(text) and text[start].isspace():
            start += 1
        if text[start:start + 1] == "{":
            found[match.group(1)] = set(NAME.findall(text[start:closing(text, start)]))
    return found


def reached(name, calls):
    """All names that a function uses, directly or through other functions of its file."""
    seen, waiting = set(), [name]
    while waiting:
        for other in calls.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def helpers_of(path, seen):
    """The functions of the files whose headers a test includes, directly or through another header."""
    result = {}
    for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
        there = path.parent / header
        if there.exists() and there not in seen:
            seen.add(there)
            result.update(helpers_of(there, seen))
            if there.with_suffix(".c").exists():
                result.update(bodies(without_comments(there.with_suffix(".c").read_text(encoding="utf-8"))))
    return result


def named_tests(root, functions):
    """Function → its tests by name, those first that call the fewest other functions."""
    known, result = set(functions), {}
    folder = root / "tests/api"
    for path in files(folder, ".c") if folder.is_dir() else []:
        text = without_comments(path.read_text(encoding="utf-8"))
        own = {}
        for frame in FRAME.findall(path.read_text(encoding="utf-8")):  # its helpers, which other files share
            own.update(bodies(without_comments((folder / f"{frame}.c").read_text(encoding="utf-8"))))
        own.update(bodies(text))
        own.pop("main", None)  # a parameter's name, too
        calls = {**helpers_of(path, set()), **own}
        for test in TEST.findall(text):
            for uses, helpers in ((reached(test, own), False), (reached(test, calls), True)):
                hit = uses & known
                for name in hit:
                    result.setdefault(name, {}).setdefault(test, (helpers, len(hit), test))
    return {name: sorted(ranks, key=ranks.get) for name, ranks in result.items()}


def page(functions, done, tests, named):
    yield "# uGNI functions"
    yield ""
    yield "Made by `harness/ugni_coverage.py` from `docs/ugni-functions.csv`, `sim/aries` and `tests`; do not edit."
    yield ""
    yield "A function that is not implemented returns `GNI_RC_ILLEGAL_OP`. P0 is called by libfabric, Open MPI, Charm++, UCX"
    yield "or GASNet, P1 by LDMS, NNTI, foMPI or Cray's samples only, P2 by none of them."
    yield ""
    yield "| priority | functions | implemented | called by a test |"
    yield "|---|---|---|---|"
    for priority in ("P0", "P1", "P2", ""):
        names = [row["function"] for row in functions if row["priority"] == priority or not priority]
        yield (f"| {priority or 'all'} | {len(names)} | {sum(name in done for name in names)} | "
               f"{sum(name in tests for name in names)} |")
    yield ""
    yield "| function | priority | implemented | called by | tests |"
    yield "|---|---|---|---|---|"
    for row in functions:
        name = row["function"]
        programs = ", ".join(word.replace("-", " ") for word in row["callers"].split()) or "–"
        where = ", ".join(f"`{path}`" for path in tests.get(name, [])) or "–"
        yield f"| `{name}` | {row['priority']} | {'yes' if name in done else 'no'} | {programs} | {where} |"
    yield ""
    yield "## Tests by name"
    yield ""
    yield "Conformance tests (`tests/api`) that call the function themselves or by a helper, the most special ones first."
    yield ""
    yield "| function | tests | of them |"
    yield "|---|---|---|"
    for row in functions:
        found = named.get(row["function"], [])
        shown = ", ".join(f"`{test}`" for test in found[:SHOWN]) or "–"
        more = ", …" if len(found) > SHOWN else ""
        yield f"| `{row['function']}` | {len(found)} | {shown}{more} |"


def main():
    options = arguments(__doc__)
    functions = read_csv(options.root / "docs/ugni-functions.csv")
    named = named_tests(options.root, [row["function"] for row in functions])
    lines = page(functions, implemented(options.root), callers(options.root), named)
    return finish(options.root / "docs/ugni-coverage.md", lines, options.check)


if __name__ == "__main__":
    sys.exit(main())
