# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The pages that harness/coverage.py and harness/ugni_coverage.py make, on small trees where every case occurs."""

import importlib.util
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
    assert row(pmi2, 8) == "| 8 | rows | `tests/interop/test_d.py` test_pmi2_8_pmi2_9_both<br>`tests/pmi/c_test.c` pmi2_8_35_a_row |"
    assert row(pmi2, 9) == "| 9 | names | `tests/interop/test_d.py` test_pmi2_8_pmi2_9_both |"
    assert row(ugni, 1) == "| 1 | first | `tests/unit/a_test.c` ugni_1_works |"
    assert row(ugni, 2) == "| 2 | second | `tests/scenarios/test_b.py` test_ugni_2_in_python |"
    assert row(ugni, 3) == "| 3 | third | – |"
    assert row(ugni, 12) == "| 12 | twelfth | `scenarios/deep/ugni-12-loss.yaml` |"
    assert row(aries, 1).endswith("aries_1_aries_3_both |")
    assert row(aries, 3) == "| 3 | links | `scenarios/other.yaml`<br>`tests/unit/a_test.c` aries_1_aries_3_both |"
    assert row(text, "uGNI") == "| uGNI | 4 | 3 | 0 | 3 |"
    assert row(text, "Aries") == "| Aries | 2 | 2 | 0 | 2 |"


def test_coverage_shows_reasons(checklists):
    write(checklists, {
        "tests/checklists/reasons.csv": "# licence\nlist,number,reason\nugni,2,nobody has one\naries,3,\"too big, too hot\"\n",
        "tests/unit/a_test.c": "static void aries_3_a_part(void **s) {}\n",
    })
    assert script("coverage.py", checklists).returncode == 0
    text = (checklists / "tests/COVERAGE.md").read_text()
    ugni, aries = text.split("## Aries")
    assert row(ugni, 1) == "| 1 | first | – |"
    assert row(ugni, 2) == "| 2 | second | not here: nobody has one |"
    assert row(aries, 3) == "| 3 | links | `tests/unit/a_test.c` aries_3_a_part<br>not here: too big, too hot |"
    assert row(text, "uGNI") == "| uGNI | 4 | 0 | 1 | 0 |"
    assert row(text, "Aries") == "| Aries | 2 | 1 | 0 | 1 |"
    write(checklists, {"tests/checklists/reasons.csv": "list,number,reason\nugni,4711,no such item\n"})
    found = script("coverage.py", checklists)
    assert found.returncode == 1 and "no item 4711 in the checklist ugni: tests/checklists/reasons.csv" in found.stderr


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


def test_ugni_coverage_tells_what_is_implemented(tmp_path):
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
        "tests/api/fixture.c": "static void connect(int peer)\n{\n    GNI_EpBind(0, peer, 0);\n}\n",
        "tests/api/cq_test.c": "static void body(struct rank *rank)\n{\n    connect(1);\n    GNI_CqDestroy(0);\n}\n"
                               "static void ugni_1_by_helper(void **state)\n{\n    run(body);\n}\n"
                               "static void ugni_2_direct(void **state)\n{\n    GNI_EpBind(0, 0, 0);\n}\n"
                               "int main(void)\n{\n    const struct CMUnitTest tests[] = "
                               "{cmocka_unit_test(ugni_1_by_helper), cmocka_unit_test(ugni_2_direct)};\n}\n",
    })
    assert script("ugni_coverage.py", tmp_path).returncode == 0
    text = (tmp_path / "docs/ugni-coverage.md").read_text()
    assert "| `GNI_EpBind` | 2 | `ugni_2_direct`, `ugni_1_by_helper` |" in text
    assert "| `GNI_CqDestroy` | 1 | `ugni_1_by_helper` |" in text
    write(tmp_path, {"sim/aries/ep.c": ""})
    assert script("ugni_coverage.py", tmp_path, "--check").returncode == 1


def test_checklists_and_function_list_are_whole():
    numbers = {"ugni": 138, "aries": 62, "pmi2": 121}
    for which, count in numbers.items():
        lines = (jacquard.ROOT / f"tests/checklists/{which}.csv").read_text().splitlines()[2:]
        assert [int(line.split(",")[0]) for line in lines] == list(range(1, count + 1))
    functions = (jacquard.ROOT / "docs/ugni-functions.csv").read_text().splitlines()
    names = [line.split(",")[0] for line in functions if line.startswith("GNI_")]
    header = (jacquard.ROOT / "sim/aries/include/gni_pub.h").read_text()
    assert len(names) == len(set(names)) == 102
    assert all(f"gni_return_t {name}(" in header for name in names)


def test_every_ugni_item_has_a_test_or_a_reason(monkeypatch):
    monkeypatch.syspath_prepend(str(HARNESS))
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("conformance", HARNESS / "coverage.py"))
    module.__spec__.loader.exec_module(module)
    known = set(module.scan(jacquard.ROOT)) | set(module.reasons(jacquard.ROOT))
    assert not [number for number in range(1, 139) if ("ugni", number) not in known]
