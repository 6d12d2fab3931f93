/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion channels: checklist item 125 and what LDMS relies on. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define QUEUES 3

struct watched {
    struct rank *rank;
    struct domain domain;
    gni_cq_handle_t cq[QUEUES]; /* BLOCKING, each behind a region of its own */
    gni_mem_handle_t region[QUEUES];
    gni_comp_chan_handle_t channel;
    gni_ep_handle_t self;
    int fd;
};

static uint64_t memory[QUEUES][512] __attribute__((aligned(4096)));

static void open_side(struct rank *rank, struct watched *side)
{
    unsigned i;

    side->rank = rank;
    domain_open(rank, &side->domain, 0);
    for (i = 0; i < QUEUES; i++) {
        assert_ok(GNI_CqCreate(side->domain.nic, 64, 0, GNI_CQ_BLOCKING, NULL, NULL, &side->cq[i]));
        side->region[i] =
            domain_register(&side->domain, memory[i], sizeof memory[i], side->cq[i], 0);
    }
    assert_ok(GNI_CompChanCreate(side->domain.nic, &side->channel));
    for (i = 0; i < QUEUES; i++)
        assert_ok(GNI_CqAttachCompChan(side->cq[i], side->channel));
    assert_ok(GNI_CompChanFd(side->channel, &side->fd));
    assert_true(side->fd >= 0);
    side->self = domain_connect(rank, &side->domain, rank->id);
}

static bool readable(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};

    return poll(&poller, 1, 0) == 1;
}

/* One entry in a queue, now. */
static void ring(struct watched *side, unsigned queue)
{
    gni_post_descriptor_t descr = {.type = GNI_POST_CQWRITE,
                                   .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
                                   .cqwrite_value = queue,
                                   .remote_mem_hndl = side->region[queue]};

    assert_ok(post(side->self, &descr));
    complete(side->domain.source, &descr);
}

static void set_nonblocking(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);

    assert_int_equal(fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK), 0);
}

static void drain(gni_cq_handle_t cq, unsigned expected)
{
    gni_cq_entry_t event;
    unsigned count = 0;

    while (GNI_CqGetEvent(cq, &event) == GNI_RC_SUCCESS)
        count++;
    assert_int_equal(count, expected);
}

/* ---- arming ---------------------------------------------------------------------------------- */

static void once_main(struct rank *rank)
{
    gni_cq_handle_t cq;
    struct watched side;

    open_side(rank, &side);
    set_nonblocking(side.fd, true);
    assert_false(readable(side.fd));
    assert_rc(GNI_CompChanGetEvent(side.channel, &cq), GNI_RC_NOT_DONE);
    ring(&side, 0); /* not armed: silent */
    assert_false(readable(side.fd));
    drain(side.cq[0], 1);
    assert_ok(GNI_CqArmCompChan(side.cq, 1));
    assert_false(readable(side.fd));
    assert_rc(GNI_CompChanGetEvent(side.channel, &cq), GNI_RC_NOT_DONE);
    ring(&side, 0);
    ring(&side, 0); /* once per arming */
    assert_true(readable(side.fd));
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[0]);
    assert_false(readable(side.fd));
    assert_rc(GNI_CompChanGetEvent(side.channel, &cq), GNI_RC_NOT_DONE);
    /* It has entries: it fires at once; as LDMS does it, before it drains. */
    assert_ok(GNI_CqArmCompChan(side.cq, 1));
    assert_true(readable(side.fd));
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[0]);
    drain(side.cq[0], 2);
    assert_rc(GNI_CompChanGetEvent(side.channel, &cq), GNI_RC_NOT_DONE);
    /* Two armings while entries are there are two events. */
    ring(&side, 1);
    assert_ok(GNI_CqArmCompChan(&side.cq[1], 1));
    assert_ok(GNI_CqArmCompChan(&side.cq[1], 1));
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_true(readable(side.fd));
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[1]);
    assert_false(readable(side.fd));
    /* Arming twice before an entry comes is arming once. */
    drain(side.cq[1], 1);
    assert_ok(GNI_CqArmCompChan(&side.cq[1], 1));
    assert_ok(GNI_CqArmCompChan(&side.cq[1], 1));
    ring(&side, 1);
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_rc(GNI_CompChanGetEvent(side.channel, &cq), GNI_RC_NOT_DONE);
    domain_close(&side.domain);
}

static void ugni_125_one_event_per_arming(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = once_main});
}

static void several_main(struct rank *rank)
{
    gni_cq_handle_t cq;
    struct watched side;
    unsigned i;

    open_side(rank, &side);
    assert_ok(GNI_CqArmCompChan(side.cq, QUEUES));
    for (i = QUEUES; i-- > 0;)
        ring(&side, i);
    for (i = QUEUES; i-- > 0;) { /* in the order of the events */
        assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
        assert_ptr_equal(cq, side.cq[i]);
    }
    assert_false(readable(side.fd));
    /* A queue that fires repeatedly waits behind the others. */
    assert_ok(GNI_CqArmCompChan(side.cq, 1));
    assert_ok(GNI_CqArmCompChan(side.cq, 1));
    assert_ok(GNI_CqArmCompChan(&side.cq[1], 1));
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[0]);
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[1]);
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[0]);
    domain_close(&side.domain);
}

