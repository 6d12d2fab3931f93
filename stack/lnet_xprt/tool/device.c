/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver is in the kernel, behind a character device. */
#include <stddef.h>

#include "net/lnet/ulnet_core.h"
#include "tool/place.h"

static const char *standard(void)
{
    return nlx_ucore_dev_name;
}

static int begin(const char *path)
{
    nlx_ucore_dev_name = path;
    return 0;
}

const struct m0_tool_place m0_tool_place = {
    .program = "m0_ping",
    .usage = "  --device PATH     of m0_net's driver (/dev/" M0_LNET_DEV ")\n",
    .option = "device",
    .missing = "--device PATH is needed",
    .standard = standard,
    .begin = begin,
};
