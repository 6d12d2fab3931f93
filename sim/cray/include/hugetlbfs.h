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

/* Bytes: HUGETLB_DEFAULT_PAGE_SIZE (such as 8M) of the environment, else 2 MiB. */
long gethugepagesize(void);
/* Where a hugetlbfs with pages of this size is mounted; NULL: nowhere (/proc/mounts). Static. */
const char *hugetlbfs_find_path_for_size(long page_size);
/* Memory aligned to huge pages; ordinary pages lie behind it. NULL: no memory. */
void *get_hugepage_region(size_t len, ghp_t flags);
void free_hugepage_region(void *ptr);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
