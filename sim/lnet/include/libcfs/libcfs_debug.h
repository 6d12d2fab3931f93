/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages and assertions of libcfs. A node (in a simulation each of its own, else the process) has
 * the masks that decide about a message: those of `libcfs_printk`, and errors, warnings and console
 * messages always, are written to standard error; those of `libcfs_debug` are kept in a log, which
 * libcfs_debug_dumplog() writes. Module parameters: libcfs.libcfs_debug and the like.
 */
#ifndef JACQUARD_LIBCFS_DEBUG_H
#define JACQUARD_LIBCFS_DEBUG_H

#include <stdarg.h>
#include <stdio.h>

#include "libcfs/shims.h"

/* ---- subsystems ------------------------------------------------------------------------------ */

#define S_UNDEFINED 0x00000001
#define S_MDC 0x00000002
#define S_MDS 0x00000004
#define S_OSC 0x00000008
#define S_OST 0x00000010
#define S_CLASS 0x00000020
#define S_LOG 0x00000040
#define S_LLITE 0x00000080
#define S_RPC 0x00000100
#define S_MGMT 0x00000200
#define S_LNET 0x00000400
#define S_LND 0x00000800
#define S_PINGER 0x00001000
#define S_FILTER 0x00002000
#define S_LIBCFS 0x00004000
#define S_ECHO 0x00008000
#define S_LDLM 0x00010000
#define S_LOV 0x00020000
#define S_LQUOTA 0x00040000
#define S_OSD 0x00080000
#define S_LFSCK 0x00100000
#define S_SNAPSHOT 0x00200000
#define S_LMV 0x00800000
#define S_SEC 0x02000000
#define S_GSS 0x04000000
#define S_MGC 0x10000000
#define S_MGS 0x20000000
#define S_FID 0x40000000
#define S_FLD 0x80000000
#ifndef DEBUG_SUBSYSTEM
#define DEBUG_SUBSYSTEM S_UNDEFINED
#endif

/* ---- kinds of messages ----------------------------------------------------------------------- */

#define D_TRACE 0x00000001
#define D_INODE 0x00000002
#define D_SUPER 0x00000004
#define D_IOTRACE 0x00000008
#define D_EXT2 D_IOTRACE
#define D_MALLOC 0x00000010
#define D_CACHE 0x00000020
#define D_INFO 0x00000040
#define D_IOCTL 0x00000080
#define D_NETERROR 0x00000100
#define D_NET 0x00000200
#define D_WARNING 0x00000400
#define D_BUFFS 0x00000800
#define D_OTHER 0x00001000
#define D_DENTRY 0x00002000
#define D_NETTRACE 0x00004000
#define D_PAGE 0x00008000
#define D_DLMTRACE 0x00010000
#define D_ERROR 0x00020000
#define D_EMERG 0x00040000
#define D_HA 0x00080000
#define D_RPCTRACE 0x00100000
#define D_VFSTRACE 0x00200000
#define D_READA 0x00400000
#define D_MMAP 0x00800000
#define D_CONFIG 0x01000000
#define D_CONSOLE 0x02000000
#define D_QUOTA 0x04000000
#define D_SEC 0x08000000
#define D_LFSCK 0x10000000
#define D_HSM 0x20000000
#define D_SNAPSHOT 0x40000000
#define D_LAYOUT 0x80000000
/* Names of releases before and after 2.12. */
#define D_ADAPTTO D_HA
#define D_REASON D_OTHER
#define D_TTY D_CONSOLE
/* Nobody can turn these off. */
#define D_CANTMASK (D_ERROR | D_EMERG | D_WARNING | D_CONSOLE)

/* ---- the state of the caller's node ---------------------------------------------------------- */

struct va_format { /* of %pV */
    const char *fmt;
    va_list *va;
};
struct libcfs_debug_log;

struct libcfs_node {
    unsigned debug, subsystem_debug, printk, console_ratelimit;
    unsigned catastrophe; /* an assertion has failed */
    unsigned fail_loc, fail_val; /* that cfs_fail_loc and cfs_fail_val begin with */
    struct libcfs_debug_log *log; /* NULL: nothing was kept yet */
    struct list_head ioctls; /* of libcfs_register_ioctl() */
    spinlock_t lock; /* of the log and the list */
    void *faults; /* struct libcfs_faults; NULL: not used yet */
};

