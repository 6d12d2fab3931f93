/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Code as kernel consumers of LNet are written: requests to lazy portals of a service, bulk data in
 * pages, replies to an entry with the request's number, a callback that finds its object by
 * user_ptr, waits for the unlink event, and the control calls. It uses the include lines, macros
 * and helpers of the kernel and of libcfs.
 */
#include "world.h"

#include <libcfs/libcfs.h>
#include <lnet/api.h>
#include <lnet/lib-lnet.h>
#include <lnet/lib-types.h>
#include <lnet/nidstr.h>
#include <uapi/linux/lnet/libcfs_ioctl.h>
#include <uapi/linux/lnet/lnet-types.h>
#include <uapi/linux/lnet/lnetctl.h>
#include <uapi/linux/lnet/nidstr.h>
#include <uapi/linux/lustre/lustre_idl.h>
#include <uapi/linux/lustre/lustre_ver.h>

MODULE_LICENSE("GPL");
CLASSERT(sizeof(lnet_kiov_t) == 16);

enum { REQUEST_PORTAL = 26, REPLY_PORTAL = 25, BULK_PORTAL = 8, PAGES = 4, REQUEST = 256 };
#define XID 0x5a5a0001ULL

/* What user_ptr of each descriptor refers to. */
struct cb_id {
    void (*cbid_fn)(struct lnet_event *ev);
    void *cbid_arg;
};
struct rpc {
    struct list_head link;
    spinlock_t lock;
    atomic_t events;
    struct cb_id bulk_id, request_id, reply_id;
    struct lnet_handle_md bulk_md, request_md, reply_md;
    lnet_kiov_t kiov[PAGES];
    unsigned bulk_unlinked, reply_unlinked, request_unlinked, acked;
    int bulk_status, reply_status;
    unsigned bulk_bytes;
    char request[REQUEST], reply[REQUEST];
};
static LIST_HEAD(arrived);
static struct lnet_handle_eq eq[2];
static unsigned requests_in;
static struct lnet_event last_request;

static void master_callback(struct lnet_event *ev)
{
    struct cb_id *id = ev->md.user_ptr;

    LASSERT(id->cbid_fn != NULL);
    LASSERTF(ev->type >= LNET_EVENT_GET && ev->type <= LNET_EVENT_UNLINK, "type %d\n", ev->type);
    CDEBUG(D_NET, "event %d from %s\n", ev->type, libcfs_id2str(ev->initiator));
    id->cbid_fn(ev);
}

static void request_out(struct lnet_event *ev)
{
    struct rpc *rpc = ((struct cb_id *)ev->md.user_ptr)->cbid_arg;

    atomic_inc(&rpc->events);
    if (ev->type == LNET_EVENT_ACK)
        rpc->acked++;
    rpc->request_unlinked += (unsigned)ev->unlinked;
}
static void bulk_in(struct lnet_event *ev)
{
    struct rpc *rpc = ((struct cb_id *)ev->md.user_ptr)->cbid_arg;
    unsigned long flags;

    spin_lock_irqsave(&rpc->lock, flags);
    if (ev->type == LNET_EVENT_UNLINK)
        rpc->bulk_status = -ECANCELED;
    else {
        rpc->bulk_status = ev->status;
        rpc->bulk_bytes += ev->mlength;
    }
    rpc->bulk_unlinked += (unsigned)ev->unlinked;
    spin_unlock_irqrestore(&rpc->lock, flags);
}
static void reply_in(struct lnet_event *ev)
{
    struct rpc *rpc = ((struct cb_id *)ev->md.user_ptr)->cbid_arg;

    rpc->reply_status = ev->type == LNET_EVENT_UNLINK ? -ECANCELED : ev->status;
    rpc->reply_unlinked += (unsigned)ev->unlinked;
}
static void request_in(struct lnet_event *ev)
{
    if (ev->type == LNET_EVENT_UNLINK)
        return;
    LASSERT(ev->pt_index == REQUEST_PORTAL && ev->status == 0);
    last_request = *ev;
    requests_in++;
}

static void begin(unsigned node)
{
    on(node);
    LNetInvalidateEQHandle(&eq[node]);
    assert_true(LNetEQHandleIsInvalid(eq[node]));
    assert_int_equal(LNetEQAlloc(0, master_callback, &eq[node]), 0);
}

static struct rpc *rpc_alloc(void)
{
    struct rpc *rpc;
    int i;

