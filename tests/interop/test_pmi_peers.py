# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Our client libraries with the process managers and libraries that others ship: MPICH's Hydra as the server, Slurm's
header and library in the place of ours. Program: tests/pmi/peer.c."""

import os
import subprocess
import sys
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

sys.path.insert(0, str(Path(__file__).parents[1] / "pmrun"))
from launcher import processes_with, until  # noqa: E402

OURS = jacquard.build_directory() / "lib/pmi"
PMRUN = jacquard.build_directory() / "bin/pmrun"
HEADERS = jacquard.ROOT / "stack/pmi2/include"
MPIEXEC = "mpiexec.mpich"
PMI2_FUNCTIONS = """PMI2_Abort PMI2_Finalize PMI2_Info_GetJobAttr PMI2_Info_GetJobAttrIntArray PMI2_Info_GetNodeAttr
    PMI2_Info_GetNodeAttrIntArray PMI2_Info_GetSize PMI2_Info_PutNodeAttr PMI2_Init PMI2_Initialized PMI2_Job_Connect
    PMI2_Job_Disconnect PMI2_Job_GetId PMI2_Job_GetRank PMI2_Job_Spawn PMI2_KVS_Fence PMI2_KVS_Get PMI2_KVS_Put
    PMI2_Nameserv_lookup PMI2_Nameserv_publish PMI2_Nameserv_unpublish PMIX_Ring""".split()
DIALECTS = """PMI2_Init_draft PMI2_Job_Spawn_draft PMI2_Info_GetNodeAttrIntArray_draft PMI2_Job_Spawn_kv
    PMI2_Nameserv_publish_kv PMI2_Nameserv_lookup_kv PMI2_Nameserv_unpublish_kv""".split()
EXTENSIONS = """PMI2X_Error_string PMI2X_Get_api PMI2X_KVS_Fence_survivors PMI2X_KVS_Put_hint PMI2X_Last_errmsg PMI2X_Server_version
    PMI2X_Set_host""".split()
PMI1_FUNCTIONS = """PMI_Abort PMI_Args_to_keyval PMI_Barrier PMI_Finalize PMI_Free_keyvals PMI_Get_appnum
    PMI_Get_clique_ranks PMI_Get_clique_size PMI_Get_id PMI_Get_id_length_max PMI_Get_kvs_domain_id PMI_Get_options
    PMI_Get_rank PMI_Get_size PMI_Get_universe_size PMI_Init PMI_Initialized PMI_KVS_Commit PMI_KVS_Create
    PMI_KVS_Destroy PMI_KVS_Get PMI_KVS_Get_key_length_max PMI_KVS_Get_my_name PMI_KVS_Get_name_length_max
    PMI_KVS_Get_value_length_max PMI_KVS_Iter_first PMI_KVS_Iter_next PMI_KVS_Put PMI_Lookup_name PMI_Parse_option
    PMI_Publish_name PMI_Spawn_multiple PMI_Unpublish_name""".split()
CRAY_FUNCTIONS = """PMI_Allgather PMI_Allgatherv PMI_Bcast PMI_Get_nid PMI_Get_numpes_on_smp
    PMI_Get_numpes_in_app_on_smp PMI_Get_version PMI_Get_version_info PMI_Get_rank_in_app PMI_Get_app_size PMI_Get_pes_on_smp PMI_Get_nidlist_ptr""".split()


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    """The program, compiled with our header and with Slurm's; both name the same library."""
    folder = tmp_path_factory.mktemp("peer")
    source = jacquard.ROOT / "tests/pmi/peer.c"
    command(["gcc", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", source, "-o", folder / "ours", f"-L{OURS}", "-l:libpmi2.so.0"])
    command(["gcc", "-Wall", "-Wno-unused", source, "-o", folder / "slurms", "-l:libpmi2.so.0"])
    return folder


def under_hydra(program, ranks, *arguments, library=OURS, options=(), **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "HYDI", "MPI"))}
    clean.update(environment)
    if library is not None:
        clean["LD_LIBRARY_PATH"] = str(library)
    # Hydra writes to proxies that have ended: it has to ignore SIGPIPE, as Python does and hands on by this.
    return subprocess.run([MPIEXEC, *options, "-n", str(ranks), str(program), *arguments], text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean, restore_signals=False)


def exported(library):
    lines = command(["nm", "-D", "--defined-only", library]).splitlines()
    return {line.split()[-1] for line in lines}


def test_pmi2_9_exported_symbols():
    assert exported(OURS / "libpmi2.so.0") == {*PMI2_FUNCTIONS, *DIALECTS, *EXTENSIONS}
    assert exported(OURS / "libpmi.so.0") == {*PMI2_FUNCTIONS, *DIALECTS, *EXTENSIONS, *PMI1_FUNCTIONS, *CRAY_FUNCTIONS}


