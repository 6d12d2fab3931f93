/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The part of libhugetlbfs that programs for Cray systems call when they are built for huge pages.
 */
#ifndef JACQUARD_HUGETLBFS_H
#define JACQUARD_HUGETLBFS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef unsigned long ghp_t;
#define GHP_DEFAULT 0x1ul

/* Bytes: HUGETLB_DEFAULT_PAGE_SIZE (such as 8M) of the environment, else the kernel's default
 * (/proc/meminfo), else 2 MiB. */
long gethugepagesize(void);
/* The sizes of huge pages, or of all pages, the first n_elem of them; their number where n_elem is
 * 0. -1: a bad argument. */
int gethugepagesizes(long pagesizes[], int n_elem);
int getpagesizes(long pagesizes[], int n_elem);
/*
 * A folder for files in huge pages of this size (0: of gethugepagesize()): where a hugetlbfs with
 * such pages is mounted and may be written, else a folder of the user's in shared memory, where
 * files consist of ordinary pages. There, too, a file grows when it is mapped to write. NULL: the
 * size is not that of a page, or there is no such folder. Static.
 */
const char *hugetlbfs_find_path_for_size(long page_size);
const char *hugetlbfs_find_path(void);
/* Memory aligned to huge pages; ordinary pages lie behind it. NULL: no memory. */
void *get_hugepage_region(size_t len, ghp_t flags);
void free_hugepage_region(void *ptr);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
