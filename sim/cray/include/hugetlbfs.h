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

typedef unsigned long ghp_t; /* of get_huge_pages */
#define GHP_DEFAULT 0x1ul
#define GHP_FALLBACK 0x2ul
typedef unsigned long ghr_t; /* of get_hugepage_region */
#define GHR_STRICT 0x10000000ul
#define GHR_FALLBACK 0x20000000ul
#define GHR_COLOR 0x40000000ul
#define GHR_DEFAULT (GHR_FALLBACK | GHR_COLOR)

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
/* Whether this folder is on a hugetlbfs, or replaces one: 1, 0, or -1 where there is no such path.
 */
int hugetlbfs_test_path(const char *mount);
/*
 * The descriptor of an empty file in such a folder, whose name is removed already. -1: the size is
 * not that of a page, or the file could not be made.
 */
int hugetlbfs_unlinked_fd(void);
int hugetlbfs_unlinked_fd_for_size(long page_size);
/*
 * Memory of whole huge pages, aligned to them; ordinary pages lie behind it, so the flags make no
 * difference. NULL: no memory.
 */
void *get_huge_pages(size_t len, ghp_t flags);
void free_huge_pages(void *ptr);
void *get_hugepage_region(size_t len, ghr_t flags);
void free_hugepage_region(void *ptr);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
