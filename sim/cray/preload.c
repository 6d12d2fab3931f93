/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A library that live processes preload (LD_PRELOAD). It presents the files of cray/node_files.h as
 * on the emulated node; all other files are the machine's. JACQUARD_NODE is the number of the node,
 * JACQUARD_GROUP the number of chassis and slots of a group ("6x16"). Without JACQUARD_GROUP the
 * library changes nothing.
 *
 * Programs may call these functions before constructors run, in signal handlers and in children of
 * vfork(). Therefore the library needs no initialisation, keeps no state except addresses of
 * functions, and changes errno only when a call fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cray/node_files.h"

#define EXPORT __attribute__((visibility("default")))
#define NODES_PER_SLOT 4u

#ifndef __clang__
/* glibc declares some of these paths as never NULL, but programs pass NULL. */
#pragma GCC diagnostic ignored "-Wnonnull-compare"
#endif

static bool place_of(struct cray_place *place)
{
    const char *group = getenv("JACQUARD_GROUP"), *nid = getenv("JACQUARD_NODE");
    uint32_t chassis, slots, slot;
    char *end;

    if (group == NULL)
        return false;
    chassis = (uint32_t)strtoul(group, &end, 10);
    slots = *end == 'x' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
    if (chassis == 0 || slots == 0)
        return false;
    place->nid = nid != NULL ? (uint32_t)strtoul(nid, NULL, 10) : 0;
    slot = place->nid / NODES_PER_SLOT;
    place->node = place->nid % NODES_PER_SLOT;
    place->slot = slot % slots;
    place->chassis = slot / slots % chassis;
    place->group = slot / slots / chassis;
    return true;
}

static bool content_of(const char *path, char *text)
{
    struct cray_place place;
    int before = errno;

    if (path == NULL || path[0] != '/' || !cray_node_file(path) || !place_of(&place))
        return false;
    cray_node_file_text(path, &place, text);
    errno = before;
    return true;
}

/* The next function of that name in the search order: libc's, or a sanitizer's. */
static void *next(void **known, const char *name)
{
    void *address = __atomic_load_n(known, __ATOMIC_RELAXED);

    if (address == NULL) {
        address = dlsym(RTLD_NEXT, name);
        __atomic_store_n(known, address, __ATOMIC_RELAXED);
    }
    return address;
}

/*
 * CALL(result, name, parameters, arguments, path, otherwise) defines a function. For the path of a
 * node file it answers itself, with the file's `text`. It passes all other calls on.
 */
#define CALL(result, name, parameters, arguments, path, answer) \
    EXPORT result name parameters;                              \
    EXPORT result name parameters                               \
    {                                                           \
        static void *known;                                     \
        char text[CRAY_NODE_FILE_BYTES];                        \
        result(*theirs) parameters;                             \
                                                                \
        if (content_of(path, text))                             \
            return answer;                                      \
        *(void **)&theirs = next(&known, #name);                \
        if (theirs != NULL)                                     \
            return theirs arguments;                            \
        errno = ENOSYS;                                         \
        return (result)FAILS_##result;                          \
    }
typedef FILE *stream_t;
#define FAILS_int -1
#define FAILS_stream_t 0

/* ---- opening --------------------------------------------------------------------------------- */

/* If the caller gave no mode, an undefined value is passed on, which open() ignores. */
#define OPEN(name, parameters, arguments)                          \
    EXPORT int name parameters                                     \
    {                                                              \
        static void *known;                                        \
        char text[CRAY_NODE_FILE_BYTES];                           \
        int(*theirs) parameters;                                   \
        va_list more;                                              \
        mode_t mode = 0;                                           \
                                                                   \
        if (content_of(path, text))                                \
            return cray_node_file_open(text, flags);               \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
            va_start(more, flags);                                 \
            mode = va_arg(more, mode_t);                           \
            va_end(more);                                          \
        }                                                          \
        *(void **)&theirs = next(&known, #name);                   \
        return theirs arguments;                                   \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

/* _FORTIFY_SOURCE replaces open() without a mode by these. */
CALL(int, __open_2, (const char *path, int flags), (path, flags), path,
     cray_node_file_open(text, flags))
CALL(int, __open64_2, (const char *path, int flags), (path, flags), path,
     cray_node_file_open(text, flags))
CALL(int, __openat_2, (int folder, const char *path, int flags), (folder, path, flags), path,
     cray_node_file_open(text, flags))
CALL(int, __openat64_2, (int folder, const char *path, int flags), (folder, path, flags), path,
     cray_node_file_open(text, flags))

CALL(stream_t, fopen, (const char *path, const char *mode), (path, mode), path,
     cray_node_file_stream(text, mode))
CALL(stream_t, fopen64, (const char *path, const char *mode), (path, mode), path,
     cray_node_file_stream(text, mode))

/* ---- queries --------------------------------------------------------------------------------- */

CALL(int, access, (const char *path, int how), (path, how), path, cray_node_file_access(how))
CALL(int, faccessat, (int folder, const char *path, int how, int flags), (folder, path, how, flags),
     path, cray_node_file_access(how))

static int status_of(const char *text, int (*ask)(int file, void *to), void *to)
{
    int file = cray_node_file_open(text, O_CLOEXEC), result, error;

    if (file < 0)
        return -1;
    result = ask(file, to);
    error = errno;
    close(file);
    errno = error;
    return result;
}

static int ask_stat(int file, void *to)
{
    return fstat(file, to);
}

static int ask_stat64(int file, void *to)
{
    return fstat64(file, to);
}

#define STAT(suffix)                                                                               \
    CALL(int, stat##suffix, (const char *path, struct stat##suffix *to), (path, to), path,         \
         status_of(text, ask_stat##suffix, to))                                                    \
    CALL(int, lstat##suffix, (const char *path, struct stat##suffix *to), (path, to), path,        \
         status_of(text, ask_stat##suffix, to))                                                    \
    CALL(int, fstatat##suffix, (int folder, const char *path, struct stat##suffix *to, int flags), \
         (folder, path, to, flags), path, status_of(text, ask_stat##suffix, to))                   \
    /* for programs that were linked to a glibc before 2.33 */                                     \
    CALL(int, __xstat##suffix, (int version, const char *path, struct stat##suffix *to),           \
         (version, path, to), path, status_of(text, ask_stat##suffix, to))                         \
    CALL(int, __lxstat##suffix, (int version, const char *path, struct stat##suffix *to),          \
         (version, path, to), path, status_of(text, ask_stat##suffix, to))
STAT()
STAT(64)

struct statx_question {
    int flags;
    unsigned mask;
    struct statx *to;
};

static int ask_statx(int file, void *arg)
{
    const struct statx_question *question = arg;

    return statx(file, "", question->flags | AT_EMPTY_PATH, question->mask, question->to);
}

CALL(int, statx, (int folder, const char *path, int flags, unsigned mask, struct statx *to),
     (folder, path, flags, mask, to), path,
     status_of(text, ask_statx, &(struct statx_question){flags, mask, to}))
