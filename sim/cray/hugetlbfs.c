/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hugetlbfs.h"

#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "8M" */
static long bytes_of(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    int shift = *end == 'K' || *end == 'k'   ? 10
                : *end == 'M' || *end == 'm' ? 20
                : *end == 'G' || *end == 'g' ? 30
                                             : 0;

    return number > 0 && number < 1 << 16 ? number << shift : 0;
}

long gethugepagesize(void)
{
    const char *wish = getenv("HUGETLB_DEFAULT_PAGE_SIZE");
    long bytes = wish != NULL ? bytes_of(wish) : 0;

    return bytes > 0 ? bytes : 2l << 20;
}

const char *hugetlbfs_find_path_for_size(long page_size)
{
    static char path[256];
    FILE *mounts = setmntent("/proc/mounts", "re");
    struct mntent *mount;
    bool found = false;

    if (mounts == NULL)
        return NULL;
    while (!found && (mount = getmntent(mounts)) != NULL) {
        const char *option = hasmntopt(mount, "pagesize");

        if (strcmp(mount->mnt_type, "hugetlbfs") != 0 || strlen(mount->mnt_dir) >= sizeof(path) ||
            page_size != (option != NULL ? bytes_of(option + strlen("pagesize=")) : 2l << 20))
            continue;
        memcpy(path, mount->mnt_dir, strlen(mount->mnt_dir) + 1);
        found = true;
    }
    endmntent(mounts);
    return found ? path : NULL;
}

void *get_hugepage_region(size_t len, ghp_t flags)
{
    size_t page = (size_t)gethugepagesize();

    (void)flags;
    return aligned_alloc(page, (len + page - 1) / page * page);
}

void free_hugepage_region(void *ptr)
{
    free(ptr);
}
