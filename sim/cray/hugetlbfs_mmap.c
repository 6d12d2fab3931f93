/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mmap() for programs that are linked to libhugetlbfs. It replaces the C library's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>

#include "cray/huge_mmap.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return cray_huge_mmap(address, length, protection, flags, fd, offset);
}

EXPORTED void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return cray_huge_mmap(address, length, protection, flags, fd, offset);
}