static void ugni_125_queues_share_a_channel(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = several_main});
}

static void overrun_main(struct rank *rank)
{
    gni_cq_handle_t cq;
    struct watched side;

    open_side(rank, &side);
    assert_ok(GNI_CqArmCompChan(&side.cq[2], 1));
    aries_cq_force_overrun_of(rank->machine->fabric, 0, 4);
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[2]);
    domain_close(&side.domain);
}

static void ugni_125_an_overrun_is_an_entry(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = overrun_main});
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refusals_main(struct rank *rank)
{
    gni_cq_handle_t cq, pair[2];
    gni_comp_chan_handle_t other;
    struct domain foreign;
    struct watched side;
    int fd;

    open_side(rank, &side);
    domain_open_as(&foreign, 77, MACHINE_PTAG, MACHINE_COOKIE, 0);
    assert_rc(GNI_CompChanCreate(NULL, &other), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CompChanCreate(side.domain.nic, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CompChanFd(NULL, &fd), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CompChanFd(side.channel, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CompChanGetEvent(NULL, &cq), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CompChanGetEvent(side.channel, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CompChanDestroy(NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqAttachCompChan(NULL, side.channel), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqAttachCompChan(side.cq[0], NULL), GNI_RC_INVALID_PARAM);
    /* Only queues that can interrupt, and of the same attachment. */
    assert_rc(GNI_CqAttachCompChan(side.domain.source, side.channel), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_CompChanCreate(foreign.nic, &other));
    assert_rc(GNI_CqAttachCompChan(side.cq[0], other), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqArmCompChan(NULL, 1), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqArmCompChan(side.cq, 0), GNI_RC_INVALID_PARAM);
    pair[0] = side.cq[0];
    pair[1] = side.domain.source; /* not attached: none of them is armed */
    assert_rc(GNI_CqArmCompChan(pair, 2), GNI_RC_INVALID_PARAM);
    ring(&side, 0);
    assert_false(readable(side.fd));
    domain_close(&foreign);
    assert_rc(GNI_CompChanDestroy(other), GNI_RC_INVALID_PARAM); /* went with its NIC */
    domain_close(&side.domain);
    assert_rc(GNI_CompChanFd(side.channel, &fd), GNI_RC_INVALID_PARAM);
}

static void ugni_125_refusals(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = refusals_main});
}

/* No descriptor left. */
static void exhausted_main(struct rank *rank)
{
    gni_comp_chan_handle_t channel;
    struct rlimit limit, few;
    struct watched side;

    open_side(rank, &side);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_rc(GNI_CompChanCreate(side.domain.nic, &channel), GNI_RC_ERROR_NOMEM);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_ok(GNI_CompChanCreate(side.domain.nic, &channel));
    domain_close(&side.domain);
}

static void ugni_125_descriptors_run_out(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = exhausted_main});
}

/* ---- creating and destroying ----------------------------------------------------------------- */

static void create_and_destroy_main(struct rank *rank)
{
    gni_comp_chan_handle_t second;
    gni_cq_handle_t cq;
    struct watched side;
    int fd;

    open_side(rank, &side);
    ring(&side, 0);
    ring(&side, 1);
    assert_ok(GNI_CqArmCompChan(side.cq, 2));
    assert_ok(GNI_MemDeregister(side.domain.nic, &side.region[0]));
    assert_ok(GNI_CqDestroy(side.cq[0])); /* its event goes with it */
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[1]);
    assert_false(readable(side.fd));
    /* The queue is attached to another channel: its event in the former channel is dropped. */
    assert_ok(GNI_CqArmCompChan(&side.cq[1], 1));
    assert_true(readable(side.fd));
    assert_ok(GNI_CompChanCreate(side.domain.nic, &second));
    assert_ok(GNI_CompChanFd(second, &fd));
    assert_int_not_equal(fd, side.fd);
    assert_ok(GNI_CqAttachCompChan(side.cq[1], second));
    assert_false(readable(side.fd));
    assert_false(readable(fd));
    assert_ok(GNI_CqArmCompChan(&side.cq[1], 1));
    assert_true(readable(fd));
    /* A channel that goes leaves its queues, which can be used without. */
    assert_ok(GNI_CompChanDestroy(second));
    assert_int_equal(fcntl(fd, F_GETFL), -1);
    assert_int_equal(errno, EBADF);
    assert_rc(GNI_CompChanDestroy(second), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CqArmCompChan(&side.cq[1], 1), GNI_RC_INVALID_PARAM);
    drain(side.cq[1], 1);
    domain_close(&side.domain);
    assert_int_equal(fcntl(side.fd, F_GETFL), -1);
}

static void ugni_125_channels_and_queues_end_in_any_order(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = create_and_destroy_main});
}

/* ---- blocking -------------------------------------------------------------------------------- */