@pytest.mark.parametrize("name", ["libpmi2.so.0", "libpmi.so.0"])
def test_pmi2_1_soname_and_dependencies(name):
    dynamic = [line for line in command(["readelf", "-d", OURS / name]).splitlines() if "Shared library" in line or "soname" in line]
    assert any(f"soname: [{name}]" in line for line in dynamic)
    needed = {line.split("[")[1].rstrip("]") for line in dynamic if "NEEDED" in line}
    # The loader belongs to the C library; thread-local storage needs it.
    assert {each for each in needed if not each.startswith(("ld-linux", "libasan", "libubsan", "libgcov"))} == {"libc.so.6"}
    assert "VERDEF" not in command(["readelf", "-d", OURS / name])


def test_pmi2_10_nothing_but_what_is_asked_for():
    """The library has no output, threads or signal handlers: it does not refer to the functions for them."""
    undefined = {line.split()[-1].split("@")[0] for line in command(["nm", "-D", "--undefined-only", OURS / "libpmi2.so.0"]).splitlines()}
    assert not undefined & {"pthread_create", "thrd_create", "printf", "puts", "fprintf", "vfprintf", "setbuf", "setvbuf", "sigaction",
                            "signal", "atexit", "on_exit"}


@pytest.mark.parametrize("ranks", [1, 2, 4, 17])
def test_pmi2_28_pmi2_30_pmi2_31_pmi2_38_hydra_exchange(peers, ranks):
    done = under_hydra(peers / "ours", ranks, "exchange")
    assert done.returncode == 0 and done.stdout.count(": ok") == ranks, done.stdout
    assert sorted(line.split()[1] for line in done.stdout.splitlines()) == sorted(map(str, range(ranks)))


def assert_ok_under_hydra(peers, what):
    done = under_hydra(peers / "ours", 4, what)
    assert done.returncode == 0 and done.stdout.count("of 4, app 0, spawned 0: ok") == 4, done.stdout


@pytest.mark.parametrize("what", ["init", "charm"])
def test_pmi2_12_hydra(peers, what):
    assert_ok_under_hydra(peers, what)


def test_pmi2_52_pmi2_54_pmi2_56_hydra_attributes(peers):
    """All ranks of a node get an attribute of the node; those that ask before rank 0 has put it wait."""
    assert_ok_under_hydra(peers, "attributes")


def test_pmi2_58_pmi2_59_pmi2_60_pmi2_61_hydra_names(peers):
    assert_ok_under_hydra(peers, "names")


def test_pmi2_15_hydra_finalize_while_others_work(peers, tmp_path):
    done = under_hydra(peers / "ours", 4, "leave", PEER_FILE=str(tmp_path / "left"))
    assert done.returncode == 0 and done.stdout.count(": ok") == 4, done.stdout


def test_pmi2_44_hydra_fence_is_a_barrier(peers, tmp_path):
    done = under_hydra(peers / "ours", 4, "barrier", PEER_FILE=str(tmp_path / "late"))
    assert done.returncode == 0 and done.stdout.count(": ok") == 4, done.stdout


def test_pmi2_63_pmi2_64_pmi2_65_pmi2_66_hydra_spawn(peers):
    done = under_hydra(peers / "ours", 2, "spawn")
    assert done.returncode == 0, done.stdout
    for line in ["rank 0 of 3, app 0, spawned 1: ok", "rank 1 of 3, app 1, spawned 1: ok", "rank 2 of 3, app 1, spawned 1: ok"]:
        assert line in done.stdout


def test_pmi2_12_hydra_two_programs(peers):
    done = under_hydra(peers / "ours", 1, "init", ":", "-n", "2", str(peers / "ours"), "init")
    assert done.returncode == 0 and "rank 2 of 3, app 1" in done.stdout, done.stdout


def test_pmi2_86_hydra_port(peers):
    done = under_hydra(peers / "ours", 3, "exchange", options=["-pmi-port"])
    assert done.returncode == 0 and done.stdout.count(": ok") == 3, done.stdout


def test_pmi2_19_hydra_abort(peers):
    """Hydra 4.0.2 does not implement abort of PMI-2 (P-5): it reports that, ends all processes of the job and fails with its own status."""
    done = under_hydra(peers / "ours", 2, "abort")
    # The second text is that of an mpiexec that answers rank 0's fence when its proxy has already ended.
    assert done.returncode == 255 and ("Unrecognized PMI command: abort | cleaning up processes" in done.stdout
                                       or "process manager error waiting for completion" in done.stdout), done.stdout
    assert ": ok" not in done.stdout and "line " not in done.stdout  # rank 0 has not come out of its fence, nor rank 1 of its abort
    until(lambda: processes_with(str(peers / "ours")) == [])


