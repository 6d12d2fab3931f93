# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Each check of harness/house.py finds its mistake in a small tree made for it."""

import json

import house
import pytest


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Writes files and answers their names; the table has a folder above another one."""
    monkeypatch.setattr(house, "ROOT", tmp_path)
    monkeypatch.setattr(house, "ARROWS", {"sim/low": [], "sim/high": ["sim/low"], "sim/other": ["sim/high"]})

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return sorted(files)

    return write


def test_an_arrow_of_the_table_is_counted(tree):
    names = tree({"sim/low/include/low/low.h": "", "sim/high/a.c": '#include "low/low.h"\n'})
    assert house.arrows(names) == ({("sim/high", "sim/low"): 1}, [])


def test_libm_is_refused_in_the_model_and_not_in_comments_or_elsewhere(tree):
    names = tree({"sim/low/a.c": "/* log(x) */\ndouble f(double x) { return sim_log(x) + core.log(x) + pow(x, 2); }\n",
                  "bench/b.c": "double g(double x) { return exp(x); }\n"})
    found = list(house.inexact(names))
    assert len(found) == 1 and found[0].startswith("sim/low/a.c:2: pow(")


def test_an_arrow_that_points_up_is_a_problem(tree):
    names = tree({"sim/low/a.c": '\n#include "high/high.h"\n', "sim/high/include/high/high.h": ""})
    _, problems = house.arrows(names)
    assert len(problems) == 1 and problems[0].startswith("sim/low/a.c:2: high/high.h: sim/low may not use sim/high")


def test_a_header_outside_include_is_for_its_library_alone(tree):
    names = tree({"sim/low/low.h": "", "sim/high/a.c": '#include "low.h"\n'})
    _, problems = house.arrows(names)
    assert len(problems) == 1 and "sim/low keeps this header to itself" in problems[0]


def test_a_header_of_the_same_folder_comes_first(tree):
    names = tree({"sim/low/internal.h": "", "sim/high/internal.h": "", "sim/high/a.c": '#include "internal.h"\n'})
    assert house.arrows(names) == ({}, [])


def test_a_circle_of_folders_is_named():
    assert house.circles({("a", "b"): 1, ("b", "c"): 1, ("c", "a"): 1, ("c", "d"): 1}) == ["a circle of folders: a, b, c"]
    assert house.circles({("a", "b"): 1, ("b", "c"): 1}) == []


def test_a_target_compiles_the_sources_of_its_own_folder(tree, tmp_path):
    tree({"sim/low/a.c": "", "build/compile_commands.json": json.dumps([
        {"file": str(tmp_path / "sim/low/a.c"), "command": f"cc -o {output} -c a.c"}
        for output in ("sim/low/CMakeFiles/low.dir/a.c.o", "sim/high/CMakeFiles/high.dir/__/low/a.c.o",
                       "tests/CMakeFiles/low_test.dir/__/sim/low/a.c.o")])})
    assert house.foreign_sources(tmp_path / "build") == ["sim/high: target high compiles sim/low/a.c"]


def test_a_long_file_needs_an_exception_and_an_exception_a_long_file(tree):
    names = tree({"sim/low/long.c": "\n" * 601, "sim/low/short.c": "\n" * 600})
    assert [line.split(":")[0] for line in house.lengths(names, set())] == ["sim/low/long.c"]
    assert list(house.lengths(names, {"sim/low/long.c"})) == []
    assert len(list(house.lengths(names, {"sim/low/long.c", "sim/low/short.c"}))) == 1


def test_test_files_have_the_same_limit(tree):
    names = tree({"tests/unit/long.c": "\n" * 601})
    assert [problem.split(":")[0] for problem in house.lengths(names, set())] == ["tests/unit/long.c"]


def table(**columns):
    row = {"term": "bell", "instead": "doorbell", "allowed": "", "left_out": ""}
    return house.Terms([{**row, **columns}])


def test_a_home_made_term_is_refused_in_names_only(tree):
    names = tree({"sim/low/bell.c": "", "sim/low/a.c": '/* a bell\n */\nint ring_bell; const char *t = "bell";\nint doorbell;\n',
                  "tests/unit/BELL_test.py": '"""a bell"""\nBELL = "bell"  # a bell\n'})
    found = house.terms(names, table())
    assert {folder: [message.split(" ")[0] for message in messages] for folder, messages in found.items()} == {
        "sim/low": ["sim/low/a.c:3:", "sim/low/bell.c:"], "tests/unit": ["tests/unit/BELL_test.py:", "tests/unit/BELL_test.py:2:"]}
    assert "ring_bell has “bell”; the field says: doorbell" in found["sim/low"][0]


def test_a_quotation_mark_as_a_character_starts_no_string(tree):
    names = tree({"sim/low/a.c": "char c = '\"'; int bell; char d = '\"';\n"})
    assert len(house.terms(names, table())["sim/low"]) == 1


def test_a_term_of_several_parts_is_refused_only_as_a_whole():
    several = table(term="take_lock", instead="lock")
    assert several.find("gnip_take_lock") == "take_lock"
    assert several.find("take_entry") is None and several.find("lock") is None


def test_compounds_of_the_field_and_words_that_were_left_out_are_allowed():
    assert table(term="way", allowed="one_way").find("one_way_body") is None
    assert table(term="way", allowed="one_way").find("one_way_of_ways") is None
    assert table(term="way", allowed="one_way").find("way_one_way") == "way"
    assert table(left_out="a plain word").find("bell") is None


def test_the_number_of_terms_left_is_exact():
    found = {"sim/low": ["sim/low/a.c:1: one", "sim/low/a.c:2: two"]}
    assert list(house.terms_left(found, {"sim/low": 2})) == []
    assert len(list(house.terms_left(found, {"sim/low": 1}))) == 3  # the places, and the number
    assert ["lower it" in problem for problem in house.terms_left(found, {"sim/low": 3})] == [True]
    assert ["sim/gone: 0 names" in problem for problem in house.terms_left({}, {"sim/gone": 1})] == [True]


def test_the_recorded_numbers_are_those_of_the_tree(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(house, "LISTS", tmp_path)
    house.record_terms({"sim/low": ["a", "b"]})
    assert house.read_csv(tmp_path / "terms_left.csv") == [{"folder": "sim/low", "count": "2"}]


def test_a_path_in_a_comment_or_page_names_a_file(tree):
    names = tree({"sim/low/a.c": "/* see b.c and gone.c */\n", "sim/low/b.c": 'const char *t = "none.c";\n',
                  "docs/page.md": "[a](../sim/low/a.c) `sim/low/gone.h`\nyours.c\n"})
    found = list(house.paths(names, {"yours.c"}))
    assert [line.split(" is ")[0] for line in found] == ["docs/page.md:1: sim/low/gone.h", "sim/low/a.c:1: gone.c"]


def test_the_tables_name_folders_that_exist():
    for folder, uses in house.ARROWS.items():
        assert (house.ROOT / folder).is_dir()
        assert all((house.ROOT / use).is_dir() for use in uses)
    for folder in house.PREFIXES:
        assert (house.ROOT / folder).is_dir()
