/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lnet_service.h"

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

enum { REQUEST_PORTAL = 26, REPLY_PORTAL = 25, BULK_PORTAL = 8 };
enum { OP_PING, OP_READ, OP_WRITE };
enum { RINGS = 4, RING_REQUESTS = 16 };

struct request {
    __u64 xid;
    __u32 op, bytes;
};
struct reply {
    __u64 xid;
    __s32 status;
    __u32 unused;
};

/* What user_ptr of each descriptor refers to. */
struct callback {
    void (*fn)(struct callback *callback, struct lnet_event *event);
};

static void on_event(struct lnet_event *event)
{
    struct callback *callback = event->md.user_ptr;

    callback->fn(callback, event);
}

static void fill(__u8 *data, unsigned bytes, __u64 xid)
{
    unsigned i;

    for (i = 0; i < bytes; i++)
        data[i] = (__u8)(xid * 31 + i * 7 + (i >> 8));
}

static bool is_filled(const __u8 *data, unsigned bytes, __u64 xid)
{
    unsigned i;

    for (i = 0; i < bytes; i++)
        if (data[i] != (__u8)(xid * 31 + i * 7 + (i >> 8)))
            return false;
    return true;
}

/* ---- one operation of a thread that waits for its end ---------------------------------------- */

struct operation {
    struct callback callback;
    struct completion done; /* the descriptor is unlinked */
    int status;
};

static void operation_event(struct callback *callback, struct lnet_event *event)
{
    struct operation *operation = container_of(callback, struct operation, callback);

    if (event->status != 0 && operation->status == 0)
        operation->status = event->status;
    if (event->unlinked)
        complete(&operation->done);
}

/* A PUT with an acknowledgement, a PUT without, or a GET; 0 or a negative errno. */
enum kind { PUT_ACK, PUT, GET };
static int transfer(struct lnet_handle_eq eq, enum kind kind, void *data, unsigned bytes,
                    struct lnet_process_id peer, unsigned portal, __u64 bits)
{
    struct operation operation = {.callback = {operation_event}};
    struct lnet_md md = {.start = data,
                         .length = bytes,
                         .threshold = kind == PUT ? 1 : 2,
                         .user_ptr = &operation.callback,
                         .eq_handle = eq};
    struct lnet_handle_md handle;
    int rc;

    init_completion(&operation.done);
    rc = LNetMDBind(md, LNET_UNLINK, &handle);
    if (rc != 0)
        return rc;
    if (kind == GET)
        rc = LNetGet(LNET_NID_ANY, handle, peer, portal, bits, 0, false);
    else
        rc = LNetPut(LNET_NID_ANY, handle, kind == PUT_ACK ? LNET_ACK_REQ : LNET_NOACK_REQ, peer,
                     portal, bits, 0, 0);
    if (rc != 0 || wait_for_completion_timeout(&operation.done, cfs_time_seconds(5)) == 0) {
        LNetMDUnlink(handle);
        wait_for_completion(&operation.done);
        return rc != 0 ? rc : -ETIMEDOUT;
    }
    return operation.status;
}

/* ---- the service ----------------------------------------------------------------------------- */

struct ring;
struct incoming {
    struct list_head link; /* in the queue of the service */
    struct ring *ring;
    struct lnet_process_id peer;
};

/* A buffer for requests. References: the descriptor, and each request that is being handled. */
struct ring {
    struct callback callback;
    struct wl_service *service;
    struct kref refs;
    struct work_struct repost; /* when the last reference has gone */
    struct lnet_handle_md md;
    bool posted;
    struct request requests[RING_REQUESTS];
    struct incoming incoming[RING_REQUESTS];
};

struct wl_service {
    struct lnet_handle_eq eq;
    spinlock_t lock; /* of the queue */
    struct list_head queue;
    wait_queue_head_t wait; /* of the threads; for requests */
    wait_queue_head_t progress; /* for `handled` */
    struct mutex ring_lock; /* no ring is posted while the service stops */
    bool stopping;
    struct workqueue_struct *works;
    atomic_t handled, wrong, posted;
    struct ring rings[RINGS];
    unsigned thread_count;
    struct task_struct *threads[64];
};

static void ring_free(struct kref *refs)
{
    struct ring *ring = container_of(refs, struct ring, refs);

    queue_work(ring->service->works, &ring->repost);
}

static void request_in(struct callback *callback, struct lnet_event *event)
{
    struct ring *ring = container_of(callback, struct ring, callback);
    struct wl_service *service = ring->service;

    if (event->type == LNET_EVENT_PUT && event->status == 0 &&
        event->mlength == sizeof(struct request)) {
        struct incoming *incoming = &ring->incoming[event->offset / sizeof(struct request)];

        incoming->peer = event->initiator;
        kref_get(&ring->refs);
        spin_lock(&service->lock);
        list_add_tail(&incoming->link, &service->queue);
        spin_unlock(&service->lock);
        wake_up(&service->wait);
    }
    if (event->unlinked) {
        atomic_dec(&service->posted);
        wake_up_all(&service->progress);
        kref_put(&ring->refs, ring_free);
    }
}

static int ring_post(struct ring *ring)
{
    struct wl_service *service = ring->service;
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = ring->requests,
                         .length = sizeof(ring->requests),
                         .threshold = LNET_MD_THRESH_INF,
                         .max_size = sizeof(struct request),
                         .options = LNET_MD_OP_PUT | LNET_MD_MAX_SIZE,
                         .user_ptr = &ring->callback,
                         .eq_handle = service->eq};
    struct lnet_handle_me me;
    int rc;

    kref_init(&ring->refs);
    rc = LNetMEAttach(REQUEST_PORTAL, any, 0, ~0ULL, LNET_UNLINK, LNET_INS_AFTER, &me);
    if (rc != 0)
        return rc;
    atomic_inc(&service->posted);
    rc = LNetMDAttach(me, md, LNET_UNLINK, &ring->md);
    if (rc != 0) {
        atomic_dec(&service->posted);
        LNetMEUnlink(me);
    }
    return rc;
}