@pytest.mark.parametrize("library", [OURS, None], ids=["ours", "slurms"])
def test_pmi2_1_program_compiled_with_slurms_header(peers, library):
    """One binary, either library."""
    if library is None and not any(Path("/usr/lib").rglob("libpmi2.so.0")):
        pytest.fail("libpmi2-0 is not installed: ./dev setup")
    done = under_hydra(peers / "slurms", 3, "charm", library=library)
    assert done.returncode == 0 and done.stdout.count(": ok") == 3, done.stdout


def test_pmi2_2_slurms_library_under_our_server(peers):
    """The same binary with Slurm's library, started by pmrun."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "HYDI", "MPI", "LD_"))}
    for what in ("charm", "exchange", "names"):
        done = subprocess.run([PMRUN, "-n", "3", peers / "slurms", what], text=True, timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=clean)
        assert done.returncode == 0 and done.stdout.count(": ok") == 3, done.stdout


@pytest.mark.parametrize("library, length", [(OURS, -8), (None, -7)], ids=["ours", "slurms"])
def test_pmi2_35_pmi2_51_what_does_not_fit(peers, library, length):
    """Our library returns the size of the buffer that a value needs, Slurm's the length of the value (D-13)."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "HYDI", "MPI", "LD_"))}
    if library is not None:
        clean["LD_LIBRARY_PATH"] = str(library)
    done = subprocess.run([PMRUN, "-n", "2", peers / "slurms", "cut", str(length)], text=True, timeout=60, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=clean)
    assert done.returncode == 0 and done.stdout.count(": ok") == 2, done.stdout


DRAFT = r"""
#define PMI2_DRAFT_API
#include <pmi2.h>
#include <stddef.h>
int main(void)
{
    int spawned, size, rank, appnum, version = -1, subversion = -1, list[4], length, found;
    const char *commands[] = {"x"};
    int one[] = {1};

    if (PMI2_Init(&spawned, &size, &rank, &appnum, &version, &subversion) || version != 2 || subversion != 0 || size != 1)
        return 1;
    if (PMI2_Info_GetNodeAttrIntArray("localRanks", list, 4, &length, &found, 1) || !found || length != 1)
        return 2;
    if (PMI2_Job_Spawn(1, commands, NULL, one, NULL, NULL, 0, NULL, NULL, 0, NULL) != PMI2_ERR_INIT)
        return 3;
    return PMI2_Finalize();
}
"""
KEYVAL = r"""
#define PMI2_KEYVAL_API
#include <pmi2.h>
#include <stddef.h>
int main(void)
{
    int spawned, size, rank, appnum, one[] = {1};
    const char *commands[] = {"x"};
    PMI2_keyval_t pair = {"key", "value"};
    const PMI2_keyval_t *none[] = {NULL};

    if (PMI2_Init(&spawned, &size, &rank, &appnum))
        return 1;
    if (PMI2_Job_Spawn(1, commands, NULL, NULL, one, NULL, none, 1, &pair, NULL, 0, NULL) != PMI2_ERR_INIT)
        return 2;
    if (PMI2_Nameserv_publish("s", &pair, "p") != PMI2_ERR_INIT)
        return 3;
    return PMI2_Finalize();
}
"""
PLAIN = r"""
#include <pmi2.h>
#ifdef PMI2_keyval_t
#error "only in its own dialect"
#endif
PMI2U_Info record;
typedef int PMI2_keyval_t; /* free for the program */
int main(void) { PMI2_Connect_comm_t conn; conn.isMaster = 1; return conn.isMain - 1 + PMI2_Initialized(); }
"""


@pytest.mark.parametrize("name, text", [("draft", DRAFT), ("keyval", KEYVAL), ("plain", PLAIN)])
def test_pmi2_3_dialects(tmp_path, name, text):
    (tmp_path / "program.c").write_text(text)
    for compiler, flags in [("gcc", ["-std=c11", "-pedantic"]), ("gcc", ["-std=gnu89"]), ("clang", ["-std=c99"])]:
        command([compiler, *flags, "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", tmp_path / "program.c", "-o", tmp_path / name,
                 f"-L{OURS}", "-l:libpmi2.so.0", f"-Wl,-rpath,{OURS}"])
        command([tmp_path / name])
    for header in ["pmi.h", "pmi2.h", "slurm/pmi2.h", "pmi_cray.h"]:
        (tmp_path / "alone.cc").write_text(f"#include <{header}>\n#include <{header}>\n#include <pmi2.h>\n#include <pmi.h>\nint main() {{ return 0; }}\n")
        command(["g++", "-std=c++11", "-Wall", "-Werror", "-fsyntax-only", f"-I{HEADERS}", tmp_path / "alone.cc"])


