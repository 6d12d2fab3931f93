/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mmap() with the behaviour of hugetlbfs: sim/cray/hugetlbfs.c. */
#ifndef JACQUARD_CRAY_HUGE_MMAP_H
#define JACQUARD_CRAY_HUGE_MMAP_H

#include <stddef.h>
#include <sys/types.h>

/* mmap() that extends a file of the folder that replaces hugetlbfs to the range mapped for writing.
 */
void *cray_huge_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);

#endif