    LIBCFS_ALLOC(rpc, sizeof(*rpc));
    assert_non_null(rpc);
    spin_lock_init(&rpc->lock);
    rpc->bulk_id = (struct cb_id){bulk_in, rpc};
    rpc->request_id = (struct cb_id){request_out, rpc};
    rpc->reply_id = (struct cb_id){reply_in, rpc};
    for (i = 0; i < PAGES; i++) {
        rpc->kiov[i].kiov_page = alloc_page(GFP_NOFS);
        rpc->kiov[i].kiov_len = PAGE_SIZE;
        memset(kmap(rpc->kiov[i].kiov_page), 0, PAGE_SIZE);
        kunmap(rpc->kiov[i].kiov_page);
    }
    rpc->kiov[0].kiov_offset = 512;
    rpc->kiov[0].kiov_len = PAGE_SIZE - 512;
    list_add_tail(&rpc->link, &arrived);
    return rpc;
}
static void rpc_free(struct rpc *rpc)
{
    int i;

    list_del(&rpc->link);
    for (i = 0; i < PAGES; i++)
        __free_page(rpc->kiov[i].kiov_page);
    LIBCFS_FREE(rpc, sizeof(*rpc));
}

/* Bulk and reply buffers first, then the request: it asks for an ACK. */
static void rpc_send(struct rpc *rpc, unsigned server, unsigned options)
{
    struct lnet_process_id peer = id_of(tcp(server));
    struct lnet_md md = {.start = rpc->kiov,
                         .length = PAGES,
                         .threshold = 1,
                         .options = LNET_MD_KIOV | options,
                         .user_ptr = &rpc->bulk_id,
                         .eq_handle = eq[A]};
    struct lnet_handle_me me;

    assert_int_equal(LNetMEAttach(BULK_PORTAL, peer, XID, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    assert_int_equal(LNetMDAttach(me, md, LNET_UNLINK, &rpc->bulk_md), 0);

    md = (struct lnet_md){.start = rpc->reply,
                          .length = REQUEST,
                          .threshold = LNET_MD_THRESH_INF,
                          .options = LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE | LNET_MD_TRUNCATE,
                          .user_ptr = &rpc->reply_id,
                          .eq_handle = eq[A]};
    assert_int_equal(LNetMEAttach(REPLY_PORTAL, peer, XID, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
    assert_int_equal(LNetMDAttach(me, md, LNET_UNLINK, &rpc->reply_md), 0);

    md = (struct lnet_md){.start = rpc->request,
                          .length = REQUEST,
                          .threshold = 2,
                          .user_ptr = &rpc->request_id,
                          .eq_handle = eq[A]};
    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &rpc->request_md), 0);
    assert_int_equal(
        LNetPut(LNET_NID_ANY, rpc->request_md, LNET_ACK_REQ, peer, REQUEST_PORTAL, XID, 0, 0), 0);
}

static struct cb_id server_id = {request_in, NULL};
static struct rpc *served;
static void service_buffer(char *memory, unsigned bytes)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = memory,
                         .length = bytes,
                         .threshold = LNET_MD_THRESH_INF,
                         .max_size = REQUEST,
                         .options = LNET_MD_OP_PUT | LNET_MD_MAX_SIZE,
                         .user_ptr = &server_id,
                         .eq_handle = eq[B]};
    struct lnet_handle_me me;
    struct lnet_handle_md mdh;

    assert_int_equal(LNetMEAttach(REQUEST_PORTAL, any, 0, ~0ULL, LNET_UNLINK, LNET_INS_LOCAL, &me),
                     0);
    assert_int_equal(LNetMDAttach(me, md, LNET_UNLINK, &mdh), 0);
}

/* The server writes the bulk pages (or reads them), and then answers. */
static void serve(bool write, const void *bulk, unsigned bytes, struct rpc *own)
{
    struct lnet_process_id peer = last_request.initiator;
    struct lnet_md md = {.start = (void *)(uintptr_t)bulk,
                         .length = bytes,
                         .threshold = 2,
                         .user_ptr = &own->bulk_id,
                         .eq_handle = eq[B]};

    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &own->bulk_md), 0);
    if (write)
        assert_int_equal(LNetPut(last_request.target.nid, own->bulk_md, LNET_ACK_REQ, peer,
                                 BULK_PORTAL, last_request.match_bits, 0, 0),
                         0);
    else
        assert_int_equal(LNetGet(last_request.target.nid, own->bulk_md, peer, BULK_PORTAL,
                                 last_request.match_bits, 0, false),
                         0);
    md.start = own->reply;
    md.length = REQUEST;
    md.threshold = 1;
    md.user_ptr = &own->reply_id;
    assert_int_equal(LNetMDBind(md, LNET_UNLINK, &own->reply_md), 0);
    assert_int_equal(LNetPut(last_request.target.nid, own->reply_md, LNET_NOACK_REQ, peer,
                             REPLY_PORTAL, last_request.match_bits, 0, 0),
                     0);
}

