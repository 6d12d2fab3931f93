/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory with a guard on both sides, which shows whether something was written beside it. */
#ifndef JACQUARD_TESTS_LIVE_GUARDED_H
#define JACQUARD_TESTS_LIVE_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD 4096u /* bytes on each side; the memory between is whole pages, too */
#define GUARD_BYTE 0xc5

struct guarded {
    uint8_t *all, *memory;
    size_t bytes;
};

struct guarded guarded_new(size_t bytes); /* zero; the process ends if there is no memory */
bool guarded_ok(const struct guarded *area);

#endif
