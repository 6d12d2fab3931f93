# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Programs written for Cray systems: found by pkg-config as their projects' configure scripts do it, compiled and linked
unmodified against the installed tree, and run by the installed sim-run on several nodes."""

import csv
import json
import re
import subprocess
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import Installed, command

HERE = Path(__file__).parent
WARNINGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]

# Client → the modules that its project asks for, and what its job needs. Its sources are NAME.c and NAME_*.c.
CLIENTS = {
    "libfabric": ["cray-gni-headers", "cray-ugni", "cray-alpslli", "cray-alpsutil", "cray-udreg", "cray-pmi"],
    "openmpi": ["cray-ugni", "cray-pmi"],
    "charm": ["cray-pmi", "cray-ugni"],
    "ucx": ["cray-ugni", "cray-pmi"],
    "gasnet": ["cray-ugni", "cray-pmi"],
    "fompi": ["cray-ugni", "cray-pmi", "cray-xpmem"],
    "ldms": ["cray-ugni", "cray-pmi", "cray-rca"],
    "samples": ["cray-ugni", "cray-pmi"],
}
JOB = {
    "ldms": {"privileged": True, "env": {"ZAP_UGNI_COOKIE": "0x12340000"}},
    "samples": {"argv": ["-n", "6", "-v", "last"]},
}
MODULES = ["cray-ugni", "cray-gni-headers", "cray-pmi", "cray-alpslli", "cray-alpsutil", "cray-alps", "cray-udreg",
           "cray-xpmem", "cray-kdreg", "cray-wlm_detect", "cray-rca", "cray-krca"]
HEADERS = ["gni_pub.h", "aries/misc/exceptions.h", "pmi.h", "pmi2.h", "pmi_cray.h", "pmi_cray_ext.h", "alps/alps.h", "alps/alps_toolAssist.h",
           "alps/libalpsutil.h", "alps/libalpslli.h", "udreg_pub.h", "xpmem.h", "rca_lib.h", "rs_id.h", "rs_meshcoord.h", "wlm_detect.h",
           "kdreg_pub.h", "hugetlbfs.h"]
# Library → functions that its users call. Those of libugni are listed in docs/ugni-functions.csv.
FUNCTIONS = {
    "pmi": "PMI_Init PMI_Initialized PMI_Finalize PMI_Get_size PMI_Get_rank PMI_Get_universe_size PMI_Get_appnum PMI_Barrier "
           "PMI_Abort PMI_Get_id PMI_Get_clique_size PMI_Get_clique_ranks PMI_KVS_Get_my_name PMI_KVS_Put PMI_KVS_Commit "
           "PMI_KVS_Get PMI_Allgather PMI_Allgatherv PMI_Bcast PMI_Get_nid PMI_Get_numpes_in_app_on_smp PMI_Get_version_info "
           "PMI_Get_rank_in_app PMI_Get_app_size PMI_Get_pes_on_smp PMI_Get_nidlist_ptr "
           "PMI2_Init PMI2_Initialized PMI2_Finalize PMI2_Abort PMI2_Job_GetId PMI2_KVS_Put PMI2_KVS_Fence PMI2_KVS_Get "
           "PMI2_Info_GetJobAttr",
    "alpslli": "alps_app_lli_lock alps_app_lli_unlock alps_app_lli_put_request alps_app_lli_get_response "
               "alps_app_lli_get_response_bytes alps_app_lli_put_simple_request",
    "alpsutil": "alps_get_placement_info",
    "udreg": "UDREG_CacheCreate UDREG_CacheAccess UDREG_CacheRelease UDREG_CacheDestroy UDREG_Register UDREG_Unregister "
             "UDREG_DecrRefcount UDREG_Evict UDREG_GetStat",
    "xpmem": "xpmem_version xpmem_make xpmem_remove xpmem_get xpmem_release xpmem_attach xpmem_detach",
    "rca": "rca_get_nodeid rca_get_sysnodes rca_get_meshcoord rca_get_max_dimension",
    "wlm_detect": "wlm_detect_get_active wlm_detect_get_default",
    "hugetlbfs": "gethugepagesize hugetlbfs_find_path_for_size hugetlbfs_unlinked_fd hugetlbfs_unlinked_fd_for_size "
                 "hugetlbfs_test_path get_huge_pages free_huge_pages get_hugepage_region free_hugepage_region",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


@pytest.fixture(scope="module")
def programs(installed, tmp_path_factory):
    """Compiles each client once per kind: pie, shared, stripped."""
    folder, made = tmp_path_factory.mktemp("programs"), {}

    def program(name, kind="pie"):
        if (name, kind) not in made:
            made[name, kind] = folder / f"{name}-{kind}"
            flags = {"pie": ["-fPIE", "-pie"], "shared": ["-fPIC", "-shared"], "stripped": ["-fPIE", "-pie", "-s"]}[kind]
            command(["gcc", *WARNINGS, *flags, *sorted(HERE.glob(f"{name}*.c")), "-o", made[name, kind],
                     *installed.pkg_config("--cflags", "--libs", *CLIENTS[name]), "-lpthread"])
        return made[name, kind]

    return program


def run(installed, folder, program, job, status=0, options=(), **more):
    scenario = {"name": "clients", "fabric": {"topology": "dragonfly", "groups": 2}, "limits": {"virtual_time": "60s"},
                "jobs": [dict({"name": "client", "program": str(program), "nodes": "0,5,40", "ranks_per_node": 2}, **job)],
                **more}
    file = folder / "scenario.yaml"
    file.write_text(json.dumps(scenario))  # JSON is YAML
    done = subprocess.run([installed.sim_run, file, "--json", *options], text=True, capture_output=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout), done.stderr


# ---- what configure scripts look for -------------------------------------------------------------

@pytest.mark.parametrize("module", MODULES)
def test_module_is_found(installed, module):
    for more in [[], ["--static"]]:
        command(["pkg-config", *more, "--cflags", "--libs", module], env=installed.environment)
    assert command(["pkg-config", "--modversion", module], env=installed.environment).strip()


@pytest.mark.parametrize("header", HEADERS)
def test_header_stands_alone(installed, tmp_path, header):
    (tmp_path / "twice.c").write_text(f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n")
    for compiler, flags in [("gcc", ["-std=c99", "-xc"]), ("clang", ["-std=c11", "-xc"]), ("g++", ["-std=c++11", "-xc++"])]:
        command([compiler, *flags, "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-fsyntax-only", tmp_path / "twice.c",
                 *installed.pkg_config("--cflags", "cray-pmi")])


def test_headers_go_together(installed, tmp_path):
    (tmp_path / "all.c").write_text("".join(f"#include <{header}>\n" for header in HEADERS) + "int main(void) { return 0; }\n")
    command(["gcc", *WARNINGS, "-fsyntax-only", tmp_path / "all.c", *installed.pkg_config("--cflags", "cray-pmi")])


def ugni_functions():
    with (jacquard.ROOT / "docs" / "ugni-functions.csv").open() as lines:
        return [row[0] for row in csv.reader(lines) if row and re.fullmatch(r"GNI_\w+", row[0])]


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("library", ["ugni", *FUNCTIONS])
def test_ugni_8_functions_link(installed, tmp_path, library, static):
    """Links all functions as AC_CHECK_FUNC of autoconf does: with a wrong prototype, only to take the address."""
    names = ugni_functions() if library == "ugni" else FUNCTIONS[library].split()
    assert len(names) == 102 or library != "ugni"
    source = tmp_path / "probe.c"
    source.write_text("".join(f"char {name}(void);\n" for name in names) +
                      "char (*all[])(void) = {" + ", ".join(names) + "};\nint main(void) { return all[0] == 0; }\n")
    module = ["cray-ugni"] if library == "ugni" else [f"cray-{library}"]
    if library == "hugetlbfs":
        flags = [f"-L{installed.library}", "-lhugetlbfs"]
    else:
        flags = installed.pkg_config(*(["--static"] if static else []), "--cflags", "--libs", *module)
    if static:
        flags = [flag if flag != f"-l{library}" else f"-l:lib{library}.a" for flag in flags]
    command(["gcc", "-w", source, "-o", tmp_path / "probe", *flags])
    command([tmp_path / "probe"], env=installed.environment)
    assert (f"lib{library}.so.0" in command(["readelf", "-d", tmp_path / "probe"])) == (not static)


@pytest.mark.parametrize("header, kind", [("gni_pub.h", "gni_ct_cqw_post_descriptor_t"), ("rca_lib.h", "rca_mesh_coord_t"), ("rs_meshcoord.h", "mesh_coord_t"),
                                          ("udreg_pub.h", "struct udreg_cache_attr"), ("xpmem.h", "struct xpmem_addr"),
                                          ("kdreg_pub.h", "kdreg_get_user_delta_args_t")])
def test_type_is_there(installed, tmp_path, header, kind):
    (tmp_path / "probe.c").write_text(f"#include <{header}>\nint main(void) {{ return sizeof({kind}) == 0; }}\n")
    command(["gcc", "-fsyntax-only", tmp_path / "probe.c", *installed.pkg_config("--cflags", "cray-xpmem")])


def test_mesh_probe(installed, tmp_path):
    """Charm++'s probe for its topology code."""
    (tmp_path / "probe.c").write_text("#include <pmi.h>\n#include <rca_lib.h>\nint main(void) { int nid; rca_mesh_coord_t at; "
                                      "PMI_Get_nid(0, &nid); at.mesh_x = at.mesh_y = at.mesh_z = 0; "
                                      "return rca_get_meshcoord((uint16_t)nid, &at) == -1 && "
                                      "rca_get_max_dimension(&at) == -1 ? 0 : 1; }\n")
    command(["gcc", *WARNINGS, tmp_path / "probe.c", "-o", tmp_path / "probe",
             *installed.pkg_config("--cflags", "--libs", "cray-pmi", "cray-rca")])
    command([tmp_path / "probe"], env=installed.environment)


