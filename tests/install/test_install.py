# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The installed tree, used as others will use it: uGNI clients through pkg-config and CMake, a workload as a shared
object. The tree is installed under DESTDIR, so nothing may depend on where it lies."""

import json

import jacquard
import pytest
from jacquard.installed import Installed
from jacquard.installed import command as run

CLIENT = r"""
#include <stdio.h>
#include <gni_pub.h>
#include <aries/misc/exceptions.h>
#ifndef CRAY_CONFIG_GHAL_ARIES
#error "the flags of cray-ugni are missing"
#endif
int main(void)
{
    gni_cdm_handle_t cdm = 0;
    gni_return_t status = GNI_CdmCreate(0, 7, 0x1234, GNI_CDM_MODE_ERR_NO_KILL, &cdm);
    /* Outside sim-run there is no fabric: what counts is that the call arrives in the library. */
    printf("GNI_CdmCreate: %s\n", gni_err_str[status]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


def test_everything_is_there(installed):
    for name in ["include/jacquard/gni_pub.h", "include/jacquard/aries/misc/exceptions.h",
                 "include/jacquard/run/workload.h", "include/jacquard/pmi.h", "include/jacquard/alps/libalpslli.h", "share/man/man1/sim-run.1", "share/jacquard/scenarios/quickstart.yaml"]:
        assert (installed.prefix / name).is_file(), name
    assert (installed.library / "libugni.so.0").exists()
    assert (installed.library / "libugni.a").is_file()
    assert "Jacquard" in run([installed.sim_run, "--version"])


def test_the_installed_program_runs_the_installed_quickstart(installed):
    scenario = installed.prefix / "share/jacquard/scenarios/quickstart.yaml"
    run([installed.sim_run, scenario])


@pytest.mark.parametrize("compiler, suffix, flags", [
    ("gcc", "c", ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]),
    ("gcc", "c", ["-std=c99", "-Wall", "-Wextra", "-Werror"]),
    ("clang", "c", ["-Wall", "-Wextra", "-Werror"]),
    ("g++", "cc", ["-std=c++11", "-Wall", "-Wextra", "-Werror"]),
    ("clang++", "cc", ["-std=c++17", "-Wall", "-Wextra", "-Werror"]),
])
def test_client_through_pkg_config(installed, tmp_path, compiler, suffix, flags):
    source, program = tmp_path / f"client.{suffix}", tmp_path / "client"
    source.write_text(CLIENT)
    run([compiler, *flags, source, "-o", program, *installed.pkg_config("--cflags", "--libs", "cray-ugni")])
    assert "libugni.so.0" in run(["readelf", "-d", program])
    assert "GNI_CdmCreate: " in run([program], env=installed.environment)


def test_static_client(installed, tmp_path):
    source, program = tmp_path / "client.c", tmp_path / "client"
    source.write_text(CLIENT)
    flags = [flag.replace("-lugni", "-l:libugni.a") for flag in
             installed.pkg_config("--static", "--cflags", "--libs", "cray-ugni")]
    run(["gcc", source, "-o", program, *flags])
    assert "libugni" not in run(["readelf", "-d", program])
    assert "GNI_CdmCreate: " in run([program])


def test_client_through_cmake(installed, tmp_path):
    (tmp_path / "client.c").write_text(CLIENT.replace("#ifndef CRAY_CONFIG_GHAL_ARIES", "#if 0"))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(client C)\nfind_package(jacquard 0.1 REQUIRED)\n"
        "add_executable(client client.c)\ntarget_link_libraries(client jacquard::ugni)\n")
    run(["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed.prefix}"])
    run(["cmake", "--build", tmp_path / "build"])
    assert "GNI_CdmCreate: " in run([tmp_path / "build" / "client"])


def test_headers_stand_alone(installed, tmp_path):
    for header in ["gni_pub.h", "aries/misc/exceptions.h", "run/workload.h"]:
        for language in ["c", "c++"]:
            run(["gcc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-x{language}", "-include", header, "/dev/null",
                 *installed.pkg_config("--cflags", "jacquard")])


def test_workload_as_shared_object(installed, tmp_path):
    source = jacquard.ROOT / "docs" / "examples" / "hello_workload.c"
    run(["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", tmp_path / "hello_workload.so",
         *installed.pkg_config("--cflags", "--libs", "jacquard")])
    scenario = jacquard.ROOT / "docs" / "examples" / "hello.yaml"
    result = json.loads(run([installed.sim_run, scenario, "--json", "--set",
                             f"jobs.hello.program={tmp_path / 'hello_workload.so'}"]))
    assert result["outcome"] == "done" and result["ledger"]["balanced"]