static void setup(void)
{
    requests_in = 0;
    begin(B);
    assert_int_equal(LNetSetLazyPortal(REQUEST_PORTAL), 0);
    served = rpc_alloc();
    begin(A);
}
static void teardown(void)
{
    struct rpc *rpc, *next;

    list_for_each_entry_safe (rpc, next, &arrived, link)
        rpc_free(rpc);
    assert_true(list_empty(&arrived));
}

TEST(lnet_99_a_service_with_bulk_in_pages)
{
    static char buffers[8 * REQUEST], bulk[3 * PAGE_SIZE];
    struct rpc *rpc;
    char *page;

    setup();
    rpc = rpc_alloc();
    rpc_send(rpc, B, LNET_MD_OP_PUT);
    pass(SIM_MS);
    assert_int_equal(requests_in, 0); /* it waits at the lazy portal: there is no buffer */
    assert_int_equal(rpc->acked, 0);
    on(B);
    service_buffer(buffers, sizeof(buffers));
    pass(SIM_MS);
    assert_int_equal(requests_in, 1);
    assert_int_equal(last_request.mlength, REQUEST);
    assert_int_equal(rpc->acked, 1);
    assert_int_equal(rpc->request_unlinked, 1);
    assert_int_equal(atomic_read(&rpc->events), 2); /* SEND and ACK */

    memset(bulk, 'b', sizeof(bulk));
    serve(true, bulk, sizeof(bulk), served);
    pass(SIM_MS);
    assert_int_equal(rpc->bulk_status, 0);
    assert_int_equal(rpc->bulk_bytes, sizeof(bulk));
    assert_int_equal(rpc->bulk_unlinked, 1);
    assert_int_equal(rpc->reply_status, 0);
    assert_int_equal(rpc->reply_unlinked, 0); /* its threshold is infinite */
    assert_int_equal(served->bulk_unlinked, 1); /* SEND and ACK of the bulk */
    page = kmap(rpc->kiov[0].kiov_page);
    assert_int_equal(page[511], 0);
    assert_int_equal(page[512], 'b');
    page = kmap(rpc->kiov[3].kiov_page);
    assert_int_equal(page[511], 'b');
    assert_int_equal(page[512], 0);

    on(A);
    assert_int_equal(LNetMDUnlink(rpc->reply_md), 0); /* idle: the event comes from within */
    assert_int_equal(rpc->reply_unlinked, 1);
    assert_int_equal(rpc->reply_status, -ECANCELED);
    assert_int_equal(LNetMDUnlink(rpc->reply_md), -ENOENT);
    assert_int_equal(LNetMDUnlink(rpc->bulk_md), -ENOENT);
    on(B);
    assert_int_equal(LNetClearLazyPortal(REQUEST_PORTAL), 0);
    teardown();
}

TEST(lnet_99_bulk_that_is_unlinked_while_it_is_read)
{
    static char buffers[8 * REQUEST], bulk[PAGES * PAGE_SIZE];
    struct rpc *rpc;

    setup();
    on(B);
    service_buffer(buffers, sizeof(buffers));
    on(A);
    rpc = rpc_alloc();
    memset(kmap(rpc->kiov[1].kiov_page), 'c', PAGE_SIZE);
    rpc_send(rpc, B, LNET_MD_OP_GET);
    pass(SIM_MS);
    assert_int_equal(requests_in, 1);

    /* The server's GET has arrived and its REPLY is in the driver: the exhausted descriptor has no
     * handle any more, and its only event comes with the end of that message. */
    wire.hold = true;
    on(B);
    serve(false, bulk, PAGES * PAGE_SIZE - 512, served);
    wire_release(1);
    pass(SIM_MS);
    on(A);
    assert_int_equal(rpc->bulk_unlinked, 0);
    assert_int_equal(LNetMDUnlink(rpc->bulk_md), -ENOENT);
    wire.hold = false;
    wire_release(wire.held);
    pass(SIM_MS);
    assert_int_equal(rpc->bulk_unlinked, 1);
    assert_int_equal(rpc->bulk_status, 0);
    assert_int_equal(served->bulk_unlinked, 1);
    assert_int_equal(served->bulk_status, 0);
    assert_int_equal(bulk[PAGE_SIZE - 512], 'c');

    /* After the timeout of a request that nobody served: unlink, then the late answer finds
     * nothing, and its sender does not learn of it. */
    on(A);
    assert_int_equal(LNetMDUnlink(rpc->reply_md), 0);
    on(B);
    serve(true, bulk, REQUEST, served);
    pass(SIM_MS);
    assert_int_equal(rpc->bulk_unlinked, 1);
    LNetMDUnlink(served->bulk_md); /* the ACK will not come */
    pass(SIM_MS);
    assert_int_equal(served->bulk_unlinked, 2);
    teardown();
}

