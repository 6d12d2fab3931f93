# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The pages that harness/coverage.py and harness/ugni_coverage.py make, on small trees where every case occurs."""

import importlib.util
import json
import subprocess
import sys

import jacquard
import pytest

HARNESS = jacquard.ROOT / "harness"


def script(name, root, *options):
    return subprocess.run([sys.executable, str(HARNESS / name), "--root", str(root), *options], capture_output=True,
                          text=True, timeout=60)


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def row(text, first):
    return next(line for line in text.splitlines() if line.startswith(f"| {first} |"))


@pytest.fixture
def checklists(tmp_path):
    write(tmp_path, {
        "tests/checklists/ugni.csv": "# licence\nnumber,text\n1,first\n2,second\n3,third\n12,twelfth\n",
        "tests/checklists/aries.csv": "# licence\nnumber,text\n1,wiring\n3,links\n",
        "tests/checklists/pmi2.csv": "# licence\nnumber,text\n8,rows\n9,names\n",
        "tests/checklists/gni.csv": "# licence\nnumber,text\n5,fields\n",
        "tests/checklists/lnet.csv": "# licence\nnumber,text\n7,strings\n",
        "tests/checklists/m0.csv": "# licence\nnumber,text\n8,buffers\n",
        "tests/checklists/mad.csv": "# licence\nnumber,text\n3,blocks\n",
    })
    return tmp_path


def test_coverage_finds_names(checklists):
    write(checklists, {
        "tests/unit/a_test.c": "/* ugni_3_only_a_comment */ static void ugni_1_works(void **s) { f(\"ugni_3_text\"); }\n"
                               "static void aries_1_aries_3_both(void **s) {}\nint main(void) { run(ugni_1_works); }\n",
        "tests/scenarios/test_b.py": "# test_ugni_3_x\ndef test_ugni_2_in_python():\n    pass\n",
        "tests/pmi/c_test.c": "static void pmi2_8_35_a_row(void **s) { pmi2_key_check(); }\n",
        "tests/interop/test_d.py": "def test_pmi2_8_pmi2_9_both():\n    pass\n",
        "scenarios/deep/ugni-12-loss.yaml": "name: loss\n",
        "scenarios/other.yaml": "name: aries-3-degraded\n",
    })
    assert script("coverage.py", checklists).returncode == 0
    text = (checklists / "tests/COVERAGE.md").read_text()
    ugni, aries = text.split("## Aries")
    aries, pmi2 = aries.split("## PMI-2")
    assert row(pmi2, 8) == ("| 8 | rows | full | `tests/interop/test_d.py` test_pmi2_8_pmi2_9_both<br>"
                            "`tests/pmi/c_test.c` pmi2_8_35_a_row |")
    assert row(pmi2, 9) == "| 9 | names | full | `tests/interop/test_d.py` test_pmi2_8_pmi2_9_both |"
    assert row(ugni, 1) == "| 1 | first | full | `tests/unit/a_test.c` ugni_1_works |"
    assert row(ugni, 2) == "| 2 | second | full | `tests/scenarios/test_b.py` test_ugni_2_in_python |"
    assert row(ugni, 3) == "| 3 | third | none | – |"
    assert row(ugni, 12) == "| 12 | twelfth | full | `scenarios/deep/ugni-12-loss.yaml` |"
    assert row(aries, 1).endswith("aries_1_aries_3_both |")
    assert row(aries, 3) == "| 3 | links | full | `scenarios/other.yaml`<br>`tests/unit/a_test.c` aries_1_aries_3_both |"
    assert row(text, "uGNI") == "| uGNI | 4 | 3 | 0 | 0 | 1 | 3 |"
    assert row(text, "Aries") == "| Aries | 2 | 2 | 0 | 0 | 0 | 2 |"
    assert row(text, "all") == "| all | 12 | 7 | 0 | 0 | 5 | 7 |"


PARTIAL = "# licence\nlist,number,covered,note\n"


