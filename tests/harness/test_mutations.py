# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The bugs of tests/mutations can be planted in the tree as it is, and their results are enough. What notices them is the work of
./dev mutations."""

import shutil
import subprocess
import sys

import pytest

import jacquard

sys.path.insert(0, str(jacquard.ROOT / "harness"))
import mutations  # noqa: E402


@pytest.fixture(scope="module")
def patches():
    return mutations.read_all(jacquard.ROOT)


def test_every_patch_applies(patches):
    assert mutations.problems(jacquard.ROOT, patches) == []


def test_enough_bugs_are_noticed(patches):
    _, wrong = mutations.page(patches, mutations.read_results(jacquard.ROOT))
    assert wrong == []


def test_every_kind_of_bug_is_noticed(patches):
    """Of each layer most bugs are noticed by a scenario; those of live mode are noticed by ordinary processes."""
    results = mutations.read_results(jacquard.ROOT)
    for layer in mutations.LAYERS:
        rows = [results[patch.number] for patch in patches if patch.layer == layer]
        noticed = [row for row in rows if mutations.by_scenario(row) or layer == "live" and row[2] == "caught"]
        assert len(noticed) > len(rows) / 2, layer


def small_tree(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(jacquard.ROOT / name, folder / name)


def test_a_patch_that_does_not_apply_is_named(tmp_path):
    small_tree(tmp_path, "sim/aries/nic/registration.c", "tests/mutations/001-bound-one-byte-long.patch")
    patches = mutations.read_all(tmp_path)
    assert [text for text in mutations.problems(tmp_path, patches) if "does not apply" in text] == []
    source = tmp_path / "sim/aries/nic/registration.c"
    source.write_text(source.read_text(encoding="utf-8").replace("A_STATUS_AT_BOUNDS_ERR", "A_STATUS_OTHER"), encoding="utf-8")
    assert any("001-bound-one-byte-long.patch does not apply" in text for text in mutations.problems(tmp_path, patches))


def test_a_patch_is_planted_and_taken_back(tmp_path):
    small_tree(tmp_path, "sim/aries/nic/registration.c", "tests/mutations/001-bound-one-byte-long.patch")
    source = tmp_path / "sim/aries/nic/registration.c"
    before, patch = source.read_bytes(), tmp_path / "tests/mutations/001-bound-one-byte-long.patch"
    assert mutations.git_apply(tmp_path, patch) == ""
    assert source.read_bytes() != before
    assert mutations.git_apply(tmp_path, patch, "-R") == ""
    assert source.read_bytes() == before


@pytest.mark.parametrize("change, said", [
    (("Layer: nic", "Layer: moon"), "Layer: one of"),
    (("Kind: ", "Sort: "), "a header has one line for each of"),
    (("# SPDX", "# "), "no licence line"),
])
def test_a_wrong_header_is_refused(tmp_path, change, said):
    small_tree(tmp_path, "tests/mutations/001-bound-one-byte-long.patch")
    patch = tmp_path / "tests/mutations/001-bound-one-byte-long.patch"
    patch.write_text(patch.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises(mutations.MutationError, match=said):
        mutations.read_all(tmp_path)


def test_an_unknown_name_is_one_line():
    ended = subprocess.run([sys.executable, jacquard.ROOT / "harness/mutations.py", "nothing"], capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr == "mutations: no such mutation: nothing\n"
