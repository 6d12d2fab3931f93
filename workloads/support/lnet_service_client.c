/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clients of the service. */
#include "lnet_service_wire.h"

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct client {
    const struct wl_service_load *load;
    struct lnet_handle_eq eq;
    atomic64_t xid;
    struct mutex lock; /* of the result */
    struct wl_service_result *result;
    struct delayed_work ping;
    struct timer_list timer;
    atomic_t ticks, running;
    struct completion all_done;
};

/* A request that is under way: descriptors for its reply and its bulk data, and its own. */
struct rpc {
    struct callback request_callback, bulk_callback, reply_callback;
    wait_queue_head_t wait;
    atomic_t open; /* descriptors that are not unlinked */
    bool replied;
    int status;
    struct lnet_handle_md bulk_md, reply_md, request_md;
    struct request request;
    struct reply reply;
};

/* The last access to `rpc` by a callback: who waits may free it. */
static void unlinked(struct rpc *rpc, const struct lnet_event *event)
{
    unsigned long flags;

    spin_lock_irqsave(&rpc->wait.lock, flags);
    if (event->unlinked)
        atomic_dec(&rpc->open);
    wake_up_locked(&rpc->wait);
    spin_unlock_irqrestore(&rpc->wait.lock, flags);
}

static void request_out(struct callback *callback, struct lnet_event *event)
{
    struct rpc *rpc = container_of(callback, struct rpc, request_callback);

    if (event->status != 0)
        rpc->status = event->status;
    unlinked(rpc, event);
}
static void bulk_moved(struct callback *callback, struct lnet_event *event)
{
    struct rpc *rpc = container_of(callback, struct rpc, bulk_callback);

    if (event->type != LNET_EVENT_UNLINK && event->status != 0)
        rpc->status = event->status;
    unlinked(rpc, event);
}
static void reply_in(struct callback *callback, struct lnet_event *event)
{
    struct rpc *rpc = container_of(callback, struct rpc, reply_callback);

    if (event->type == LNET_EVENT_PUT && event->status == 0)
        rpc->replied = true;
    unlinked(rpc, event);
}

static int attach(struct client *client, struct rpc *rpc, struct lnet_process_id peer,
                  unsigned portal, void *data, unsigned bytes, unsigned options,
                  struct callback *callback, struct lnet_handle_md *handle)
{
    struct lnet_md md = {.start = data,
                         .length = bytes,
                         .threshold = 1,
                         .options = options,
                         .user_ptr = callback,
                         .eq_handle = client->eq};
    struct lnet_handle_me me;
    int rc = LNetMEAttach(portal, peer, rpc->request.xid, 0, LNET_UNLINK, LNET_INS_AFTER, &me);

    if (rc != 0)
        return rc;
    atomic_inc(&rpc->open);
    rc = LNetMDAttach(me, md, LNET_UNLINK, handle);
    if (rc != 0) {
        atomic_dec(&rpc->open);
        LNetMEUnlink(me);
    }
    return rc;
}

static int rpc_send(struct client *client, struct rpc *rpc, struct lnet_process_id peer, __u8 *data)
{
    struct lnet_md md = {.start = &rpc->request,
                         .length = sizeof(rpc->request),
                         .threshold = 1,
                         .user_ptr = &rpc->request_callback,
                         .eq_handle = client->eq};
    unsigned options = rpc->request.op == OP_WRITE ? LNET_MD_OP_GET : LNET_MD_OP_PUT;
    int rc = 0;

    if (rpc->request.op != OP_PING)
        rc = attach(client, rpc, peer, BULK_PORTAL, data, rpc->request.bytes, options,
                    &rpc->bulk_callback, &rpc->bulk_md);
    if (rc == 0)
        rc = attach(client, rpc, peer, REPLY_PORTAL, &rpc->reply, sizeof(rpc->reply),
                    LNET_MD_OP_PUT, &rpc->reply_callback, &rpc->reply_md);
    if (rc == 0)
        rc = LNetMDBind(md, LNET_UNLINK, &rpc->request_md);
    if (rc != 0)
        return rc;
    atomic_inc(&rpc->open);
    rc = LNetPut(LNET_NID_ANY, rpc->request_md, LNET_NOACK_REQ, peer, REQUEST_PORTAL,
                 rpc->request.xid, 0, 0);
    if (rc != 0)
        LNetMDUnlink(rpc->request_md);
    return rc;
}