def test_coverage_lists_how_much_is_covered(checklists):
    write(checklists, {
        "tests/checklists/partial.csv": PARTIAL + 'ugni,2,none,nobody has one\naries,3,partial,"too big, too hot"\n'
                                        "ugni,1,slow,30 of 1000 loops\n",
        "tests/unit/a_test.c": "static void aries_3_a_part(void **s) {}\nstatic void ugni_1_loops(void **s) {}\n",
    })
    assert script("coverage.py", checklists).returncode == 0
    text = (checklists / "tests/COVERAGE.md").read_text()
    ugni, aries = text.split("## Aries")
    assert row(ugni, 1) == ("| 1 | first | full with `--slow`; by default: 30 of 1000 loops | "
                            "`tests/unit/a_test.c` ugni_1_loops |")
    assert row(ugni, 2) == "| 2 | second | none: nobody has one | – |"
    assert row(ugni, 3) == "| 3 | third | none | – |"
    assert row(aries, 3) == "| 3 | links | partial: too big, too hot | `tests/unit/a_test.c` aries_3_a_part |"
    assert row(text, "uGNI") == "| uGNI | 4 | 1 | 1 | 0 | 3 | 1 |"
    assert row(text, "Aries") == "| Aries | 2 | 0 | 0 | 1 | 1 | 1 |"


@pytest.mark.parametrize("line, message", [
    ("ugni,4711,none,no such item", "no item 4711 in the checklist ugni: tests/checklists/partial.csv"),
    ("ugni,1,half,note", "ugni 1: `half` is none of partial, slow, none"),
    ("ugni,1,none,note", "ugni 1: `none`, but it has tests"),
    ("ugni,2,partial,note", "ugni 2: `partial`, but it has no test"),
    ("ugni,2,slow,note", "ugni 2: `slow`, but it has no test"),
    ("ugni,1,partial,", "ugni 1: no note"),
])
def test_coverage_refuses_a_note_that_cannot_be(checklists, line, message):
    write(checklists, {"tests/checklists/partial.csv": f"{PARTIAL}{line}\n",
                       "tests/unit/a_test.c": "static void ugni_1_works(void **s) {}\n"})
    found = script("coverage.py", checklists)
    assert found.returncode == 1 and message in found.stderr


def test_a_skipped_test_covers_nothing(checklists):
    write(checklists, {
        "tests/checklists/skipped.csv": "# licence\ntest,reason\nugni_1_alone,no hardware\ntest_ugni_2_one,\n"
                                        "scenarios/ugni-3.yaml,\n",
        "tests/checklists/partial.csv": PARTIAL + "ugni,1,partial,only a half\n",
        "tests/unit/a_test.c": "static void ugni_1_alone(void **s) {}\nstatic void ugni_2_other(void **s) {}\n",
        "tests/unit/test_b.py": "def test_ugni_2_one():\n    pass\n",
        "scenarios/ugni-3.yaml": "name: third\n",
    })
    assert script("coverage.py", checklists).returncode == 0
    text = (checklists / "tests/COVERAGE.md").read_text()
    assert row(text, 1) == "| 1 | first | none: only a half | `tests/unit/a_test.c` ugni_1_alone (skipped) |"
    assert row(text, 2) == "| 2 | second | full | `tests/unit/a_test.c` ugni_2_other<br>`tests/unit/test_b.py` test_ugni_2_one (skipped) |"
    assert row(text, 3) == "| 3 | third | none | `scenarios/ugni-3.yaml` (skipped) |"


REQUIREMENTS = "# licence\nrequirement,items\n"


def test_each_requirement_ends_in_a_test(checklists):
    write(checklists, {
        "tests/checklists/m0.csv": "# licence\nnumber,text\n7,queues\n8,buffers\n9,machines\n",
        "tests/checklists/m0_requirements.csv": f"{REQUIREMENTS}r.a,7-8\ni.b,9\n",
        "tests/checklists/partial.csv": PARTIAL + "m0,8,partial,only small ones\n",
        "tests/unit/a_test.c": "static void m0_7_m0_8_two(void **s) {}\nstatic void m0_9_one(void **s) {}\n",
    })
    found = script("coverage.py", checklists)
    assert found.returncode == 0, found.stderr
    text = (checklists / "tests/COVERAGE.md").read_text().split("## Requirements of m0_net")[1]
    assert row(text, "r.a") == "| r.a | 7-8 | 8 (partial) | 1 |"
    assert row(text, "i.b") == "| i.b | 9 | – | 1 |"