/* How often a message was skipped because it came again too soon. */
typedef struct cfs_debug_limit_state {
    unsigned long cdls_next; /* jiffies */
    unsigned cdls_delay;
    int cdls_count;
} cfs_debug_limit_state_t;
struct libcfs_debug_msg_data {
    const char *msg_file, *msg_fn;
    int msg_subsys, msg_line, msg_mask;
    cfs_debug_limit_state_t *msg_cdls; /* NULL: each time; else which place in the text it is */
};

#pragma GCC visibility push(default)
struct libcfs_node *libcfs_node(void);
int libcfs_debug_msg(struct libcfs_debug_msg_data *data, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int libcfs_debug_vmsg2(struct libcfs_debug_msg_data *data, const char *format, va_list arguments,
                       const char *format2, ...) __attribute__((format(printf, 4, 5)));
/* As printf() to standard error, and vsnprintf(), with the kernel's formats of pointers, too: %pI4,
 * %pI4h, %pISpc, %pU, %pM, %pV, %pf and the like. */
int libcfs_printk_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
int libcfs_vsnprintf(char *text, size_t size, const char *format, va_list arguments);

/* Writes the log to standard error and empties it. */
void libcfs_debug_dumplog(void);
void libcfs_debug_dumpstack(void *task); /* of the caller, whatever `task` is */
/* "net +neterror", "-1", "0x400" to a mask, and back. 0 or -EINVAL; how long the text is. */
int libcfs_debug_str2mask(int *mask, const char *text, int is_subsystem);
int libcfs_debug_mask2str(char *text, int size, int mask, int is_subsystem);

/* The node of the caller stops: it crashes in a simulation, and the process aborts elsewhere. */
_Noreturn void libcfs_lbug(struct libcfs_debug_msg_data *data);
_Noreturn void libcfs_assertion_failed(const struct libcfs_debug_msg_data *data,
                                       const char *condition, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
#pragma GCC visibility pop

#define lbug_with_loc(data) libcfs_lbug(data)
#define libcfs_debug (libcfs_node()->debug)
#define libcfs_subsystem_debug (libcfs_node()->subsystem_debug)
#define libcfs_printk (libcfs_node()->printk)
#define libcfs_console_ratelimit (libcfs_node()->console_ratelimit)
#define libcfs_catastrophe (libcfs_node()->catastrophe)

/* ---- messages -------------------------------------------------------------------------------- */

static inline int cfs_cdebug_show(unsigned mask, unsigned subsystem)
{
    const struct libcfs_node *node;

    if ((mask & D_CANTMASK) != 0)
        return 1;
    node = libcfs_node();
    return (node->debug & mask) != 0 && (node->subsystem_debug & subsystem) != 0;
}
#define LIBCFS_DEBUG_MSG_DATA_INIT(data, mask, limit)                                             \
    (*(data) = (struct libcfs_debug_msg_data){__FILE__, __func__, (int)DEBUG_SUBSYSTEM, __LINE__, \
                                              (int)(mask), limit})
#define LIBCFS_DEBUG_MSG_DATA_DECL(data, mask, limit)                                 \
    struct libcfs_debug_msg_data data = {__FILE__, __func__,    (int)DEBUG_SUBSYSTEM, \
                                         __LINE__, (int)(mask), limit}
#define __CDEBUG(limit, mask, format, ...)                              \
    do {                                                                \
        unsigned cdebug_mask__ = (unsigned)(mask);                      \
        if (cfs_cdebug_show(cdebug_mask__, DEBUG_SUBSYSTEM)) {          \
            LIBCFS_DEBUG_MSG_DATA_DECL(cdebug__, cdebug_mask__, limit); \
            (void)libcfs_debug_msg(&cdebug__, format, ##__VA_ARGS__);   \
        }                                                               \
    } while (0)
#define CDEBUG(mask, format, ...) __CDEBUG(NULL, mask, format, ##__VA_ARGS__)
/* The same message from the same place is skipped for half a second, and then for longer. */
#define CDEBUG_LIMIT(mask, format, ...)               \
    do {                                              \
        static cfs_debug_limit_state_t cdls;          \
        __CDEBUG(&cdls, mask, format, ##__VA_ARGS__); \
    } while (0)
#define CWARN(format, ...) CDEBUG_LIMIT(D_WARNING, format, ##__VA_ARGS__)
#define CERROR(format, ...) CDEBUG_LIMIT(D_ERROR, format, ##__VA_ARGS__)
#define CNETERR(format, ...) CDEBUG_LIMIT(D_NETERROR, format, ##__VA_ARGS__)
#define CEMERG(format, ...) CDEBUG_LIMIT(D_EMERG, format, ##__VA_ARGS__)
#define LCONSOLE(mask, format, ...) CDEBUG(D_CONSOLE | (mask), format, ##__VA_ARGS__)
#define LCONSOLE_INFO(format, ...) CDEBUG_LIMIT(D_CONSOLE, format, ##__VA_ARGS__)
#define LCONSOLE_WARN(format, ...) CDEBUG_LIMIT(D_CONSOLE | D_WARNING, format, ##__VA_ARGS__)
#define LERRCHKSUM(number) (((number)&0xf) ^ ((number) >> 4 & 0xf) ^ ((number) >> 8 & 0xf))
#define LCONSOLE_ERROR_MSG(number, format, ...)                             \
    CDEBUG_LIMIT(D_CONSOLE | D_ERROR, "%x-%x: " format, (unsigned)(number), \
                 (unsigned)LERRCHKSUM(number), ##__VA_ARGS__)
#define LCONSOLE_ERROR(format, ...) LCONSOLE_ERROR_MSG(0x00, format, ##__VA_ARGS__)
#define LCONSOLE_EMERG(format, ...) CDEBUG(D_CONSOLE | D_EMERG, format, ##__VA_ARGS__)

#define KERN_EMERG ""
#define KERN_ALERT ""
#define KERN_CRIT ""
#define KERN_ERR ""
#define KERN_WARNING ""
#define KERN_NOTICE ""
#define KERN_INFO ""
#define KERN_DEBUG ""
#define KERN_CONT ""
#ifndef pr_fmt
#define pr_fmt(format) format
#endif
#define printk(...) libcfs_printk_text(__VA_ARGS__)
#define pr_emerg(format, ...) ((void)libcfs_printk_text(pr_fmt(format), ##__VA_ARGS__))
#define pr_alert pr_emerg
#define pr_crit pr_emerg
#define pr_err pr_emerg
#define pr_warn pr_emerg
#define pr_warning pr_emerg
#define pr_notice pr_emerg
#define pr_info pr_emerg
#define pr_cont(...) ((void)libcfs_printk_text(__VA_ARGS__))
#define pr_debug(format, ...)                                        \
    do {                                                             \
        if (0)                                                       \
            (void)libcfs_printk_text(pr_fmt(format), ##__VA_ARGS__); \
    } while (0)

/* The begin and the end of a function leave a message of D_TRACE. */
#define ENTRY CDEBUG(D_TRACE, "Process entered\n")
#define EXIT CDEBUG(D_TRACE, "Process leaving\n")
#define RETURN(value)   \
    do {                \
        EXIT;           \
        return (value); \
    } while (0)
#define RETURN_EXIT \
    do {            \
        EXIT;       \
        return;     \
    } while (0)
#define GOTO(label, value)                                                             \
    do {                                                                               \
        if (cfs_cdebug_show(D_TRACE, DEBUG_SUBSYSTEM)) {                               \
            long goto__ = (long)(value);                                               \
            CDEBUG(D_TRACE, "Process leaving via %s (rc=%lu : %ld : 0x%lx)\n", #label, \
                   (unsigned long)goto__, goto__, (unsigned long)goto__);              \
        } else                                                                         \
            (void)(value);                                                             \
        goto label;                                                                    \
    } while (0)

/* ---- assertions ------------------------------------------------------------------------------ */

#define LIBCFS_PLACE                                                                              \
    (&(struct libcfs_debug_msg_data){__FILE__, __func__, (int)DEBUG_SUBSYSTEM, __LINE__, D_EMERG, \
                                     NULL})
#define LASSERTF(condition, format, ...)                                              \
    do {                                                                              \
        if (unlikely(!(condition)))                                                   \
            libcfs_assertion_failed(LIBCFS_PLACE, #condition, format, ##__VA_ARGS__); \
    } while (0)
#define LASSERT(condition) LASSERTF(condition, "\n")
#define LBUG() lbug_with_loc(LIBCFS_PLACE)
#define LASSERT_CHECKED (1)
#define LINVRNT(condition) ((void)sizeof(!!(condition))) /* of debugging builds only */
#define lassertf LASSERTF
#define BUG() libcfs_assertion_failed(LIBCFS_PLACE, NULL, "kernel BUG\n")
#define BUG_ON(condition)                                                                \
    do {                                                                                 \
        if (unlikely(condition))                                                         \
            libcfs_assertion_failed(LIBCFS_PLACE, NULL, "kernel BUG: %s\n", #condition); \
    } while (0)
/* If a then b; a exactly if b. */
#define ergo(a, b) (!(a) || (b))
#define equi(a, b) (!!(a) == !!(b))

#define LASSERT_ATOMIC_ENABLED (1)
#define LIBCFS_ASSERT_ATOMIC(a, test, value)                                   \
    do {                                                                       \
        int assert_atomic__ = atomic_read(a);                                  \
        LASSERTF(assert_atomic__ test(value), "value: %d\n", assert_atomic__); \
    } while (0)
#define LASSERT_ATOMIC_EQ(a, value) LIBCFS_ASSERT_ATOMIC(a, ==, value)
#define LASSERT_ATOMIC_NE(a, value) LIBCFS_ASSERT_ATOMIC(a, !=, value)
#define LASSERT_ATOMIC_LT(a, value) LIBCFS_ASSERT_ATOMIC(a, <, value)
#define LASSERT_ATOMIC_LE(a, value) LIBCFS_ASSERT_ATOMIC(a, <=, value)
#define LASSERT_ATOMIC_GT(a, value) LIBCFS_ASSERT_ATOMIC(a, >, value)
#define LASSERT_ATOMIC_GE(a, value) LIBCFS_ASSERT_ATOMIC(a, >=, value)
#define LIBCFS_ASSERT_WITHIN(a, low, low_test, high, high_test)                                   \
    do {                                                                                          \
        int assert_atomic__ = atomic_read(a);                                                     \
        LASSERTF(assert_atomic__ low_test(low) && assert_atomic__ high_test(high), "value: %d\n", \
                 assert_atomic__);                                                                \
    } while (0)
#define LASSERT_ATOMIC_GT_LT(a, low, high) LIBCFS_ASSERT_WITHIN(a, low, >, high, <)
#define LASSERT_ATOMIC_GT_LE(a, low, high) LIBCFS_ASSERT_WITHIN(a, low, >, high, <=)
#define LASSERT_ATOMIC_GE_LT(a, low, high) LIBCFS_ASSERT_WITHIN(a, low, >=, high, <)
#define LASSERT_ATOMIC_GE_LE(a, low, high) LIBCFS_ASSERT_WITHIN(a, low, >=, high, <=)
#define LASSERT_ATOMIC_ZERO(a) LASSERT_ATOMIC_EQ(a, 0)
#define LASSERT_ATOMIC_POS(a) LASSERT_ATOMIC_GT(a, 0)

#define LASSERT_SPIN_LOCKED(lock) LASSERT(spin_is_locked(lock))
#define LASSERT_MUTEX_LOCKED(lock) LASSERT(mutex_is_locked(lock))
#define LASSERT_SEM_LOCKED(sem) LASSERT(down_trylock(sem) != 0)
#define assert_spin_locked(lock) LASSERT(spin_is_locked(lock))

#define CLASSERT(condition) _Static_assert(condition, #condition)

#endif
