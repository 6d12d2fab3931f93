/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How processes of a session find each other: a store of keys and values with a fence. */
#ifndef JACQUARD_MADELEINE_BOOT_H
#define JACQUARD_MADELEINE_BOOT_H

#include <stdbool.h>
#include <stddef.h>

enum { MAD_VALUE_MAX = 1024, MAD_KEY_MAX = 64 };

struct mad_boot;
struct mad_boot_ops {
    /* All return MAD_OK or MAD_EBOOT. Others see a value after the fence that follows its put. */
    int (*put)(struct mad_boot *boot, const char *key, const char *value);
    int (*fence)(struct mad_boot *boot);
    /* `rank` has put it. *value is an empty text if there is no such key. */
    int (*get)(struct mad_boot *boot, int rank, const char *key, char *value, size_t size);
    void (*close)(struct mad_boot *boot); /* frees it */
};
struct mad_boot {
    const struct mad_boot_ops *ops;
    int size, rank;
    char job[256];
    bool shared; /* the program itself is in touch with the process manager */
};

/* By PMI-2; without a process manager the session has one process. NULL: it failed. */
struct mad_boot *mad_boot_pmi2(void);

#endif