@pytest.mark.parametrize("line, message", [
    ("r.a,", "r.a has no item"),
    ("r.a,7 4711", "r.a: no item 4711 in the checklist m0"),
    ("r.a,7-8", "r.a: no test for item 8 of m0_net"),
    ("r.a,9", "r.a: no test for item 9 of m0_net"),
])
def test_a_requirement_without_a_test_is_an_error(checklists, line, message):
    write(checklists, {
        "tests/checklists/m0.csv": "# licence\nnumber,text\n7,queues\n8,buffers\n9,machines\n",
        "tests/checklists/m0_requirements.csv": f"{REQUIREMENTS}{line}\n",
        "tests/checklists/skipped.csv": "# licence\ntest,reason\nm0_9_away,no hardware\n",
        "tests/unit/a_test.c": "static void m0_7_one(void **s) {}\nstatic void m0_9_away(void **s) {}\n",
    })
    found = script("coverage.py", checklists)
    assert found.returncode == 1 and message in found.stderr


CTEST = """<testsuite><testcase name="api_cq" time="2.5" status="run"><system-out>[==========] Running 4 test(s).
[ RUN      ] ugni_1_works
[       OK ] ugni_1_works
[ RUN      ] ugni_2_absent
[  SKIPPED ] ugni_2_absent
[ RUN      ] ugni_3_wrong
[  FAILED  ] ugni_3_wrong
[ RUN      ] ugni_4_crashes
</system-out></testcase><testcase name="api_cq.full" time="70" status="fail"><failure message="Failed"/>
<system-out>[ RUN      ] ugni_2_absent\n[       OK ] ugni_2_absent\n</system-out></testcase></testsuite>"""
PYTEST = """<testsuites><testsuite><testcase classname="tests.a.test_a" name="test_x[1]" time="3.0"/>
<testcase classname="tests.a.test_a" name="test_x[2]" time="0"><skipped message="not here"/></testcase>
<testcase classname="tests.a.test_a" name="test_y[1]" time="0"><skipped message="no cgroups"/></testcase>
<testcase classname="tests.a.test_b" name="test_y" time="0"/>
<testcase classname="scenarios.a.one.yaml" name="holds" time="0"/>
<testcase classname="scenarios.a.two.yaml" name="holds" time="0"><skipped message="no program"/></testcase>
</testsuite></testsuites>"""


def left_by_a_run(folder, slow, **facts):
    write(folder, {"slow.txt": "".join(f"{name}\n" for name in slow),
                   "run.json": json.dumps({"commit": "abc1234", "date": "2026-01-30", "seconds": 600, "whole": False, **facts})})


