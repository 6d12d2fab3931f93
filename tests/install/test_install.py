# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The installed tree, used as others will use it: uGNI clients through pkg-config and CMake, a workload as a shared
object. The tree is installed under DESTDIR, so nothing may depend on where it lies."""

import json
import os
import subprocess

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
    gni_nic_handle_t nic = 0;
    unsigned address = 99;
    gni_return_t status = GNI_CdmCreate(0, 7, 0x12340000, GNI_CDM_MODE_ERR_NO_KILL, &cdm);
    printf("GNI_CdmCreate: %s\n", gni_err_str[status]);
    status = GNI_CdmAttach(cdm, 0, &address, &nic);
    printf("GNI_CdmAttach: %s, address %u\n", gni_err_str[status], address);
    return 0;
}
"""


ATTACHED = "GNI_CdmCreate: GNI_RC_SUCCESS\nGNI_CdmAttach: GNI_RC_SUCCESS, address 0\n"


def alone(installed, **more):
    """The environment of a program that nobody launched."""
    clean = {name: value for name, value in installed.environment.items() if not name.startswith("JACQUARD_")}
    return dict(clean, **more)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


def test_everything_is_there(installed):
    for name in ["include/jacquard/gni_pub.h", "include/jacquard/aries/misc/exceptions.h",
                 "include/jacquard/run/workload.h", "include/jacquard/pmi.h", "include/jacquard/alps/libalpslli.h", "share/man/man1/sim-run.1", "share/man/man1/jacquard-lnet.1", "share/jacquard/scenarios/quickstart.yaml"]:
        assert (installed.prefix / name).is_file(), name
    assert (installed.library / "libugni.so.0").exists()
    assert (installed.library / "libugni.a").is_file()
    assert "Jacquard" in run([installed.sim_run, "--version"])


def test_every_installed_program_says_its_version(installed):
    version = run([installed.sim_run, "--version"]).split()[-1]
    programs = sorted((installed.prefix / "bin").iterdir())
    assert len(programs) > 10
    for program in programs:
        first = run([program, "--version"], env=alone(installed), stdin=subprocess.DEVNULL).splitlines()[0]
        assert first.split()[0].startswith(program.name.partition("-")[0]) and version in first, f"{program.name}: {first}"


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
    # By itself it has a private fabric.
    assert run([program], env=alone(installed)) == ATTACHED


def test_without_the_daemon_it_does_not_attach(installed, tmp_path):
    source, program = tmp_path / "client.c", tmp_path / "client"
    source.write_text(CLIENT)
    run(["gcc", source, "-o", program, *installed.pkg_config("--cflags", "--libs", "cray-ugni")])
    said = run([program], env=alone(installed, JACQUARD_FABRICD="/nonexistent"))
    assert "GNI_CdmAttach: GNI_RC_INVALID_STATE" in said and "no jacquard-fabricd" in said


def test_static_client(installed, tmp_path):
    source, program = tmp_path / "client.c", tmp_path / "client"
    source.write_text(CLIENT)
    flags = [flag.replace("-lugni", "-l:libugni.a") for flag in
             installed.pkg_config("--static", "--cflags", "--libs", "cray-ugni")]
    run(["gcc", source, "-o", program, *flags])
    assert "libugni" not in run(["readelf", "-d", program])
    path = f"{installed.prefix / 'bin'}:{os.environ['PATH']}"
    assert run([program], env=alone(installed, PATH=path)) == ATTACHED


def test_client_through_cmake(installed, tmp_path):
    (tmp_path / "client.c").write_text(CLIENT.replace("#ifndef CRAY_CONFIG_GHAL_ARIES", "#if 0"))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(client C)\nfind_package(jacquard 0.1 REQUIRED)\n"
        "add_executable(client client.c)\ntarget_link_libraries(client jacquard::ugni)\n")
    run(["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed.prefix}"])
    run(["cmake", "--build", tmp_path / "build"])
    # CMake gives it an rpath.
    assert run([tmp_path / "build" / "client"], env=alone(installed, LD_LIBRARY_PATH="")) == ATTACHED


def test_headers_stand_alone(installed, tmp_path):
    for header in ["gni_pub.h", "aries/misc/exceptions.h", "run/workload.h"]:
        for language in ["c", "c++"]:
            run(["gcc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-x{language}", "-include", header, "/dev/null",
                 *installed.pkg_config("--cflags", "jacquard")])