/* One attempt; 0, -ETIMEDOUT, or another negative errno. */
static int rpc_attempt(struct client *client, lnet_nid_t server, unsigned op, __u8 *data)
{
    const struct lnet_process_id peer = {server, LNET_PID_LUSTRE};
    struct rpc rpc = {.request_callback = {request_out},
                      .bulk_callback = {bulk_moved},
                      .reply_callback = {reply_in}};
    unsigned bytes = op == OP_PING ? 0 : client->load->bytes;
    int rc;

    init_waitqueue_head(&rpc.wait);
    LNetInvalidateMDHandle(&rpc.bulk_md);
    LNetInvalidateMDHandle(&rpc.reply_md);
    rpc.request = (struct request){(__u64)atomic64_inc_return(&client->xid), op, bytes};
    if (op == OP_WRITE)
        fill(data, bytes, rpc.request.xid);
    else if (op == OP_READ)
        memset(data, 0, bytes);
    rc = rpc_send(client, &rpc, peer, data);
    if (rc == 0 && wait_event_idle_timeout(rpc.wait, atomic_read(&rpc.open) == 0,
                                           msecs_to_jiffies(client->load->timeout_ms)) == 0)
        rc = -ETIMEDOUT;
    if (rc != 0) { /* unlinking what has no handle any more changes nothing */
        LNetMDUnlink(rpc.bulk_md);
        LNetMDUnlink(rpc.reply_md);
    }
    wait_event(rpc.wait, atomic_read(&rpc.open) == 0);
    spin_lock(&rpc.wait.lock); /* until the last callback has left it */
    spin_unlock(&rpc.wait.lock);
    if (rc == 0 && rpc.status != 0)
        rc = -ETIMEDOUT;
    if (rc != 0 || !rpc.replied)
        return rc != 0 ? rc : -ETIMEDOUT;
    if (rpc.reply.xid != rpc.request.xid ||
        (op == OP_READ && rpc.reply.status == 0 && !is_filled(data, bytes, rpc.request.xid)))
        return -EBADMSG;
    return rpc.reply.status;
}

static void rpc_do(struct client *client, lnet_nid_t server, unsigned op, __u8 *data)
{
    unsigned attempt = 0;
    int rc;

    do {
        rc = rpc_attempt(client, server, op, data);
        mutex_lock(&client->lock);
        client->result->timeouts += rc == -ETIMEDOUT;
        client->result->wrong += rc == -EBADMSG;
        mutex_unlock(&client->lock);
    } while (rc != 0 && rc != -EBADMSG && ++attempt < client->load->attempts);
    mutex_lock(&client->lock);
    client->result->requests += rc == 0 && op != OP_PING;
    client->result->pings += rc == 0 && op == OP_PING;
    client->result->lost += rc != 0;
    mutex_unlock(&client->lock);
}

static int client_main(void *argument)
{
    struct client *client = argument;
    const struct wl_service_load *load = client->load;
    __u64 random = load->seed + (__u64)current->pid * 0x9e3779b97f4a7c15ULL;
    __u8 *data = vmalloc(load->bytes + 1);
    unsigned i;

    for (i = 0; i < load->requests && data != NULL; i++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        rpc_do(client, load->servers[(random >> 33) % load->server_count],
               (random >> 20) % 100 < load->write_percent ? OP_WRITE : OP_READ, data);
        cond_resched();
    }
    vfree(data);
    if (atomic_dec_and_test(&client->running))
        complete(&client->all_done);
    return 0;
}

static void ping(struct work_struct *work)
{
    struct client *client = container_of(to_delayed_work(work), struct client, ping);

    rpc_do(client, client->load->servers[0], OP_PING, NULL);
    schedule_delayed_work(&client->ping, (unsigned long)msecs_to_jiffies(client->load->ping_ms));
}

static void tick(struct timer_list *timer)
{
    struct client *client = from_timer(client, timer, timer);

    atomic_inc(&client->ticks);
    mod_timer(timer, timer->expires + 1);
}

static unsigned client_threads(struct client *client, struct task_struct **tasks)
{
    unsigned count;

    atomic_set(&client->running, (int)client->load->threads);
    for (count = 0; count < client->load->threads; count++) {
        tasks[count] = kthread_create(client_main, client, "client_%u", count);
        if (IS_ERR(tasks[count]))
            break;
        get_task_struct(tasks[count]); /* they end by themselves */
    }
    return count;
}

const char *wl_service_use(const struct wl_service_load *load, struct wl_service_result *result)
{
    struct client client = {.load = load, .result = result};
    struct task_struct **tasks = kcalloc(load->threads, sizeof(struct task_struct *), GFP_KERNEL);
    const char *error = NULL;
    unsigned count, i;

    *result = (struct wl_service_result){0};
    if (tasks == NULL)
        return "no memory";
    if (LNetEQAlloc(0, on_event, &client.eq) != 0) {
        kfree(tasks);
        return "LNetEQAlloc";
    }
    atomic64_set(&client.xid, (s64)(load->seed * (1ULL << 32)));
    mutex_init(&client.lock);
    init_completion(&client.all_done);
    INIT_DELAYED_WORK(&client.ping, ping);
    timer_setup(&client.timer, tick, 0);
    mod_timer(&client.timer, jiffies + 1);
    count = client_threads(&client, tasks);
    if (count == load->threads) {
        if (load->ping_ms > 0)
            schedule_delayed_work(&client.ping, 0);
        for (i = 0; i < count; i++)
            wake_up_process(tasks[i]);
        if (count > 0)
            wait_for_completion(&client.all_done);
    } else {
        error = "a thread did not start";
    }
    for (i = 0; i < count; i++) {
        kthread_stop(tasks[i]);
        put_task_struct(tasks[i]);
    }
    cancel_delayed_work_sync(&client.ping);
    del_timer_sync(&client.timer);
    result->ticks = (unsigned)atomic_read(&client.ticks);
    LNetEQFree(client.eq);
    kfree(tasks);
    return error;
}
