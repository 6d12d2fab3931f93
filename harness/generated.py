# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Shared by the scripts that generate a page from the sources: they read data files and code, and write the page or check
that it is current."""

import argparse
import csv
import difflib
import re
import sys
from pathlib import Path

LICENCE = "SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only"


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page is not current")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="another tree")
    return parser.parse_args()


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def files(folder, *suffixes):
    """The files below a folder, in the same order on every machine."""
    found = [path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file()]
    return sorted(found, key=lambda path: path.as_posix())


def without_comments(text, keep_lines=False):
    """C text without its comments and the contents of its strings; keep_lines: with the line breaks of its comments."""
    def blank(match):
        if match.group().startswith('"'):
            return '""'
        if match.group().startswith("'"):
            return match.group()
        return " " + "\n" * (match.group().count("\n") if keep_lines else 0)
    return re.sub(r"'(?:\\.|[^'\\\n])+'|" r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, text, flags=re.DOTALL)


def finish(path, lines, check):
    """Writes the page, or prints how it differs. Returns the exit code."""
    text = "\n".join([f"<!-- {LICENCE} -->", *lines]) + "\n"
    current = path.read_text(encoding="utf-8") if path.exists() else ""
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return 0
    if text == current:
        return 0
    sys.stderr.writelines(difflib.unified_diff(current.splitlines(True), text.splitlines(True), str(path), "would be"))
    print(f"{path} is not current: ./dev generate", file=sys.stderr)
    return 1
