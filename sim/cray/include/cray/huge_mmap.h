/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mmap() as programs for huge pages know it: sim/cray/hugetlbfs.c. */
#ifndef JACQUARD_CRAY_HUGE_MMAP_H
#define JACQUARD_CRAY_HUGE_MMAP_H

#include <stddef.h>
#include <sys/types.h>

/* mmap(), but a file that takes a hugetlbfs's place grows to what is mapped of it to write. */
void *cray_huge_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);

#endif
