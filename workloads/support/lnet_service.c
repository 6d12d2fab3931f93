/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lnet_service_wire.h"

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

enum { RINGS = 4, RING_REQUESTS = 16 };

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