struct waiter {
    struct watched *side;
    struct sim_fiber *fiber;
    gni_return_t result;
    gni_cq_handle_t cq;
    sim_time_t at;
    bool ended;
};

static void waiter_fiber(void *argument)
{
    struct waiter *waiter = argument;

    waiter->result = GNI_CompChanGetEvent(waiter->side->channel, &waiter->cq);
    sim_settle();
    waiter->at = sim_now();
    waiter->ended = true;
}

static void start(struct waiter *waiter, struct watched *side)
{
    *waiter = (struct waiter){.side = side};
    waiter->fiber = sim_fiber_start(waiter_fiber, waiter, "waiter", sim_clock_read());
    aries_process_bind(side->rank->process, waiter->fiber);
}

static void blocking_main(struct rank *rank)
{
    struct waiter waiter;
    sim_time_t rang;
    struct watched side;

    open_side(rank, &side);
    start(&waiter, &side);
    sim_sleep_until(sim_clock_read() + SIM_MS);
    ring(&side, 1); /* not armed */
    assert_ok(GNI_CqArmCompChan(side.cq, 1));
    sim_sleep_until(sim_clock_read() + SIM_MS);
    assert_false(waiter.ended);
    rang = sim_clock_read();
    ring(&side, 0);
    assert_true(machine_soon(&waiter.ended));
    assert_ok(waiter.result);
    assert_ptr_equal(waiter.cq, side.cq[0]);
    assert_took(waiter.at, rang + 500 * SIM_NS, rang + 50 * SIM_US); /* an interrupt later */
    /* A signal ends the call. */
    start(&waiter, &side);
    sim_sleep_until(sim_clock_read() + SIM_MS);
    aries_process_interrupt(rank->process, waiter.fiber);
    assert_true(machine_soon(&waiter.ended));
    assert_rc(waiter.result, GNI_RC_NOT_DONE);
    /* So does the end of the channel. */
    start(&waiter, &side);
    sim_sleep_until(sim_clock_read() + SIM_MS);
    assert_ok(GNI_CompChanDestroy(side.channel));
    assert_true(machine_soon(&waiter.ended));
    assert_rc(waiter.result, GNI_RC_INVALID_PARAM);
    domain_close(&side.domain);
}

static void ugni_125_get_event_blocks(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = blocking_main});
}

/* ---- poll and epoll -------------------------------------------------------------------------- */

static void ringer_fiber(void *argument)
{
    ring(argument, 2);
}

/* As LDMS: an epoll set, then the event, then arming, then draining. */
static void epoll_main(struct rank *rank)
{
    struct epoll_event event = {.events = EPOLLIN}, got;
    struct pollfd poller = {.events = POLLIN};
    struct sim_fiber *ringer;
    gni_cq_handle_t cq;
    sim_time_t began;
    struct watched side;
    int set = epoll_create1(0);

    assert_true(set >= 0);
    open_side(rank, &side);
    event.data.ptr = side.channel;
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, side.fd, &event), 0);
    poller.fd = set;
    assert_ok(GNI_CqArmCompChan(side.cq, QUEUES));
    /* Nothing comes: the time passes. */
    began = sim_clock_read();
    assert_int_equal(aries_poll(&poller, 1, 5 * SIM_MS), 0);
    assert_took(sim_clock_read() - began, 5 * SIM_MS, 5 * SIM_MS + SIM_US);
    assert_int_equal(epoll_wait(set, &got, 1, 0), 0);
    began = sim_clock_read();
    ringer = sim_fiber_start(ringer_fiber, &side, "ringer", began + 3 * SIM_MS);
    aries_process_bind(rank->process, ringer);
    assert_int_equal(aries_poll(&poller, 1, SIM_NEVER), 1);
    assert_took(sim_clock_read() - began, 3 * SIM_MS, 3 * SIM_MS + 50 * SIM_US);
    assert_int_equal(epoll_wait(set, &got, 1, 0), 1);
    assert_ptr_equal(got.data.ptr, side.channel);
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ptr_equal(cq, side.cq[2]);
    assert_ok(GNI_CqArmCompChan(&cq, 1)); /* the entry is still there: fires again */
    drain(cq, 1);
    assert_int_equal(aries_poll(&poller, 1, 0), 1);
    assert_ok(GNI_CompChanGetEvent(side.channel, &cq));
    assert_ok(GNI_CqArmCompChan(&cq, 1));
    assert_int_equal(aries_poll(&poller, 1, 0), 0);
    close(set);
    domain_close(&side.domain);
}

static void ugni_125_epoll_sees_the_channel(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = epoll_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_125_one_event_per_arming),
        cmocka_unit_test(ugni_125_queues_share_a_channel),
        cmocka_unit_test(ugni_125_an_overrun_is_an_entry),
        cmocka_unit_test(ugni_125_refusals),
        cmocka_unit_test(ugni_125_descriptors_run_out),
        cmocka_unit_test(ugni_125_channels_and_queues_end_in_any_order),
        cmocka_unit_test(ugni_125_get_event_blocks),
        cmocka_unit_test(ugni_125_epoll_sees_the_channel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
