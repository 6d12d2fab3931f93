/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that know nothing of daemons: the environment says which one they use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m0/live.h"

static __attribute__((constructor)) void begin(void)
{
    const char *socket = getenv("JACQUARD_M0");
    int rc;

    if (socket == NULL)
        return;
    rc = m0_live_begin(socket);
    if (rc != 0)
        fprintf(stderr, "libm0net: JACQUARD_M0=%s: %s\n", socket, strerror(-rc));
}
