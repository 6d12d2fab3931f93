/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A thread of kernel code waits for messages, which a callback of LNet announces. */
#include <libcfs/libcfs.h>
#include <linux/kthread.h>
#include <linux/wait.h>
#include <lnet/api.h>

#define PORTAL 40
#define BITS 7

static DECLARE_WAIT_QUEUE_HEAD(arrival);
static DECLARE_COMPLETION(all_seen);
static atomic_t messages = ATOMIC_INIT(0);

static void on_event(struct lnet_event *event)
{
    if (event->type != LNET_EVENT_PUT)
        return;
    atomic_inc(&messages);
    wake_up(&arrival);
}

static int receiver(void *data)
{
    int seen;

    for (seen = 1; seen <= 3 && !kthread_should_stop(); seen++) {
        wait_event(arrival, atomic_read(&messages) >= seen || kthread_should_stop());
        pr_info("message %d has arrived\n", seen);
    }
    complete(&all_seen);
    while (!kthread_should_stop())
        schedule_timeout_interruptible(HZ);
    return 0;
}

int main(void)
{
    static char in[4096], out[] = "hello";
    struct lnet_process_id self, any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = in, .length = sizeof(in), .threshold = LNET_MD_THRESH_INF};
    struct lnet_handle_me me;
    struct lnet_handle_md handle, sent;
    struct task_struct *task;
    int i;

    if (LNetNIInit(LNET_PID_LUSTRE) < 0 || LNetGetId(1, &self) != 0)
        return 1;
    md.options = LNET_MD_OP_PUT;
    LNetEQAlloc(0, on_event, &md.eq_handle);
    LNetMEAttach(PORTAL, any, BITS, 0, LNET_RETAIN, LNET_INS_AFTER, &me);
    LNetMDAttach(me, md, LNET_RETAIN, &handle);
    task = kthread_run(receiver, NULL, "receiver");

    md = (struct lnet_md){.start = out, .length = sizeof(out), .threshold = 3};
    LNetInvalidateEQHandle(&md.eq_handle);
    LNetMDBind(md, LNET_UNLINK, &sent);
    for (i = 0; i < 3; i++)
        LNetPut(LNET_NID_ANY, sent, LNET_NOACK_REQ, self, PORTAL, BITS, 0, 0);
    i = wait_for_completion_timeout(&all_seen, cfs_time_seconds(10)) > 0 ? 0 : 1;
    kthread_stop(task);
    LNetMEUnlink(me);
    LNetNIFini();
    return i;
}
