/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Failures that a test asks for. */
#include "kernel.h"

struct libcfs_faults *libcfs_faults(void)
{
    struct libcfs_node *node = libcfs_node();
    struct libcfs_faults *faults = __atomic_load_n(&node->faults, __ATOMIC_ACQUIRE), *made;
    void *none = NULL;

    if (faults != NULL)
        return faults;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        port_panic("libcfs: there is no memory for the failures of a node");
    init_waitqueue_head(&made->race_wait);
    made->loc = node->fail_loc;
    made->val = node->fail_val;
    if (__atomic_compare_exchange_n(&node->faults, &none, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    free(made); /* another thread was faster */
    return none;
}

/* Whether this time counts, of those that cfs_fail_val is about. */
static bool counts(struct libcfs_faults *faults, __u32 value, int set)
{
    unsigned long loc = faults->loc;
    int count;

    if ((loc & CFS_FAIL_RAND) != 0 && (faults->val < 2 || cfs_rand() % faults->val > 0))
        return false;
    if ((loc & CFS_FAIL_SKIP) != 0 &&
        __atomic_add_fetch(&faults->count, 1, __ATOMIC_SEQ_CST) <= (int)faults->val)
        return false;
    if (set == CFS_FAIL_LOC_VALUE && faults->val != (unsigned)-1 && faults->val != value)
        return false;
    if ((loc & CFS_FAIL_SOME) == 0 || ((loc & CFS_FAIL_ONCE) != 0 && faults->val > 1))
        return true;
    count = __atomic_add_fetch(&faults->count, 1, __ATOMIC_SEQ_CST);
    if (count < (int)faults->val)
        return true;
    set_bit(CFS_FAIL_ONCE_BIT, &faults->loc); /* this is the last time */
    __atomic_store_n(&faults->count, 0, __ATOMIC_SEQ_CST);
    return count <= (int)faults->val;
}

int libcfs_fail_check_set(__u32 id, __u32 value, int set)
{
    const unsigned long over = CFS_FAILED | CFS_FAIL_ONCE;
    struct libcfs_faults *faults = libcfs_faults();

    LASSERT((id & CFS_FAIL_ONCE) == 0);
    LASSERTF(set >= CFS_FAIL_LOC_NOSET && set <= CFS_FAIL_LOC_VALUE, "called with bad set %d\n",
             set);
    if ((faults->loc & over) == over) {
        __atomic_store_n(&faults->count, 0, __ATOMIC_SEQ_CST);
        return 0;
    }
    if (!counts(faults, value, set))
        return 0;
    if (set == CFS_FAIL_LOC_ORSET && (value & CFS_FAIL_ONCE) != 0)
        set_bit(CFS_FAIL_ONCE_BIT, &faults->loc);
    if (test_and_set_bit(CFS_FAILED_BIT, &faults->loc) && (faults->loc & CFS_FAIL_ONCE) != 0)
        return 0; /* another thread has failed */
    if (set == CFS_FAIL_LOC_ORSET)
        __atomic_fetch_or(&faults->loc, value & ~over, __ATOMIC_SEQ_CST);
    if (set == CFS_FAIL_LOC_RESET) {
        faults->loc = value;
        __atomic_store_n(&faults->count, 0, __ATOMIC_SEQ_CST);
    }
    return 1;
}

int libcfs_fail_timeout_set(__u32 id, __u32 value, int ms, int set)
{
    uint64_t until = port_now() + (uint64_t)(ms > 0 ? ms : 0) * NSEC_PER_MSEC;
    int ret = libcfs_fail_check_set(id, value, set);

    if (ret == 0 || ms <= 0)
        return ret;
    CERROR("cfs_fail_timeout id %x sleeping for %dms\n", id, ms);
    while (port_now() < until) {
        uint64_t left = until - port_now(), step = 100 * NSEC_PER_MSEC;

        libcfs_sleep(left < step ? left : step);
        if (libcfs_faults()->loc == 0) {
            CERROR("cfs_fail_timeout interrupted\n");
            break;
        }
    }
    CERROR("cfs_fail_timeout id %x awake\n", id);
    return ret;
}

void libcfs_fail_race(__u32 id)
{
    struct libcfs_faults *faults = libcfs_faults();

    if (libcfs_fail_check_set(id, 0, CFS_FAIL_LOC_NOSET) != 0) {
        faults->race_state = 0;
        CERROR("cfs_race id %x sleeping\n", id);
        wait_event(faults->race_wait, READ_ONCE(faults->race_state) != 0);
        CERROR("cfs_fail_race id %x awake: rc=0\n", id);
    } else {
        CERROR("cfs_fail_race id %x waking\n", id);
        WRITE_ONCE(faults->race_state, 1);
        wake_up(&faults->race_wait);
    }
}
