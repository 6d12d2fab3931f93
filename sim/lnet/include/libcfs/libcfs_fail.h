/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failures that a test asks for: a node whose cfs_fail_loc has a number fails where the code checks
 * for that number. Each node has its own. Module parameters of libcfs: cfs_fail_loc, cfs_fail_val.
 */
#ifndef JACQUARD_LIBCFS_FAIL_H
#define JACQUARD_LIBCFS_FAIL_H

#include "libcfs/libcfs.h"

struct libcfs_faults {
    unsigned long loc;
    unsigned val;
    int err;
    int count; /* of what is skipped, or has failed */
    int race_state;
    wait_queue_head_t race_wait;
};

#pragma GCC visibility push(default)
struct libcfs_faults *libcfs_faults(void); /* of the caller's node */
int libcfs_fail_check_set(__u32 id, __u32 value, int set);
int libcfs_fail_timeout_set(__u32 id, __u32 value, int ms, int set);
void libcfs_fail_race(__u32 id);
#pragma GCC visibility pop

#define cfs_fail_loc (libcfs_faults()->loc)
#define cfs_fail_val (libcfs_faults()->val)
#define cfs_fail_err (libcfs_faults()->err)
#define cfs_race_waitq (libcfs_faults()->race_wait)
#define cfs_race_state (libcfs_faults()->race_state)
#define __cfs_fail_check_set(id, value, set) libcfs_fail_check_set(id, value, set)
#define __cfs_fail_timeout_set(id, value, ms, set) libcfs_fail_timeout_set(id, value, ms, set)

/* What happens to cfs_fail_loc when it has failed; VALUE: only if cfs_fail_val is the value. */
enum {
    CFS_FAIL_LOC_NOSET = 0,
    CFS_FAIL_LOC_ORSET = 1,
    CFS_FAIL_LOC_RESET = 2,
    CFS_FAIL_LOC_VALUE = 3,
};

/* Parts of cfs_fail_loc: the number, and how often it fails. */
#define CFS_FAIL_MASK_SYS 0x0000FF00
#define CFS_FAIL_MASK_LOC (0x000000FF | CFS_FAIL_MASK_SYS)
#define CFS_FAILED_BIT 30
#define CFS_FAILED BIT(CFS_FAILED_BIT) /* it has failed */
#define CFS_FAIL_ONCE_BIT 31
#define CFS_FAIL_ONCE BIT(CFS_FAIL_ONCE_BIT)
#define CFS_FAIL_SKIP 0x20000000 /* not the first cfs_fail_val times */
#define CFS_FAIL_SOME 0x10000000 /* cfs_fail_val times; of several, the last one does not */
#define CFS_FAIL_RAND 0x08000000 /* one of cfs_fail_val times */
#define CFS_FAIL_USR1 0x04000000
#define CFS_FAULT 0x02000000 /* at each CFS_FAULT_CHECK() */

static inline bool CFS_FAIL_PRECHECK(__u32 id)
{
    unsigned long loc = cfs_fail_loc;

    return loc != 0 &&
           ((loc & CFS_FAIL_MASK_LOC) == (id & CFS_FAIL_MASK_LOC) || (loc & id & CFS_FAULT) != 0);
}

static inline int cfs_fail_check_set(__u32 id, __u32 value, int set, int quiet)
{
    int ret;

    if (likely(!CFS_FAIL_PRECHECK(id)))
        return 0;
    ret = libcfs_fail_check_set(id, value, set);
    if (ret != 0 && quiet)
        CDEBUG(D_INFO, "*** cfs_fail_loc=%x, val=%u***\n", id, value);
    else if (ret != 0)
        LCONSOLE_INFO("*** cfs_fail_loc=%x, val=%u***\n", id, value);
    return ret;
}
#define CFS_FAIL_CHECK(id) cfs_fail_check_set(id, 0, CFS_FAIL_LOC_NOSET, 0)
#define CFS_FAIL_CHECK_QUIET(id) cfs_fail_check_set(id, 0, CFS_FAIL_LOC_NOSET, 1)
#define CFS_FAIL_CHECK_VALUE(id, value) cfs_fail_check_set(id, value, CFS_FAIL_LOC_VALUE, 0)
#define CFS_FAIL_CHECK_VALUE_QUIET(id, value) cfs_fail_check_set(id, value, CFS_FAIL_LOC_VALUE, 1)
#define CFS_FAIL_CHECK_ORSET(id, value) cfs_fail_check_set(id, value, CFS_FAIL_LOC_ORSET, 0)
#define CFS_FAIL_CHECK_ORSET_QUIET(id, value) cfs_fail_check_set(id, value, CFS_FAIL_LOC_ORSET, 1)
#define CFS_FAIL_CHECK_RESET(id, value) cfs_fail_check_set(id, value, CFS_FAIL_LOC_RESET, 0)
#define CFS_FAIL_CHECK_RESET_QUIET(id, value) cfs_fail_check_set(id, value, CFS_FAIL_LOC_RESET, 1)
#define CFS_FAULT_CHECK(id) CFS_FAIL_CHECK(CFS_FAULT | (id))
#define CFS_FAIL_RETURN(id, value)             \
    do {                                       \
        if (unlikely(CFS_FAIL_CHECK(id) != 0)) \
            RETURN(value);                     \
    } while (0)

