// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The functions of LNet from C++: it compiles with all warnings, and finds them in liblnet.
#include <lnet/api.h>
#include <lnet/live.h>
#include <lnet/nidstr.h>

static void event(struct lnet_event *ev)
{
    (void)ev;
}

int main()
{
    struct lnet_process_id id = {libcfs_str2nid("10.0.0.1@tcp"), LNET_PID_LUSTRE};
    struct lnet_handle_eq eq;
    spinlock_t lock;

    spin_lock_init(&lock);
    spin_lock(&lock);
    spin_unlock(&lock);
    if (id.nid == LNET_NID_ANY || LNET_NIDADDR(id.nid) != 0x0a000001)
        return 1;
    return LNetNIInit(LNET_PID_ANY) < 0 ? 0 : LNetEQAlloc(0, event, &eq);
}