static void ring_repost(struct work_struct *work)
{
    struct ring *ring = container_of(work, struct ring, repost);
    struct wl_service *service = ring->service;

    mutex_lock(&service->ring_lock);
    ring->posted = !service->stopping && ring_post(ring) == 0;
    if (!ring->posted && !service->stopping)
        atomic_inc(&service->wrong);
    mutex_unlock(&service->ring_lock);
}

static struct incoming *take(struct wl_service *service)
{
    struct incoming *incoming;

    spin_lock(&service->lock);
    incoming = list_first_entry_or_null(&service->queue, struct incoming, link);
    if (incoming != NULL)
        list_del_init(&incoming->link);
    spin_unlock(&service->lock);
    return incoming;
}

static void handle(struct wl_service *service, struct incoming *incoming, __u8 *data)
{
    struct ring *ring = incoming->ring;
    const struct request request = ring->requests[incoming - ring->incoming];
    struct lnet_process_id peer = incoming->peer;
    struct reply reply = {.xid = request.xid};

    kref_put(&ring->refs, ring_free);
    if (request.bytes > WL_SERVICE_BYTES_MAX) {
        reply.status = -EINVAL;
    } else if (request.op == OP_WRITE) {
        reply.status =
            transfer(service->eq, GET, data, request.bytes, peer, BULK_PORTAL, reply.xid);
        if (reply.status == 0 && !is_filled(data, request.bytes, reply.xid))
            reply.status = -EBADMSG;
    } else if (request.op == OP_READ) {
        fill(data, request.bytes, reply.xid);
        reply.status =
            transfer(service->eq, PUT_ACK, data, request.bytes, peer, BULK_PORTAL, reply.xid);
    }
    if (reply.status == -EBADMSG)
        atomic_inc(&service->wrong);
    /* A client that does not wait any more does not get it. */
    (void)transfer(service->eq, PUT, &reply, sizeof(reply), peer, REPLY_PORTAL, reply.xid);
    if (request.op != OP_PING)
        atomic_inc(&service->handled);
    wake_up_all(&service->progress);
}

static int service_main(void *argument)
{
    struct wl_service *service = argument;
    __u8 *data = vmalloc(WL_SERVICE_BYTES_MAX);
    struct incoming *incoming = NULL;

    while (data != NULL) {
        wait_event_idle_exclusive(service->wait,
                                  (incoming = take(service)) != NULL || kthread_should_stop());
        if (incoming == NULL)
            break;
        handle(service, incoming, data);
    }
    vfree(data);
    return 0;
}

static int service_open(struct wl_service *service, unsigned threads)
{
    unsigned i, k;
    int rc = LNetEQAlloc(0, on_event, &service->eq);

    if (rc == 0)
        rc = LNetSetLazyPortal(REQUEST_PORTAL);
    for (i = 0; i < RINGS && rc == 0; i++) {
        struct ring *ring = &service->rings[i];

        ring->callback.fn = request_in;
        ring->service = service;
        INIT_WORK(&ring->repost, ring_repost);
        for (k = 0; k < RING_REQUESTS; k++)
            ring->incoming[k].ring = ring;
        rc = ring_post(ring);
        ring->posted = rc == 0;
    }
    for (i = 0; i < threads && rc == 0; i++) {
        service->threads[i] = kthread_run(service_main, service, "service_%u", i);
        if (IS_ERR(service->threads[i]))
            rc = (int)PTR_ERR(service->threads[i]);
        else
            service->thread_count++;
    }
    return rc;
}

struct wl_service *wl_service_start(unsigned threads, const char **error)
{
    struct wl_service *service = kzalloc(sizeof(*service), GFP_KERNEL);
    int rc;

    *error = "no memory";
    if (service == NULL)
        return NULL;
    spin_lock_init(&service->lock);
    INIT_LIST_HEAD(&service->queue);
    init_waitqueue_head(&service->wait);
    init_waitqueue_head(&service->progress);
    mutex_init(&service->ring_lock);
    service->works = alloc_ordered_workqueue("repost", WQ_MEM_RECLAIM);
    threads = min_t(unsigned, threads, ARRAY_SIZE(service->threads));
    rc = service->works != NULL ? service_open(service, threads) : -ENOMEM;
    if (rc == 0)
        return service;
    *error = "the service did not start";
    wl_service_stop(service);
    return NULL;
}

unsigned wl_service_handled(const struct wl_service *service)
{
    return (unsigned)atomic_read(&service->handled);
}

bool wl_service_wait(struct wl_service *service, unsigned requests, long timeout)
{
    return wait_event_timeout(service->progress, wl_service_handled(service) >= requests, timeout) >
               0 &&
           atomic_read(&service->wrong) == 0;
}

void wl_service_stop(struct wl_service *service)
{
    unsigned i;

    mutex_lock(&service->ring_lock);
    service->stopping = true;
    mutex_unlock(&service->ring_lock);
    for (i = 0; i < service->thread_count; i++)
        kthread_stop(service->threads[i]);
    for (i = 0; i < RINGS; i++)
        if (service->rings[i].posted)
            LNetMDUnlink(service->rings[i].md);
    wait_event(service->progress, atomic_read(&service->posted) == 0);
    destroy_workqueue(service->works);
    LNetClearLazyPortal(REQUEST_PORTAL);
    LNetEQFree(service->eq);
    kfree(service);
}

/* ---- clients --------------------------------------------------------------------------------- */

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
    atomic64_set(&client.xid, (s64)(load->seed << 32));
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