DLOPEN = r"""
#include <dlfcn.h>
#include <pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const PMI2X_api_t *open_library(const char *name, void **handle)
{
    const PMI2X_api_t *(*get)(int);

    *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*handle == NULL)
        exit(9);
    *(void **)&get = dlsym(*handle, "PMI2X_Get_api");
    return get(1);
}
int main(int argc, char **argv)
{
    int i, s, n, r, a, length;
    char text[16];
    void *first, *second;

    for (i = 0; i < 3; i++) {
        const PMI2X_api_t *one = open_library(argv[1], &first), *two = open_library(argv[2], &second);

        if (one == two || one->initialized() || one->init(&s, &n, &r, &a) || two->initialized())
            return 1;
        if (one->kvs_put("k", "one") || two->kvs_put("k", "two") != PMI2_ERR_INIT || two->init(&s, &n, &r, &a))
            return 2;
        if (one->kvs_fence() || two->kvs_fence() || two->kvs_get(NULL, -1, "k", text, 16, &length) != PMI2_ERR_OTHER)
            return 3;
        if (one->kvs_get(NULL, -1, "k", text, 16, &length) || strcmp(text, "one") || one->finalize() || !two->initialized())
            return 4;
        if (two->finalize() || dlclose(first) || dlclose(second))
            return 5;
    }
    return argc != 3;
}
"""


def test_pmi2_115_opened_twice_and_two_copies(tmp_path):
    (tmp_path / "program.c").write_text(DLOPEN)
    command(["gcc", "-Wall", "-Werror", f"-I{HEADERS}", tmp_path / "program.c", "-o", tmp_path / "program", "-ldl"])
    command([tmp_path / "program", OURS / "libpmi2.so.0", OURS / "libpmi.so.0"])


PMI1 = r"""
#include <pmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    int spawned, size, rank, i, mine[300], *all, *lengths, clique, ranks[64], nid, sum = 0;
    char name[256], key[64], value[1024], back[1024];

    if (PMI_Init(&spawned) || PMI_Get_size(&size) || PMI_Get_rank(&rank) || PMI_KVS_Get_my_name(name, 256))
        return 1;
    sprintf(key, "modex-%d", rank); /* Open MPI pads with spaces and ends with a hyphen */
    sprintf(value, "AAEC%d   -", rank);
    if (PMI_KVS_Put(name, key, value) || PMI_KVS_Commit(name) || PMI_Barrier())
        return 3;
    for (i = 0; i < size; i++) {
        sprintf(key, "modex-%d", i);
        sprintf(value, "AAEC%d   -", i);
        if (PMI_KVS_Get(name, key, back, 1024) || strcmp(back, value))
            return 4;
    }
    if (PMI_Get_clique_size(&clique) || clique != size || PMI_Get_clique_ranks(ranks, 64) || ranks[size - 1] != size - 1)
        return 5;
    all = calloc((size_t)size, sizeof(mine));
    lengths = calloc((size_t)size, sizeof(int));
    for (i = 0; i < 300; i++)
        mine[i] = rank * 1000 + i; /* more than fits into one value */
    if (PMI_Allgather(mine, all, sizeof(mine)))
        return 6;
    for (i = 0; i < size; i++) { /* in any order, but all of them */
        if (all[i * 300 + 299] - all[i * 300] != 299 || all[i * 300] % 1000 != 0)
            return 7;
        sum += all[i * 300] / 1000;
    }
    if (sum != size * (size - 1) / 2)
        return 7;
    for (i = 0; i < size; i++)
        lengths[i] = 4 * (i + 1);
    if (PMI_Allgatherv(mine, 4 * (rank + 1), all, lengths))
        return 8;
    mine[0] = rank == 0 ? 4711 : 0;
    if (PMI_Bcast(mine, 4) || mine[0] != 4711 || PMI_Get_nid(rank, &nid) || PMI_Get_numpes_in_app_on_smp(&clique) || clique != size)
        return 9;
    printf("fine\n");
    return PMI_Finalize();
}
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_pmi2_107_libpmi_under_hydra(tmp_path, ranks):
    (tmp_path / "program.c").write_text(PMI1)
    command(["gcc", "-Wall", "-Werror", f"-I{HEADERS}", tmp_path / "program.c", "-o", tmp_path / "program", f"-L{OURS}", "-l:libpmi.so.0"])
    if ranks == 1: # nobody launched it
        command([tmp_path / "program"], env=dict(os.environ, LD_LIBRARY_PATH=str(OURS)))
        return
    done = under_hydra(tmp_path / "program", ranks)
    assert done.returncode == 0 and done.stdout.count("fine") == ranks, done.stdout
