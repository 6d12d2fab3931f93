# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What libugni exports: every name that gni_pub.h declares, with C linkage, as a definition that can be interposed."""

import re
import subprocess

import jacquard
import pytest

HEADER = jacquard.ROOT / "sim/aries/include/gni_pub.h"

TRACER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include "gni_pub.h"
gni_return_t GNI_GetVersion(uint32_t *version)
{
    gni_return_t (*next)(uint32_t *) = (gni_return_t (*)(uint32_t *))dlsym(RTLD_NEXT, "GNI_GetVersion");
    gni_return_t status = next(version);
    *version += 1;
    return status;
}
"""
CALLER = r"""
#include "gni_pub.h"
int main(void)
{
    uint32_t version = 0;
    return GNI_GetVersion(&version) == GNI_RC_SUCCESS ? (int)(version - GNI_VERSION) : 99;
}
"""


def declared():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    text = re.sub(r"^#(\\\n|.)*$", "", text, flags=re.MULTILINE)
    functions = set(re.findall(r"\b((?:GNI|gni)_\w+)\((?=[^()]*(?:\([^()]*\)[^()]*)*\)\s*;)", text))
    functions = {name for name in functions if not name.endswith("_func")}  # a type
    data = set(re.findall(r"extern const char \*(gni_\w+)\[\];", text))
    return functions, data


def defined(library, *options):
    output = subprocess.run(["nm", "--defined-only", "-P", *options, str(library)], check=True, capture_output=True,
                            text=True).stdout
    return {fields[0].split("@")[0]: fields[1] for fields in map(str.split, output.splitlines()) if len(fields) > 2}


@pytest.fixture(scope="module")
def libraries():
    return jacquard.build_directory() / "lib" / "libugni.so", jacquard.build_directory() / "lib" / "libugni.a"


def test_ugni_8_header_declares_all():
    functions, data = declared()
    count = {prefix: sum(name.startswith(prefix) for name in functions) for prefix in ("GNI_", "gni_cq_", "gni_ce_res_")}
    assert count == {"GNI_": 102, "gni_cq_": 26, "gni_ce_res_": 4}
    assert functions - {name for name in functions if name.startswith(tuple(count))} == {
        "gni_dev_res_valid", "gni_dev_res_to_str", "gni_job_res_valid", "gni_job_res_to_str"}
    assert data == {"gni_err_str", "gni_statistic_str"}


def test_ugni_8_shared_library_exports_all(libraries):
    functions, data = declared()
    symbols = defined(libraries[0], "--dynamic")
    # T, not W or i: one ordinary definition each, which LD_PRELOAD and --wrap replace.
    assert {name for name in functions if symbols.get(name) != "T"} == set()
    assert {name for name in data if symbols.get(name) not in ("D", "B", "R")} == set()


def test_ugni_8_archive_defines_all(libraries):
    functions, data = declared()
    symbols = defined(libraries[1], "--extern-only")
    assert {name for name in functions if symbols.get(name) != "T"} == set()
    assert data <= set(symbols)


def test_ugni_8_can_be_interposed(libraries, tmp_path):
    compiler = ["cc", "-I", str(HEADER.parent)]
    (tmp_path / "tracer.c").write_text(TRACER)
    (tmp_path / "caller.c").write_text(CALLER)
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", "libtracer.so", "tracer.c", "-ldl"], cwd=tmp_path, check=True)
    subprocess.run([*compiler, "-o", "caller", "caller.c", str(libraries[0])], cwd=tmp_path, check=True)
    plain = {"LD_LIBRARY_PATH": str(libraries[0].parent)}
    traced = dict(plain, LD_PRELOAD=str(tmp_path / "libtracer.so"))
    assert subprocess.run(["./caller"], cwd=tmp_path, env=plain).returncode == 0
    assert subprocess.run(["./caller"], cwd=tmp_path, env=traced).returncode == 1