/* They sleep, if it fails; not from callbacks. cfs_fail_loc = 0 ends the sleep within 100 ms. */
static inline int cfs_fail_timeout_set(__u32 id, __u32 value, int ms, int set)
{
    return unlikely(CFS_FAIL_PRECHECK(id)) ? libcfs_fail_timeout_set(id, value, ms, set) : 0;
}
#define CFS_FAIL_TIMEOUT(id, seconds) \
    cfs_fail_timeout_set(id, 0, (int)(seconds)*1000, CFS_FAIL_LOC_NOSET)
#define CFS_FAIL_TIMEOUT_MS(id, ms) cfs_fail_timeout_set(id, 0, (int)(ms), CFS_FAIL_LOC_NOSET)
#define CFS_FAIL_TIMEOUT_ORSET(id, value, seconds) \
    cfs_fail_timeout_set(id, value, (int)(seconds)*1000, CFS_FAIL_LOC_ORSET)
#define CFS_FAIL_TIMEOUT_RESET(id, value, seconds) \
    cfs_fail_timeout_set(id, value, (int)(seconds)*1000, CFS_FAIL_LOC_RESET)
#define CFS_FAIL_TIMEOUT_MS_ORSET(id, value, ms) \
    cfs_fail_timeout_set(id, value, (int)(ms), CFS_FAIL_LOC_ORSET)

/* The first thread that comes here sleeps until another one does. */
static inline void cfs_race(__u32 id)
{
    if (unlikely(CFS_FAIL_PRECHECK(id)))
        libcfs_fail_race(id);
}
#define CFS_RACE(id) cfs_race(id)

/* Lustre's names. */
#define OBD_FAIL_MASK_SYS CFS_FAIL_MASK_SYS
#define OBD_FAIL_MASK_LOC CFS_FAIL_MASK_LOC
#define OBD_FAIL_ONCE CFS_FAIL_ONCE
#define OBD_FAILED CFS_FAILED
#define OBD_FAULT CFS_FAULT
#define OBD_FAIL_PRECHECK(id) CFS_FAIL_PRECHECK(id)
#define OBD_FAIL_CHECK(id) CFS_FAIL_CHECK(id)
#define OBD_FAIL_CHECK_QUIET(id) CFS_FAIL_CHECK_QUIET(id)
#define OBD_FAIL_CHECK_VALUE(id, value) CFS_FAIL_CHECK_VALUE(id, value)
#define OBD_FAIL_CHECK_ORSET(id, value) CFS_FAIL_CHECK_ORSET(id, value)
#define OBD_FAIL_CHECK_RESET(id, value) CFS_FAIL_CHECK_RESET(id, value)
#define OBD_FAIL_RETURN(id, value) CFS_FAIL_RETURN(id, value)
#define OBD_FAIL_TIMEOUT(id, seconds) CFS_FAIL_TIMEOUT(id, seconds)
#define OBD_FAIL_TIMEOUT_MS(id, ms) CFS_FAIL_TIMEOUT_MS(id, ms)
#define OBD_FAIL_TIMEOUT_ORSET(id, value, seconds) CFS_FAIL_TIMEOUT_ORSET(id, value, seconds)
#define OBD_RACE(id) CFS_RACE(id)

#endif
