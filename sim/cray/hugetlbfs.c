/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libhugetlbfs. On a host without hugetlbfs, a folder in ordinary shared memory replaces it. A file
 * of hugetlbfs grows when a program maps more of it for writing. A file of another file system does
 * not grow, and an access beyond its end kills the program. Therefore programs that are linked to
 * this library map files with cray_huge_mmap(), which extends the files of that folder
 * (hugetlbfs_mmap.c; in sim-run the shims of foreign programs).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hugetlbfs.h"
#include "cray/huge_mmap.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PAGE_DEFAULT (2l << 20)
#define MEMINFO "/proc/meminfo"
#define HUGETLBFS_MAGIC 0x958458f6 /* of statfs() */
#define FOLDER "/jacquard-hugetlbfs-"

/* "8M", "2048 kB" */
static long bytes_of(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    int shift;

    while (*end == ' ')
        end++;
    shift = *end == 'K' || *end == 'k'   ? 10
            : *end == 'M' || *end == 'm' ? 20
            : *end == 'G' || *end == 'g' ? 30
                                         : 0;
    return number > 0 && number < 1 << 24 ? number << shift : 0;
}

static bool is_page_size(long bytes)
{
    return bytes >= 4096 && (bytes & (bytes - 1)) == 0;
}

/* The kernel's default size. */
static long kernels_page(void)
{
    static const char name[] = "Hugepagesize:";
    FILE *file = fopen(MEMINFO, "re");
    char line[128];
    long bytes = 0;

    while (file != NULL && bytes == 0 && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            bytes = bytes_of(line + strlen(name));
    if (file != NULL)
        fclose(file);
    return is_page_size(bytes) ? bytes : PAGE_DEFAULT;
}

long gethugepagesize(void)
{
    const char *wish = getenv("HUGETLB_DEFAULT_PAGE_SIZE");
    long bytes = wish != NULL ? bytes_of(wish) : 0;

    return is_page_size(bytes) ? bytes : kernels_page();
}

int gethugepagesizes(long pagesizes[], int n_elem)
{
    const long own = gethugepagesize(), kernels = kernels_page();
    const long sizes[] = {own, kernels};
    int count = own == kernels ? 1 : 2, i;

    if (n_elem < 0 || (n_elem > 0 && pagesizes == NULL)) {
        errno = EINVAL;
        return -1;
    }
    if (n_elem == 0)
        return count;
    for (i = 0; i < count && i < n_elem; i++)
        pagesizes[i] = sizes[i];
    return i;
}

int getpagesizes(long pagesizes[], int n_elem)
{
    int huge;

    if (n_elem < 0 || (n_elem > 0 && pagesizes == NULL)) {
        errno = EINVAL;
        return -1;
    }
    if (n_elem == 0)
        return 1 + gethugepagesizes(NULL, 0);
    pagesizes[0] = sysconf(_SC_PAGESIZE);
    huge = n_elem > 1 ? gethugepagesizes(pagesizes + 1, n_elem - 1) : 0;
    return 1 + huge;
}

/* ---- folders for files in huge pages --------------------------------------------------------- */

static bool find_mount(long page_size, char *path, size_t room)
{
    FILE *mounts = setmntent("/proc/mounts", "re");
    struct mntent *mount;
    bool found = false;

    while (mounts != NULL && !found && (mount = getmntent(mounts)) != NULL) {
        const char *option = hasmntopt(mount, "pagesize");

        if (strcmp(mount->mnt_type, "hugetlbfs") != 0 || strlen(mount->mnt_dir) >= room ||
            page_size !=
                (option != NULL ? bytes_of(option + strlen("pagesize=")) : kernels_page()) ||
            access(mount->mnt_dir, W_OK) != 0)
            continue;
        memcpy(path, mount->mnt_dir, strlen(mount->mnt_dir) + 1);
        found = true;
    }
    if (mounts != NULL)
        endmntent(mounts);
    return found;
}

/* A folder of this user in shared memory, or else among the temporary files. NULL: it cannot be
 * made. */
static bool make_folder(char *path, size_t room)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    struct stat folder;
    size_t i;

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, room, "%s" FOLDER "%u", places[i], (unsigned)geteuid());
        if ((mkdir(path, 0700) == 0 || errno == EEXIST) && lstat(path, &folder) == 0 &&
            S_ISDIR(folder.st_mode) && folder.st_uid == geteuid())
            return true;
    }
    return false;
}

const char *hugetlbfs_find_path_for_size(long page_size)
{
    static char path[256];

    if (page_size == 0)
        page_size = gethugepagesize();
    if (!is_page_size(page_size)) {
        errno = EINVAL;
        return NULL;
    }
    return find_mount(page_size, path, sizeof(path)) || make_folder(path, sizeof(path)) ? path
                                                                                        : NULL;
}

const char *hugetlbfs_find_path(void)
{
    return hugetlbfs_find_path_for_size(gethugepagesize());
}

/* A file without a name. O_TMPFILE would not do: a hugetlbfs has no such files. */
int hugetlbfs_unlinked_fd_for_size(long page_size)
{
    const char *folder = hugetlbfs_find_path_for_size(page_size);
    char path[320];
    int fd;

    if (folder == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/unlinked-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

int hugetlbfs_unlinked_fd(void)
{
    return hugetlbfs_unlinked_fd_for_size(gethugepagesize());
}

int hugetlbfs_test_path(const char *mount)
{
    const char *last = mount != NULL ? strrchr(mount, '/') : NULL;
    struct statfs where;

    if (mount == NULL || statfs(mount, &where) != 0)
        return -1;
    return where.f_type == HUGETLBFS_MAGIC ||
           (last != NULL && strncmp(last, FOLDER, strlen(FOLDER)) == 0);
}

/* ---- files that grow ------------------------------------------------------------------------- */

/* Whether a file is in the folder that replaces hugetlbfs; it may have been unlinked. */
static bool is_ours(int fd)
{
    char link[40], target[320];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, target, sizeof(target) - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    return strncmp(target, "/dev/shm" FOLDER, strlen("/dev/shm" FOLDER)) == 0 ||
           strncmp(target, "/tmp" FOLDER, strlen("/tmp" FOLDER)) == 0;
}

static void grow(int fd, size_t length, off_t offset)
{
    int before = errno;
    struct stat file;

    if (is_ours(fd) && fstat(fd, &file) == 0 && offset >= 0 &&
        length <= (size_t)(INT64_MAX - offset) && file.st_size < offset + (off_t)length &&
        ftruncate(fd, offset + (off_t)length) != 0)
        errno = before; /* mmap() reports the error */
    errno = before;
}

void *cray_huge_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && !(flags & MAP_ANONYMOUS) && (protection & PROT_WRITE) != 0)
        grow(fd, length, offset);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the result of the system call
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *whole_pages(size_t bytes)
{
    size_t page = (size_t)gethugepagesize();

    return bytes <= SIZE_MAX - page ? aligned_alloc(page, (bytes + page - 1) / page * page) : NULL;
}

void *get_huge_pages(size_t len, ghp_t flags)
{
    (void)flags;
    return whole_pages(len);
}

void free_huge_pages(void *ptr)
{
    free(ptr);
}

void *get_hugepage_region(size_t len, ghr_t flags)
{
    (void)flags;
    return whole_pages(len);
}

void free_hugepage_region(void *ptr)
{
    free(ptr);
}
