# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes docs/ugni-coverage.md: each function of gni_pub.h, whether it is implemented, and which tests call it."""

import re
import sys

from generated import arguments, files, finish, read_csv, without_comments

DEFINITION = re.compile(r"^gni_return_t\s+(GNI_\w+)\s*\(", re.MULTILINE)
MACRO = re.compile(r"\bGNIX_UNIMPLEMENTED\s*\(\s*(GNI_\w+)")
CALL = re.compile(r"\b(GNI_[A-Z][A-Za-z]*[a-z][A-Za-z]*)\s*\(")
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
    """Functions with a body of their own. One that only refuses is none, wherever it stands."""
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
            refuses = path.name == "unimplemented.c" or REFUSAL.fullmatch(text[body:closing(text, body)])
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


def page(functions, done, tests):
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


def main():
    options = arguments(__doc__)
    functions = read_csv(options.root / "docs/ugni-functions.csv")
    lines = page(functions, implemented(options.root), callers(options.root))
    return finish(options.root / "docs/ugni-coverage.md", lines, options.check)


if __name__ == "__main__":
    sys.exit(main())