TEST(lnet_99_control_calls_and_distances)
{
    struct libcfs_ioctl_data data = {.ioc_count = 0};
    struct lnet_process_id id;
    lnet_nid_t source;
    __u32 order;

    on(A);
    LIBCFS_IOC_INIT(data);
    assert_int_equal(LNetCtl(IOC_LIBCFS_GET_NI, &data), 0);
    assert_int_equal(LNetGetId(0, &id), 0);
    assert_true(data.ioc_nid == id.nid || data.ioc_nid == LNET_NID_LO_0);
    assert_int_equal(LNetDist(tcp(B), &source, &order), 1);
    assert_int_equal(source, tcp(A));
    assert_int_equal(LNetDist(tcp(A), &source, &order), 0);
    assert_int_equal(LNetDist(libcfs_str2nid("1.2.3.4@o2ib77"), &source, &order), -EHOSTUNREACH);
    assert_int_equal(be32_to_cpu(0x01020304), 0x04030201);
    assert_int_equal(min_t(int, 3, 4) + max_t(int, 3, 4), 7);
}

/* The begin and the end of functions, errors in pointers, a walk backwards, a warning. */
static int traced(int value, int *left)
{
    int rc = 0;
    ENTRY;

    if (value < 0)
        GOTO(out, rc = -EINVAL);
    if (value == 0)
        RETURN(0);
    rc = value;
out:
    (*left)++;
    RETURN(rc);
}
static void traced_void(int *left)
{
    ENTRY;
    (*left)++;
    EXIT;
}

static void lnet_99_helpers_of_kernel_code(void **state)
{
    struct number {
        struct list_head link;
        int value;
    } numbers[3], *number;
    LIST_HEAD(list);
    int i, left = 0, digits = 0;

    (void)state;
    assert_int_equal(traced(-1, &left), -EINVAL);
    assert_int_equal(traced(0, &left), 0);
    assert_int_equal(traced(7, &left), 7);
    traced_void(&left);
    assert_int_equal(left, 3);
    assert_true(IS_ERR(ERR_PTR(-ENOMEM)) && PTR_ERR(ERR_PTR(-ENOMEM)) == -ENOMEM);
    assert_false(IS_ERR(&list) || IS_ERR(NULL) || !IS_ERR_OR_NULL(NULL));
    for (i = 0; i < 3; i++) {
        numbers[i].value = i + 1;
        list_add_tail(&numbers[i].link, &list);
    }
    list_for_each_entry_reverse(number, &list, link) digits = digits * 10 + number->value;
    assert_int_equal(digits, 321);
    BUG_ON(list_empty(&list));
    assert_false(WARN_ON(list_empty(&list)));
}

/* A module of the program has its parameters from those of the node (libcfs/kernel/module.h). */
TEST_IN(lnet_99_settings_of_modules, .nodes = 2,
        .own = {[A] = {{"selftest.timeout", "5"}, {"selftest.timeout", "7"}, {"timeout", "9"}}})
{
    on(A);
    assert_string_equal(libcfs_module_setting("selftest", "timeout"), "7"); /* the last one */
    assert_null(libcfs_module_setting("other", "timeout"));
    on(B);
    assert_null(libcfs_module_setting("selftest", "timeout"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_99_a_service_with_bulk_in_pages),
        cmocka_unit_test(lnet_99_bulk_that_is_unlinked_while_it_is_read),
        cmocka_unit_test(lnet_99_control_calls_and_distances),
        cmocka_unit_test(lnet_99_helpers_of_kernel_code),
        cmocka_unit_test(lnet_99_settings_of_modules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
