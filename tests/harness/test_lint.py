# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The rules of harness/lint.py refuse what is wrong and accept what is allowed."""

import lint
import pytest

LICENCE = "/* " + lint.LICENCE + " */\n"
MACHINE = "/ho" + "me/someone/tree"


def found(check, name, text):
    return [line for line, _ in check(name, text)]


@pytest.mark.parametrize("name, text, lines", [
    ("sim/net/a.c", "int a;\n", [1]),
    ("sim/net/a.c", LICENCE + "int a;\n", []),
    ("dev", "#!/usr/bin/env bash\n# " + lint.LICENCE + "\n", []),
    ("LICENSES/GPL-2.0-only.txt", "text", []),
    ("tests/fuzz/corpus/scenario/a", "text", []),
])
def test_licence_line(name, text, lines):
    assert found(lint.check_licence, name, text) == lines


def test_includes_do_not_climb():
    assert found(lint.check_includes, "sim/net/a.c", '\n#include "../engine/internal.h"\n') == [2]
    assert found(lint.check_includes, "sim/net/a.c", '#include "net/net.h"\n') == []


def test_machine_paths():
    assert found(lint.check_machine_paths, "docs/a.md", f"\nin {MACHINE}\n") == [2]
    assert found(lint.check_machine_paths, "docs/a.md", "https://example.org/home/page /usr/bin/python3\n") == []


def test_suppressions_have_reasons():
    assert found(lint.check_suppressions, "sim/a.c", "x(); // NOLINT\n") == [1]
    assert found(lint.check_suppressions, "sim/a.c", "x(); // NOLINT(clang-analyzer-core.NullDereference)\n") == [1]
    assert found(lint.check_suppressions, "sim/a.c", "x(); // NOLINT: the handle is an address\n") == []
    assert found(lint.check_suppressions, "sim/a.c", "/* It loses the argument: NOLINTNEXTLINE(bugprone-*) */\nx();\n") == []
    assert found(lint.check_suppressions, "sim/a.c", "/* The handle is an address. */\nx(); // NOLINT\n") == []
    assert found(lint.check_suppressions, "tests/lint/cppcheck.txt", "# why\nid\n\nother\n") == [4]


def test_python_compiles():
    assert found(lint.check_python, "a.py", "def f(:\n") == [1]
