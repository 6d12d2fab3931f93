# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rules of the tree that no compiler checks: licence lines, paths of one machine,
suppressions without a reason, Python that does not compile. Run by `./dev lint tree`."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LICENCE = "SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only"

# Texts by other authors, and data files whose exact bytes matter.
NO_LICENCE_LINE = re.compile(r"^(LICENSES/|tests/fuzz/corpus/|sim/run/report/page/vendor/(.*\.min\.(js|css)|licences\.txt)$|\.gitignore$)")
BINARY = re.compile(r"\.(png|svg|gz|pb|pftrace|bin)$")
# Home and work directories of a person or a build machine.
MACHINE_PATH = re.compile(r"(?<![\w.$}~])/(?:home|root|Users|work|farm|workspace)/[\w.]")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\s*["<]([^">]+)[">]', re.MULTILINE)
SUPPRESSION = re.compile(r"NOLINT|cppcheck-suppress|pragma GCC diagnostic ignored|LCOV_EXCL|GCOVR_EXCL")
COMMENT = re.compile(r"(?:/\*|//)(.*)")


def tracked_files():
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def check_licence(name, text):
    if NO_LICENCE_LINE.match(name) or not text:
        return
    head = text.split("\n")[:5]
    if not any(LICENCE in line for line in head) and '"SPDX-License-Identifier": "BSD-2-Clause OR GPL-2.0-only"' not in text:
        yield 1, f"no licence line ({LICENCE})"


def check_includes(name, text):
    """What a folder may include of others: house.py."""
    if name.endswith((".c", ".h")):
        for match in INCLUDE.finditer(text):
            if "../" in match.group(1):
                yield text.count("\n", 0, match.start()) + 1, f"{match.group(1)}: includes reach only along the include directories of the targets"


def check_machine_paths(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        match = MACHINE_PATH.search(line)
        if match:
            yield number, f"path of one machine: {line[match.start():match.start() + 40]}"


def check_suppressions(name, text):
    lines = text.split("\n")
    if name.endswith((".c", ".h")):
        for number, line in enumerate(lines, 1):
            match = SUPPRESSION.search(line)
            above = lines[number - 2] if number > 1 else ""
            comment = COMMENT.search(line)
            words = re.findall(r"[A-Za-z]+(?![\w.(*-])", comment.group(1).replace(match.group(), "")) if match and comment else []
            if match and len(words) < 3 and not re.match(r"\s*(/\*|\*|//)", above):
                yield number, "a suppression says why, in its line or the comment above"
    elif name == "tests/lint/cppcheck.txt":
        for number, line in enumerate(lines, 1):
            if line and not line.startswith("#") and not lines[number - 2].startswith("#"):
                yield number, "above a suppression stands why"


def check_python(name, text):
    if name.endswith(".py"):
        try:
            ast.parse(text, name)
        except SyntaxError as error:
            yield error.lineno or 1, f"does not compile: {error.msg}"


CHECKS = (check_licence, check_includes, check_machine_paths, check_suppressions, check_python)


def main():
    files = tracked_files()
    problems = 0
    for name in files:
        if BINARY.search(name) or name.startswith("tests/fuzz/corpus/"):
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            print(f"{name}: not UTF-8 text; name its suffix in {Path(__file__).name} if it is data")
            problems += 1
            continue
        for check in CHECKS:
            for line, message in check(name, text):
                print(f"{name}:{line}: {message}")
                problems += 1
    print(f"{len(files)} files, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