# ---- outside sim-run -----------------------------------------------------------------------------

SINGLETON = r"""
#include <alps/libalpslli.h>
#include <pmi.h>
#include <pmi2.h>
#include <rca_lib.h>
#include <stdio.h>
#include <string.h>
#include <wlm_detect.h>
#include <xpmem.h>
int main(void)
{
    int value = -1, size, rank, in = 42, out = 0, length = sizeof(in), found;
    char name[64], text[64];
    rs_node_array_t nodes;

    if (PMI_Get_rank(&rank) != PMI_ERR_INIT || PMI_Initialized(&value) != PMI_SUCCESS || value)
        return 1;
    if (PMI_Init(&value) != PMI_SUCCESS || value || PMI_Get_size(&size) || PMI_Get_rank(&rank) || size != 1 || rank != 0)
        return 2;
    if (PMI_Barrier() || PMI_Allgather(&in, &out, sizeof(in)) || out != 42 || PMI_Allgatherv(&in, sizeof(in), &out, &length))
        return 3;
    if (PMI_KVS_Get_my_name(name, sizeof(name)) || PMI_KVS_Put(name, "k", "v") || PMI_KVS_Get(name, "k", text, 64) == 0 ||
        PMI_KVS_Commit(name) || PMI_KVS_Get(name, "k", text, 64) || strcmp(text, "v"))
        return 4;
    if (PMI_KVS_Put("other", "k", "v") != PMI_ERR_INVALID_KVS || PMI_KVS_Get(name, "k", text, 1) != PMI_ERR_INVALID_LENGTH)
        return 5;
    if (PMI2_KVS_Put("two", "words and more") || PMI2_KVS_Fence() || PMI2_KVS_Get(NULL, PMI2_ID_NULL, "two", text, 6, &value) ||
        value != -15 || strcmp(text, "words"))
        return 6;
    if (PMI2_Info_GetJobAttr("PMI_process_mapping", text, 64, &found) || !found || strcmp(text, "(vector,(0,1,1))"))
        return 7;
    if (alps_app_lli_lock() == 0 || wlm_detect_get_active() != NULL || strcmp(wlm_detect_get_default(), "ALPS"))
        return 8;
    if (xpmem_version() != -1 || rca_get_sysnodes(&nodes) || nodes.na_len < 1)
        return 9;
    if (PMI_Finalize() || PMI_Finalize() != PMI_ERR_INIT)
        return 10;
    PMI_Abort(33, "bye");
    return 11;
}
"""