def test_lnet_client_through_pkg_config(installed, tmp_path):
    """The example talks to itself over its own address; static and shared; the headers stand alone."""
    source, program = jacquard.ROOT / "docs" / "examples" / "lnet_hello.c", tmp_path / "hello"
    for flags in (installed.pkg_config("--cflags", "--libs", "lnet"),
                  [flag.replace("-llnet", "-l:liblnet.a") for flag in installed.pkg_config("--static", "--cflags", "--libs", "lnet")]):
        run(["gcc", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags])
        shared = "liblnet.so.0" in run(["readelf", "-d", program])
        assert shared == ("-llnet" in flags)
        address = f"127.{200 + shared}.{os.getpid() >> 8 & 255}.{os.getpid() & 255 or 1}"
        clean = alone(installed, LNET_OPTIONS=f"networks=tcp({address}) accept_port=9977")
        script = f"{program} serve & sleep 1; LNET_OPTIONS='networks=tcp(127.0.0.99) accept_port=9977' {program} {address}@tcp; wait"
        said = run(["sh", "-c", script], env=clean)
        assert "12345-127.0.0.99@tcp says: hello\n" in said and "ACK: status 0\n" in said
    for header in ["lnet/api.h", "lnet/lib-types.h", "lnet/nidstr.h", "lnet/live.h", "lnet/lnetctl.h", "libcfs/libcfs.h", "uapi/linux/lnet/lnet-types.h", "linux/miscdevice.h",
                   "linux/export.h", "asm/byteorder.h"]:
        run(["gcc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-xc", "-include", header, "/dev/null",
             *installed.pkg_config("--cflags", "lnet")])
    assert run([installed.prefix / "bin" / "jacquard", "lnet", "--version"]).startswith("jacquard ")


def test_workload_as_shared_object(installed, tmp_path):
    source = jacquard.ROOT / "docs" / "examples" / "hello_workload.c"
    run(["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", tmp_path / "hello_workload.so",
         *installed.pkg_config("--cflags", "--libs", "jacquard")])
    scenario = jacquard.ROOT / "docs" / "examples" / "hello.yaml"
    result = json.loads(run([installed.sim_run, scenario, "--json", "--set",
                             f"jobs.hello.program={tmp_path / 'hello_workload.so'}"]))
    assert result["outcome"] == "done" and result["ledger"]["balanced"]


@pytest.fixture
def ldconfig(tmp_path):
    """A loader's configuration of our own: its folders, and how ldconfig was called."""
    folder = tmp_path / "sbin"
    folder.mkdir()
    (folder / "ldconfig").write_text(f'#!/bin/sh\necho "ldconfig $*" >>{folder}/calls\n[ "$1" != -N ] || cat {folder}/searched\n')
    (folder / "ldconfig").chmod(0o755)
    return folder


@pytest.mark.parametrize("searched", [True, False], ids=["searched", "elsewhere"])
def test_the_loader_finds_the_libraries_or_the_user_gets_a_hint(ldconfig, tmp_path, searched):
    library = tmp_path / "usr" / "lib"
    (ldconfig / "searched").write_text(f"/lib: (hwcap: 1)\n{library if searched else '/usr/local/lib'}: (from conf:1)\n")
    path = f"{ldconfig}:{os.environ['PATH']}"
    clean = {name: value for name, value in os.environ.items() if name != "DESTDIR"}
    said = run(["cmake", "--install", jacquard.build_directory(), "--prefix", tmp_path / "usr"], env=dict(clean, PATH=path))
    calls = (ldconfig / "calls").read_text().splitlines()
    assert calls == ["ldconfig -N -X -v", *(["ldconfig "] if searched else [])]
    assert (f"-Wl,-rpath,{library}" in said) == (not searched)


def test_a_staged_installation_leaves_the_loader_alone(ldconfig, tmp_path):
    run(["cmake", "--install", jacquard.build_directory()],
        env=dict(os.environ, PATH=f"{ldconfig}:{os.environ['PATH']}", DESTDIR=str(tmp_path / "stage")))
    assert not (ldconfig / "calls").exists()
