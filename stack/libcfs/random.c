/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The random numbers of the port. */
#include "kernel.h"

u64 libcfs_random(void)
{
    return port_random();
}

void libcfs_random_bytes(void *bytes, size_t count)
{
    uint8_t *at = bytes;

    while (count > 0) {
        u64 word = port_random();
        size_t part = count < sizeof(word) ? count : sizeof(word);

        memcpy(at, &word, part);
        at += part;
        count -= part;
    }
}