def test_program_that_nobody_launched(installed, tmp_path):
    (tmp_path / "alone.c").write_text(SINGLETON)
    command(["gcc", *WARNINGS, tmp_path / "alone.c", "-o", tmp_path / "alone",
             *installed.pkg_config("--cflags", "--libs", "cray-pmi", "cray-alpslli", "cray-wlm_detect", "cray-xpmem", "cray-rca")])
    done = subprocess.run([tmp_path / "alone"], env=installed.environment, text=True, capture_output=True, timeout=60)
    assert done.returncode == 33, done.returncode


# ---- the clients ---------------------------------------------------------------------------------

def check_client(installed, programs, tmp_path, client):
    """Each client checks the semantics that its project relies on. It runs twice, and with two shapes of the job."""
    job = JOB.get(client, {})
    result, printed = run(installed, tmp_path, programs(client), job)
    assert f"{client}: " in printed and result["ledger"]["balanced"] and result["outcome"] == "done"
    again, _ = run(installed, tmp_path, programs(client), job)
    assert again["digest"] == result["digest"]
    run(installed, tmp_path, programs(client), dict(job, nodes="1-4", ranks_per_node=1), options=["--seed", "7"])


def test_ugni_131_libfabric(installed, programs, tmp_path):
    check_client(installed, programs, tmp_path, "libfabric")


