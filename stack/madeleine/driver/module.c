/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/module.h"

bool mad_module_path(const char *kind, char path[MAD_PATH_BYTES])
{
    Dl_info own;
    const char *end;

    if (dladdr((void *)(uintptr_t)mad_module_path, &own) == 0)
        return false;
    end = strrchr(own.dli_fname, '/');
    snprintf(path, MAD_PATH_BYTES, "%.*slibmadeleine-%s.so",
             end != NULL ? (int)(end + 1 - own.dli_fname) : 0, own.dli_fname, kind);
    return access(path, R_OK) == 0;
}
