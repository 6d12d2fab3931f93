/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ugni_2: nothing but the header, twice; compiled as several languages by tests/cmake/header.cmake.
 */
#include "gni_pub.h"
#include "gni_pub.h"

#ifndef _GNI_PUB_H_
#error "the guard has another name"
#endif

/* One call of each shape that C and C++ treat differently; as C++ it links only with C names. */
int main(void)
{
    gni_cq_entry_t entry = 0;
    gni_return_t rc;
    uint32_t version = 0;

    GNI_CQ_SET_INST_ID(entry, 5);
    rc = GNI_GetVersion(&version);
    return !(rc == GNI_RC_SUCCESS && version == GNI_VERSION && GNI_CQ_GET_INST_ID(entry) == 5 &&
             gni_err_str[rc][0] == 'G');
}
