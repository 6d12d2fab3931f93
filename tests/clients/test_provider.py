# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The libfabric provider as it is installed: a plug-in that libfabric loads, and the header of its extensions."""

import os

import pytest
from jacquard.installed import Installed, command

# What libfabric's own provider for Aries calls its extensions, and the numbers behind the names.
CLIENT = r"""
#include <rdma/fi_ext_gni.h>
#include <string.h>
#if defined(__cplusplus)
#define CHECK(x) static_assert(x, #x)
#else
#define CHECK(x) _Static_assert(x, #x)
#endif
CHECK(GNI_MSG_RENDEZVOUS_THRESHOLD == 0);
CHECK(GNI_VC_ID_TABLE_CAPACITY == 5);
CHECK(GNI_TX_CQ_SIZE == 11);
CHECK(GNI_MR_CACHE == 15);
CHECK(GNI_EAGER_AUTO_PROGRESS == 22 && GNI_NUM_DOM_OPS == 23);
CHECK(GNI_WAIT_THREAD_SLEEP == 0 && GNI_NUM_FAB_OPS == 4);
CHECK(GNIX_USER_KEY_LIMIT == 0 && GNIX_USER_KEY_MAX_PER_RANK == 3);
CHECK(GNI_HASH_TAG_IMPL == 0);
CHECK(GNIX_NAMO_AX == 0x20 && GNIX_NAMO_FAX_S == 0x23);
CHECK(sizeof(struct fi_gni_auth_key) == 8);
int main(void)
{
    struct fi_gni_auth_key key;
    memset(&key, 0, sizeof(key));
    key.type = GNIX_AKT_RAW;
    return strcmp(FI_GNI_FAB_OPS_1, "fab ops 1") != 0 || strcmp(FI_GNI_DOMAIN_OPS_1, "domain ops 1") != 0 ||
           strcmp(FI_GNI_EP_OPS_1, "ep ops 1") != 0 || GNIX_PROV_DEFAULT_AUTH_KEYLEN != 0 || key.raw.protection_key != 0;
}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


@pytest.mark.parametrize("compiler, suffix, flags", [
    ("gcc", "c", ["-std=c11", "-Wall", "-Wextra", "-Werror"]), ("clang++", "cc", ["-std=c++17", "-Wall", "-Wextra", "-Werror"])])
def test_header(installed, tmp_path, compiler, suffix, flags):
    source, program = tmp_path / f"client.{suffix}", tmp_path / "client"
    source.write_text(CLIENT)
    command([compiler, *flags, f"-I{installed.prefix}/include/jacquard", source, "-o", program])
    command([program])


def test_the_plugin_is_alone(installed):
    plugin = installed.library / "libfabric/libgni-fi.so"
    exported = [line.split()[-1] for line in command(["nm", "-D", "--defined-only", plugin]).splitlines()]
    assert exported == ["fi_prov_ini"]
    needed = {line.split("[")[1].rstrip("]") for line in command(["readelf", "-d", plugin]).splitlines() if "NEEDED" in line}
    assert needed <= {"libugni.so.0", "libfabric.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}


def test_gni_1_absent_without_a_nic(installed):
    environment = dict(os.environ, FI_PROVIDER_PATH=str(installed.library / "libfabric"))
    environment.pop("LD_LIBRARY_PATH", None)
    environment["JACQUARD_FABRIC"] = "/nosuch/fabric"  # no fabric, and no folder in which one could be created
    providers = [line.rstrip(":") for line in command(["fi_info", "-l"], env=environment).splitlines() if line[:1].strip()]
    assert providers and "gni" not in providers