def test_ugni_132_openmpi(installed, programs, tmp_path):
    check_client(installed, programs, tmp_path, "openmpi")


def test_ugni_133_charm(installed, programs, tmp_path):
    check_client(installed, programs, tmp_path, "charm")


def test_ugni_134_ucx(installed, programs, tmp_path):
    check_client(installed, programs, tmp_path, "ucx")


def test_ugni_135_gasnet(installed, programs, tmp_path):
    check_client(installed, programs, tmp_path, "gasnet")


def test_ugni_136_samples(installed, programs, tmp_path):
    check_client(installed, programs, tmp_path, "samples")


@pytest.mark.parametrize("client", ["fompi", "ldms"])
def test_ugni_138_same_seed_same_run(installed, programs, tmp_path, client):
    check_client(installed, programs, tmp_path, client)


@pytest.mark.parametrize("kind", ["shared", "stripped"])
@pytest.mark.parametrize("client", ["openmpi", "samples"])
def test_client_of_another_kind(installed, programs, tmp_path, client, kind):
    _, printed = run(installed, tmp_path, programs(client, kind), JOB.get(client, {}))
    assert f"{client}: all 6 ranks succeeded" in printed


def test_lost_node(installed, programs, tmp_path):
    """The node of a daemon dies. The collector gets an error in bounded time and continues with the other daemons."""
    job = dict(JOB["ldms"], nodes="0,5,40", ranks_per_node=1, argv=["2"])
    result, printed = run(installed, tmp_path, programs("ldms"), job,
                          faults=[{"at": "node", "do": "crash", "node": 40, "time": "5ms"}],
                          expect=[{"job": "client", "exit": "any"}])
    assert "ldms: 3 daemons, 1 of them lost" in printed and result["ledger"]["balanced"]


def test_poisoned_packets(installed, programs, tmp_path):
    """Packets arrive poisoned; the client repeats its transactions and SMSG its messages, so nothing is lost."""
    result, _ = run(installed, tmp_path, programs("openmpi"), {},
                    faults=[{"at": "aries.packet", "do": "corrupt", "probability": 0.0005, "label": "loss"}],
                    expect=[{"fault": "loss", "above": 0}])
    assert result["ledger"]["balanced"]


INTERPOSER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gni_pub.h>
#include <stdio.h>
gni_return_t GNI_CdmGetNicAddress(uint32_t device, uint32_t *address, uint32_t *cpu)
{
    gni_return_t (*real)(uint32_t, uint32_t *, uint32_t *);

    *(void **)&real = dlsym(RTLD_NEXT, "GNI_CdmGetNicAddress");
    printf("interposed: %s\n", gni_err_str[real(device, address, cpu)]);
    return GNI_RC_SUCCESS;
}
"""


def test_ugni_8_interposers_step_in_between(installed, tmp_path):
    (tmp_path / "tool.c").write_text(INTERPOSER)
    (tmp_path / "asks.c").write_text("#include <gni_pub.h>\nint main(void) { uint32_t a, c; "
                                     "return GNI_CdmGetNicAddress(0, &a, &c) != GNI_RC_SUCCESS; }\n")
    flags = installed.pkg_config("--cflags", "--libs", "cray-ugni")
    command(["gcc", *WARNINGS, "-shared", "-fPIC", tmp_path / "tool.c", "-o", tmp_path / "tool.so", *flags])
    command(["gcc", *WARNINGS, tmp_path / "asks.c", "-o", tmp_path / "asks", *flags])
    environment = dict(installed.environment, LD_PRELOAD=str(tmp_path / "tool.so"))
    assert "interposed: GNI_RC_" in command([tmp_path / "asks"], env=environment)