def record(tmp_path):
    done = script("test_results.py", tmp_path, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    return (tmp_path / "docs/test-results.md").read_text()


def test_the_slow_set_in_pieces(tmp_path):
    write(tmp_path, {"docs/x": "", "tests/x": "", "run/ctest.xml": CTEST})
    slow = ["api_cq.full", "gone.full", "tests/a/test_a.py::test_x[1]", "tests/a/test_a.py::test_y[1]"]
    left_by_a_run(tmp_path / "run", slow)
    text = record(tmp_path)
    assert "| 4 | 0 | 1 | 0 | 3 |" in text
    assert row(text, "`api_cq.full`") == "| `api_cq.full` | 1 | 0 | 70 | `abc1234` | 2026-01-30 |"
    assert row(text, "`tests/a/test_a.py`") == "| `tests/a/test_a.py` | 2 | 0 | 0 | – | – |"
    assert "| `api_cq.full` | Failed |" in text.split("## Failed")[1]
    assert "No run of all tests at once" in text and not (tmp_path / "tests/checklists").exists()
    # Another piece adds its results, renews those of tests that ran again, and drops those of a test that is no longer there.
    (tmp_path / "run/ctest.xml").unlink()
    write(tmp_path, {"run/pytest.xml": PYTEST})
    slow.remove("gone.full")
    left_by_a_run(tmp_path / "run", slow, commit="abc1235", date="2026-02-01")
    text = record(tmp_path)
    assert "| 3 | 1 | 1 | 1 | 0 |" in text and "gone" not in text
    assert row(text, "`tests/a/test_a.py`") == "| `tests/a/test_a.py` | 2 | 1 | 3 | `abc1235` | 2026-02-01 |"
    assert "| `tests/a/test_a.py::test_y[1]` | no cgroups |" in text.split("## Skipped")[1]
    (tmp_path / "run/pytest.xml").unlink()
    write(tmp_path, {"run/ctest.xml": '<testsuite><testcase name="api_cq.full" time="80" status="run"/></testsuite>'})
    left_by_a_run(tmp_path / "run", slow, commit="abc1236")
    text = record(tmp_path)
    assert "| 3 | 2 | 0 | 1 | 0 |" in text and "## Failed" not in text
    assert "| `api_cq.full` | 80 |" in text.split("## The longest")[1]


def test_results_of_a_run_of_all_tests(tmp_path):
    ctest_log = "50% tests passed, 1 tests failed out of 2\n\nTotal Test time (real) =  72.50 sec\n"
    pytest_log = "=== test session starts ===\n\x1b[32m==== \x1b[1m3 passed\x1b[0m, 3 skipped in 3.00s (0:00:03) ====\x1b[0m\n"
    write(tmp_path, {"run/ctest.xml": CTEST, "run/pytest.xml": PYTEST, "run/ctest.log": ctest_log, "run/pytest.log": pytest_log,
                     "docs/x": "", "tests/checklists/x": ""})
    left_by_a_run(tmp_path / "run", ["api_cq.full"], whole=True)
    text = record(tmp_path)
    assert "Commit `abc1234`, 2026-01-30: 10 minutes on " in text
    assert "ctest: 50% tests passed, 1 tests failed out of 2\npytest: 3 passed, 3 skipped in 3.00s (0:00:03)\n" in text
    assert row(text, "C test programs") == "| C test programs | 2 | 1 | 1 | 0 |"
    assert row(text, "tests in them") == "| tests in them | 5 | 2 | 2 | 1 |"
    assert row(text, "Python tests and scenarios") == "| Python tests and scenarios | 6 | 3 | 0 | 3 |"
    # A test that ran once, with other parameters or with the full numbers, was not skipped.
    skipped = tmp_path / "tests/checklists/skipped.csv"
    missed = ["test,reason", "scenarios/a/two.yaml,no program", "tests/a/test_a.py::test_y,no cgroups"]
    assert skipped.read_text().splitlines()[2:] == missed
    # Tests of the tree that were not part of the run are listed as skipped.
    write(tmp_path, {"tests/a/a.c": "void ugni_1_works(void **s);\nvoid ugni_7_not_built(void **s);\nvoid ugni_8_no_test(void **s);\n"
                                    "const struct CMUnitTest tests[] = {cmocka_unit_test(ugni_1_works),\n"
                                    "cmocka_unit_test_setup(ugni_7_not_built, 0)};\n",
                     "tests/a/test_c.py": "def test_ugni_9_here():\n    pass\n", "scenarios/a/ugni-5.yaml": "name: five\n",
                     "run/pytest.log": "Terminated\n"})
    assert "pytest: no closing line: it did not end by itself\n" in record(tmp_path)
    assert set(skipped.read_text().splitlines()[3:]) == {*missed[1:], *(
        f"{test},not part of the run" for test in ("ugni_7_not_built", "tests/a/test_c.py::test_ugni_9_here", "scenarios/a/ugni-5.yaml"))}


def test_coverage_check_sees_a_stale_page(checklists):
    assert script("coverage.py", checklists, "--check").returncode == 1
    assert not (checklists / "tests/COVERAGE.md").exists()
    assert script("coverage.py", checklists).returncode == 0
    assert script("coverage.py", checklists, "--check").returncode == 0
    write(checklists, {"tests/unit/new.c": "void ugni_2_new(void **s);\n"})
    stale = script("coverage.py", checklists, "--check")
    assert stale.returncode == 1 and "ugni_2_new" in stale.stderr


def test_coverage_refuses_an_unknown_item(checklists):
    write(checklists, {"tests/unit/new.c": "void ugni_4711_new(void **s);\n"})
    found = script("coverage.py", checklists)
    assert found.returncode == 1 and "no item 4711 in the checklist ugni" in found.stderr


def test_ugni_coverage_lists_what_is_implemented(tmp_path):
    write(tmp_path, {
        "docs/ugni-functions.csv": "# licence\nfunction,priority,callers\nGNI_EpBind,P0,Open-MPI UCX\nGNI_EpIdle,P2,\n"
                                   "GNI_CeCreate,P0,GASNet\nGNI_CeGetId,P0,GASNet\nGNI_CqDestroy,P0,UCX\n"
                                   "GNI_BISyncWait,P2,\n",
        "sim/aries/ep.c": "gni_return_t GNI_EpBind(gni_ep_handle_t ep,\n    uint32_t a, uint32_t b)\n{\n    return f(ep);\n}\n"
                          "gni_return_t GNI_EpIdle(gni_ep_handle_t ep)\n{\n    /* later */\n    return GNI_RC_ILLEGAL_OP;\n}\n"
                          "gni_return_t GNI_CqDestroy(gni_cq_handle_t cq);\n",
        "sim/aries/ce.c": "GNIX_UNIMPLEMENTED(GNI_CeCreate, gni_nic_handle_t, gni_ce_handle_t *)\n",
        "sim/aries/ce_id.c": "gni_return_t GNI_CeGetId(gni_ce_handle_t ce, uint32_t *id)\n{\n    return GNI_RC_ILLEGAL_OP;\n}\n",
        "tests/api/ep_test.c": "int main(void) { return GNI_EpBind(0, 0, 0); /* GNI_EpIdle(0) */ }\n",
        "tests/install/test_x.py": "CLIENT = 'GNI_EpBind(ep, 1, 2);'\n",
    })
    assert script("ugni_coverage.py", tmp_path).returncode == 0
    text = (tmp_path / "docs/ugni-coverage.md").read_text()
    assert row(text, "`GNI_EpBind`") == "| `GNI_EpBind` | P0 | yes | Open MPI, UCX | `api/ep_test.c`, `install/test_x.py` |"
    assert row(text, "`GNI_EpIdle`") == "| `GNI_EpIdle` | P2 | no | – | – |"
    assert {row(text, f"`{name}`").split(" | ")[2] for name in ("GNI_CeCreate", "GNI_CeGetId", "GNI_CqDestroy")} == {"no"}
    assert row(text, "P0") == "| P0 | 4 | 1 | 1 |"
    assert row(text, "all") == "| all | 6 | 1 | 1 |"
    assert "| `GNI_EpBind` | 0 | – |" in text
    assert script("ugni_coverage.py", tmp_path, "--check").returncode == 0
    write(tmp_path, {
        "tests/api/fixture.h": "void connect(int peer);\n",
        "tests/api/fixture.c": "void connect(int peer)\n{\n    GNI_EpBind(0, peer, 0);\n}\n",
        "tests/api/pair.h": '#include "fixture.h"\n',
        "tests/api/other.h": "void connect(int peer);\n",
        "tests/api/other.c": "void connect(int peer)\n{\n    GNI_EpIdle(0);\n}\n",
        "tests/api/cq_test.c": '#include "pair.h"\n'
                               "static void body(struct rank *rank)\n{\n    connect(1);\n    GNI_CqDestroy(0);\n}\n"
                               "static void ugni_1_by_helper(void **state)\n{\n    run(body);\n}\n"
                               "static void ugni_2_direct(void **state)\n{\n    GNI_EpBind(0, 0, 0);\n}\n"
                               "int main(void)\n{\n    const struct CMUnitTest tests[] = "
                               "{cmocka_unit_test(ugni_1_by_helper), cmocka_unit_test(ugni_2_direct)};\n}\n",
    })
    assert script("ugni_coverage.py", tmp_path).returncode == 0
    text = (tmp_path / "docs/ugni-coverage.md").read_text()
    assert "| `GNI_EpBind` | 2 | `ugni_2_direct`, `ugni_1_by_helper` |" in text
    assert "| `GNI_CqDestroy` | 1 | `ugni_1_by_helper` |" in text
    assert "| `GNI_EpIdle` | 0 | – |" in text  # its caller is in a file that the test does not include
    write(tmp_path, {"sim/aries/ep.c": ""})
    assert script("ugni_coverage.py", tmp_path, "--check").returncode == 1


def test_checklists_and_function_list_are_whole():
    for which, count in {"ugni": 138, "aries": 62, "pmi2": 121, "gni": 163}.items():
        lines = (jacquard.ROOT / f"tests/checklists/{which}.csv").read_text().splitlines()[2:]
        assert [int(line.split(",")[0]) for line in lines] == list(range(1, count + 1))
    functions = (jacquard.ROOT / "docs/ugni-functions.csv").read_text().splitlines()
    names = [line.split(",")[0] for line in functions if line.startswith("GNI_")]
    header = (jacquard.ROOT / "sim/aries/include/gni_pub.h").read_text()
    assert len(names) == len(set(names)) == 102
    assert all(f"gni_return_t {name}(" in header for name in names)


def test_every_item_has_a_test_or_a_reason(monkeypatch):
    monkeypatch.syspath_prepend(str(HARNESS))
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("conformance", HARNESS / "coverage.py"))
    module.__spec__.loader.exec_module(module)
    known = set(module.scan(jacquard.ROOT)) | set(module.notes(jacquard.ROOT))
    counts = {"ugni": 138, "aries": 62, "pmi2": 121, "gni": 163}
    assert not [(which, number) for which in counts for number in range(1, counts[which] + 1) if (which, number) not in known]
