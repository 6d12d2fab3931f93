/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Error events: checklist item 126, the kill policy of item 91, and what LDMS relies on. */
#include "fixture.h"

#include <string.h>
#include <sys/mman.h>

#define BYTES 4096u

static uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(4096)));

static void inject(const struct rank *rank, uint8_t category, uint16_t code, uint8_t ptag)
{
    sim_settle();
    aries_error_inject(rank->machine->fabric, rank->node, category, code, ptag);
}

/* ---- subscriptions --------------------------------------------------------------------------- */

static void subscribe_main(struct rank *rank)
{
    struct domain domain;
    gni_err_handle_t errors, many[256];
    gni_error_mask_t mask;
    gni_error_event_t event;
    unsigned i;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    assert_rc(GNI_SubscribeErrors(domain.nic, 0, 0, 64, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SubscribeErrors(domain.nic, 3, 0, 64, &errors), GNI_RC_NO_MATCH);
    assert_rc(GNI_SubscribeErrors(domain.nic, 0, 0, UINT32_MAX, &errors), GNI_RC_ERROR_NOMEM);
    if (!rank->machine->privileged) {
        assert_rc(GNI_SubscribeErrors(NULL, 0, 0, 64, &errors), GNI_RC_INVALID_PARAM);
    } else {
        assert_rc(GNI_SubscribeErrors(NULL, 3, 0, 64, &errors), GNI_RC_NO_MATCH);
        assert_ok(GNI_SubscribeErrors(NULL, 0, 0, 64, &errors));
        assert_ok(GNI_ReleaseErrors(errors));
    }
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0, 64, &errors)); /* as LDMS does it */
    assert_rc(GNI_GetErrorMask(errors, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetErrorMask(NULL, &mask), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetErrorMask(NULL, 1, &mask), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetErrorMask(errors, 1, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetErrorEvent(NULL, &event), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetErrorEvent(errors, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetErrorEvent(errors, &event), GNI_RC_NOT_DONE);
    assert_ok(GNI_SetErrorMask(errors, GNI_ERRMASK_TRANSACTION, &mask));
    assert_ok(GNI_SetErrorMask(errors, GNI_ERRMASK_CRITICAL, &mask));
    assert_int_equal(mask, GNI_ERRMASK_TRANSACTION);
    assert_ok(GNI_GetErrorMask(errors, &mask));
    assert_int_equal(mask, GNI_ERRMASK_CRITICAL);
    assert_ok(GNI_ReleaseErrors(errors));
    assert_rc(GNI_ReleaseErrors(errors), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_ReleaseErrors(NULL), GNI_RC_INVALID_PARAM);
    for (i = 0; i < 256; i++)
        assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0xff, 1, &many[i]));
    assert_rc(GNI_SubscribeErrors(domain.nic, 0, 0xff, 1, &errors), GNI_RC_ERROR_RESOURCE);
    domain_close(&domain); /* takes them along */
    assert_rc(GNI_ReleaseErrors(many[0]), GNI_RC_INVALID_PARAM);
    domain_open(rank, &domain, 0);
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0xff, 1, &errors));
    domain_close(&domain);
}

static void ugni_126_subscribing(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = subscribe_main});
    machine_run(&(struct machine){.ranks = 1, .main = subscribe_main, .privileged = true});
}

/* ---- which events ---------------------------------------------------------------------------- */

static void masks_main(struct rank *rank)
{
    struct domain domain;
    gni_err_handle_t all, one, few;
    gni_error_event_t event;
    gni_error_mask_t mask;
    uint32_t serial = 0;
    unsigned bit;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0, 0, &all)); /* 0: everything, 64 of them */
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, GNI_ERRMASK_TRANSIENT, 64, &one));
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0xff, 3, &few));
    for (bit = 0; bit < 8; bit++)
        inject(rank, (uint8_t)(1u << bit), (uint16_t)(100 + bit), MACHINE_PTAG);
    for (bit = 0; bit < 8; bit++) {
        assert_ok(GNI_GetErrorEvent(all, &event));
        /* Users see the order of the API, not that of the hardware's category byte. */
        assert_int_equal(event.error_category, 1u << bit);
        assert_int_equal(event.error_code, 100 + bit);
        assert_int_equal(event.ptag, MACHINE_PTAG);
        assert_true(event.timestamp <= sim_now() / SIM_NS);
        assert_true(event.timestamp > 0);
        assert_true(bit == 0 || event.serial_number == serial + 1);
        serial = event.serial_number;
    }
    assert_rc(GNI_GetErrorEvent(all, &event), GNI_RC_NOT_DONE);
    assert_ok(GNI_GetErrorEvent(one, &event));
    assert_int_equal(event.error_category, GNI_ERRMASK_TRANSIENT);
    assert_rc(GNI_GetErrorEvent(one, &event), GNI_RC_NOT_DONE);
    for (bit = 0; bit < 3; bit++) { /* what came to a full queue is lost */
        assert_ok(GNI_GetErrorEvent(few, &event));
        assert_int_equal(event.error_category, 1u << bit);
    }
    assert_rc(GNI_GetErrorEvent(few, &event), GNI_RC_NOT_DONE);
    inject(rank, GNI_ERRMASK_DIAG_ONLY, 1, MACHINE_PTAG);
    assert_ok(GNI_GetErrorEvent(few, &event));
    assert_int_equal(event.serial_number, serial + 1); /* the gap shows the loss */
    /* A mask holds from now on; 0 that is set silences. */
    assert_ok(GNI_GetErrorEvent(all, &event));
    assert_ok(GNI_SetErrorMask(all, 0, &mask));
    assert_int_equal(mask, 0xff);
    inject(rank, GNI_ERRMASK_TRANSACTION, 1, MACHINE_PTAG);
    assert_rc(GNI_GetErrorEvent(all, &event), GNI_RC_NOT_DONE);
    /* Error events of another job are not shown; those of the whole NIC are. */
    inject(rank, GNI_ERRMASK_TRANSIENT, 7, MACHINE_PTAG_OTHER);
    assert_rc(GNI_GetErrorEvent(one, &event), GNI_RC_NOT_DONE);
    inject(rank, GNI_ERRMASK_TRANSIENT, 8, 0);
    assert_ok(GNI_GetErrorEvent(one, &event));
    assert_int_equal(event.error_code, 8);
    if (!rank->machine->privileged) {
        assert_rc(GNI_SetErrorPtag(one, 0), GNI_RC_PERMISSION_ERROR);
        return;
    }
    assert_rc(GNI_SetErrorPtag(NULL, 0), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_SetErrorPtag(one, MACHINE_PTAG_OTHER));
    inject(rank, GNI_ERRMASK_TRANSIENT, 9, MACHINE_PTAG);
    assert_rc(GNI_GetErrorEvent(one, &event), GNI_RC_NOT_DONE);
    inject(rank, GNI_ERRMASK_TRANSIENT, 10, MACHINE_PTAG_OTHER);
    assert_ok(GNI_GetErrorEvent(one, &event));
    assert_ok(GNI_SetErrorPtag(one, 0));
    inject(rank, GNI_ERRMASK_TRANSIENT, 11, 200);
    assert_ok(GNI_GetErrorEvent(one, &event));
    assert_int_equal(event.ptag, 200);
    /* Of the device: all tags from the start. */
    assert_ok(GNI_ReleaseErrors(one));
    assert_ok(GNI_SubscribeErrors(NULL, 0, 0xff, 64, &one));
    inject(rank, GNI_ERRMASK_TRANSIENT, 12, 99);
    assert_ok(GNI_GetErrorEvent(one, &event));
    assert_int_equal(event.ptag, 99);
}

static void ugni_126_masks_and_tags(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = masks_main});
    machine_run(&(struct machine){.ranks = 1, .main = masks_main, .privileged = true});
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct waiter {
    gni_err_handle_t errors;
    struct sim_fiber *fiber;
    gni_error_event_t *events;
    gni_error_event_t own[8];
    uint32_t size, timeout, count;
    gni_return_t result;
    sim_time_t at;
    bool ended;
};

static void waiter_fiber(void *argument)
{
    struct waiter *waiter = argument;

    waiter->result = GNI_WaitErrorEvents(waiter->errors, waiter->events, waiter->size,
                                         waiter->timeout, &waiter->count);
    sim_settle();
    waiter->at = sim_now();
    waiter->ended = true;
}

static void start(struct rank *rank, struct waiter *waiter, gni_err_handle_t errors, uint32_t size,
                  uint32_t timeout)
{
    *waiter = (struct waiter){.errors = errors, .size = size, .timeout = timeout, .count = 77};
    waiter->events = waiter->own;
    waiter->fiber = sim_fiber_start(waiter_fiber, waiter, "error thread", sim_clock_read());
    aries_process_bind(rank->process, waiter->fiber);
    sim_sleep_until(sim_clock_read() + SIM_MS);
}

static void settle_for(sim_time_t time)
{
    sim_sleep_until(sim_clock_read() + time);
}

/* The thread of LDMS: one event, no window. */
static void wait_main(struct rank *rank)
{
    struct domain domain;
    struct waiter waiter;
    gni_err_handle_t errors;
    gni_error_event_t event;
    sim_time_t began;
    uint32_t count;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0, 64, &errors));
    assert_rc(GNI_WaitErrorEvents(NULL, &event, 1, 0, &count), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_WaitErrorEvents(errors, NULL, 1, 0, &count), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_WaitErrorEvents(errors, &event, 0, 0, &count), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_WaitErrorEvents(errors, &event, 1, 0, NULL), GNI_RC_INVALID_PARAM);
    machine_simulated();
    start(rank, &waiter, errors, 1, 0);
    settle_for(60 * SIM_S); /* the timeout is not for the first one */
    assert_false(waiter.ended);
    assert_rc(GNI_ReleaseErrors(errors), GNI_RC_NOT_DONE);
    began = sim_clock_read();
    inject(rank, GNI_ERRMASK_TRANSACTION, 5, MACHINE_PTAG);
    assert_true(machine_soon(&waiter.ended));
    assert_ok(waiter.result);
    assert_int_equal(waiter.count, 1);
    assert_int_equal(waiter.events[0].error_code, 5);
    assert_in_range(waiter.at, began, began + 50 * SIM_US);
    /* A window: two more come within it, none to fill the array. */
    start(rank, &waiter, errors, 4, 100);
    began = sim_clock_read();
    inject(rank, GNI_ERRMASK_TRANSACTION, 1, MACHINE_PTAG);
    settle_for(30 * SIM_MS);
    inject(rank, GNI_ERRMASK_TRANSACTION, 2, MACHINE_PTAG);
    settle_for(30 * SIM_MS);
    inject(rank, GNI_ERRMASK_TRANSACTION, 3, MACHINE_PTAG);
    settle_for(100 * SIM_MS);
    assert_true(waiter.ended);
    assert_rc(waiter.result, GNI_RC_TIMEOUT);
    assert_int_equal(waiter.count, 3);
    assert_int_equal(waiter.events[2].error_code, 3);
    assert_in_range(waiter.at - began, 100 * SIM_MS, 101 * SIM_MS);
    /* Full before its end. */
    start(rank, &waiter, errors, 2, 1000);
    inject(rank, GNI_ERRMASK_TRANSACTION, 1, MACHINE_PTAG);
    inject(rank, GNI_ERRMASK_TRANSACTION, 2, MACHINE_PTAG);
    assert_true(machine_soon(&waiter.ended));
    assert_ok(waiter.result);
    assert_int_equal(waiter.count, 2);
    /* Events that have already arrived are returned at once. */
    inject(rank, GNI_ERRMASK_TRANSACTION, 4, MACHINE_PTAG);
    assert_ok(GNI_WaitErrorEvents(errors, &event, 1, 0, &count));
    assert_int_equal(event.error_code, 4);
    inject(rank, GNI_ERRMASK_TRANSACTION, 6, MACHINE_PTAG);
    assert_rc(GNI_WaitErrorEvents(errors, waiter.own, 2, 0, &count), GNI_RC_TIMEOUT);
    assert_int_equal(count, 1);
    domain_close(&domain);
}

static void ugni_126_waiting_for_events(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = wait_main});
}

static void wait_ends_main(struct rank *rank)
{
    struct domain domain;
    struct waiter waiter;
    gni_err_handle_t errors;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0, 64, &errors));
    /* A signal. */
    start(rank, &waiter, errors, 2, UINT32_MAX);
    assert_false(waiter.ended);
    aries_process_interrupt(rank->process, waiter.fiber);
    assert_true(machine_soon(&waiter.ended));
    assert_rc(waiter.result, GNI_RC_NOT_DONE);
    assert_int_equal(waiter.count, 0);
    /* A thread that was cancelled waits for nothing. */
    start(rank, &waiter, errors, 1, 0);
    assert_rc(GNI_ReleaseErrors(errors), GNI_RC_NOT_DONE);
    aries_process_unbind(rank->process, waiter.fiber);
    sim_fiber_kill(waiter.fiber);
    assert_ok(GNI_ReleaseErrors(errors));
    assert_false(waiter.ended);
    /* The end of the domain. */
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0, 64, &errors));
    start(rank, &waiter, errors, 1, 0);
    domain_close(&domain);
    assert_true(machine_soon(&waiter.ended));
    assert_rc(waiter.result, GNI_RC_INVALID_PARAM);
}

static void ugni_126_what_ends_a_wait(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = wait_ends_main});
}

static void window_ends_main(struct rank *rank)
{
    struct domain domain;
    struct waiter waiter;
    gni_err_handle_t errors;
    void *page;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0, 64, &errors));
    /* A signal after the first event. */
    start(rank, &waiter, errors, 2, UINT32_MAX);
    inject(rank, GNI_ERRMASK_TRANSIENT, 1, 0);
    settle_for(10 * SIM_S);
    assert_false(waiter.ended); /* a window without an end */
    aries_process_interrupt(rank->process, waiter.fiber);
    assert_true(machine_soon(&waiter.ended));
    assert_rc(waiter.result, GNI_RC_TIMEOUT);
    assert_int_equal(waiter.count, 1);
    /* Events that arrive after a thread was cancelled. */
    start(rank, &waiter, errors, 1, 0);
    aries_process_unbind(rank->process, waiter.fiber);
    sim_fiber_kill(waiter.fiber);
    inject(rank, GNI_ERRMASK_TRANSIENT, 2, 0);
    assert_ok(GNI_ReleaseErrors(errors));
    assert_false(waiter.ended);
    /* An array that cannot be written: the event stays. */
    assert_ok(GNI_SubscribeErrors(domain.nic, 0, 0, 64, &errors));
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    inject(rank, GNI_ERRMASK_TRANSIENT, 3, 0);
    assert_rc(GNI_WaitErrorEvents(errors, page, 1, 0, &waiter.count), GNI_RC_PERMISSION_ERROR);
    assert_ok(GNI_GetErrorEvent(errors, &waiter.own[0]));
    assert_int_equal(waiter.own[0].error_code, 3);
    munmap(page, 4096);
}

static void ugni_126_what_ends_a_window(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = window_ends_main});
}

/* ---- what raises them ------------------------------------------------------------------------ */

static gni_err_handle_t subscriptions[MACHINE_RANKS];

static void open_side(struct rank *rank, struct side *side, uint32_t modes)
{
    side_open(rank, side, memory[rank->id], BYTES, modes);
    assert_ok(GNI_SubscribeErrors(side->domain.nic, 0, 0, 64, &subscriptions[rank->id]));
    machine_barrier(rank);
}

static void expect_event(const struct side *side, uint8_t category, uint16_t code)
{
    gni_error_event_t event;
    uint32_t count;

    assert_ok(GNI_WaitErrorEvents(subscriptions[side->rank->id], &event, 1, 0, &count));
    assert_int_equal(event.error_category, category);
    assert_int_equal(event.error_code, code);
}

static void expect_none(const struct side *side)
{
    gni_error_event_t event;

    assert_rc(GNI_GetErrorEvent(subscriptions[side->rank->id], &event), GNI_RC_NOT_DONE);
}

static gni_post_descriptor_t describe(const struct side *side)
{
    return side_describe(side, GNI_POST_FMA_PUT, 0, 0, 64);
}

/* Completions report the errors of programs. Only errors without a completion are error events. */
static void silent_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    struct side side;

    open_side(rank, &side, GNI_CDM_MODE_ERR_NO_KILL);
    if (rank->id == 0) {
        descr = describe(&side);
        descr.remote_addr += BYTES;
        assert_ok(post(side.ep, &descr));
        assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_AT_BOUNDS_ERR);
        expect_none(&side);
        descr.cq_mode = GNI_CQMODE_SILENT;
        assert_ok(post(side.ep, &descr));
        settle_for(SIM_MS);
        expect_event(&side, GNI_ERRMASK_TRANSACTION, A_STATUS_AT_BOUNDS_ERR);
        descr.cq_mode = GNI_CQMODE_REMOTE_EVENT; /* asks for none at the source */
        assert_ok(post(side.ep, &descr));
        settle_for(SIM_MS);
        expect_event(&side, GNI_ERRMASK_TRANSACTION, A_STATUS_AT_BOUNDS_ERR);
        expect_none(&side);
    }
    machine_barrier(rank);
    if (rank->id == 1)
        expect_none(&side);
}

static void ugni_126_failed_silent_posts(void **state)
{
    machine_run(&(struct machine){.main = silent_main});
}

static unsigned fail_once(struct rank *rank, const struct side *side)
{
    gni_post_descriptor_t descr = describe(side);

    assert_ok(post(side->ep, &descr));
    return complete_failed(side->domain.source, &descr);
}

/* Each injected error is reported by the NIC that finds it. */
static void injected_main(struct rank *rank)
{
    struct side side;

    open_side(rank, &side, GNI_CDM_MODE_ERR_NO_KILL);
    if (rank->id == 0) {
        packet_fault(SIM_FAULT_DROP, NET_REQUEST, 0);
        assert_int_equal(fail_once(rank, &side), A_STATUS_ORB_TIMEOUT);
        expect_event(&side, GNI_ERRMASK_TRANSIENT, A_STATUS_ORB_TIMEOUT);
        packet_fault(SIM_FAULT_CORRUPT, NET_RESPONSE, 0);
        assert_int_equal(fail_once(rank, &side), A_STATUS_DATA_ERR);
        expect_event(&side, GNI_ERRMASK_TRANSIENT, A_STATUS_DATA_ERR);
        packet_fault(SIM_FAULT_FAIL, NET_RESPONSE, A_STATUS_SSID_TIMEOUT);
        assert_int_equal(fail_once(rank, &side), A_STATUS_SSID_TIMEOUT);
        expect_event(&side, GNI_ERRMASK_TRANSIENT, A_STATUS_SSID_TIMEOUT);
        packet_fault(SIM_FAULT_CORRUPT, NET_REQUEST, 0);
        assert_int_equal(fail_once(rank, &side), A_STATUS_DATA_ERR);
        packet_fault(SIM_FAULT_FAIL, NET_REQUEST, A_STATUS_RMT_SEQTBL_UNAVAILABLE);
        assert_int_equal(fail_once(rank, &side), A_STATUS_RMT_SEQTBL_UNAVAILABLE);
        packet_fault(SIM_FAULT_FAIL, NET_REQUEST, A_STATUS_AT_PF_INV);
        assert_int_equal(fail_once(rank, &side), A_STATUS_AT_PF_INV);
        expect_none(&side);
    }
    machine_barrier(rank);
    if (rank->id == 1) {
        expect_event(&side, GNI_ERRMASK_TRANSIENT, A_STATUS_DATA_ERR);
        expect_event(&side, GNI_ERRMASK_TRANSACTION, A_STATUS_RMT_SEQTBL_UNAVAILABLE);
        expect_event(&side, GNI_ERRMASK_ADDRESS_TRANSLATION, A_STATUS_AT_PF_INV);
        expect_none(&side);
        aries_nic_hang(rank->machine->fabric, rank->node, SIM_US);
        expect_event(&side, GNI_ERRMASK_TRANSIENT, A_STATUS_REQ_DISABLED);
        aries_pcie_stall(rank->machine->fabric, rank->node, SIM_US);
        expect_event(&side, GNI_ERRMASK_TRANSIENT, A_STATUS_PI_ERR);
        aries_cq_force_overrun_of(rank->machine->fabric, rank->node, 0);
        expect_event(&side, GNI_ERRMASK_TRANSIENT, A_STATUS_CQ_OVERRUN);
        expect_none(&side);
        aries_mdd_corrupt(rank->machine->fabric, rank->node, 0);
        expect_event(&side, GNI_ERRMASK_CRITICAL, A_STATUS_AT_MDD_UNCORRECTABLE);
        expect_none(&side);
    }
}

static void ugni_126_injected_errors(void **state)
{
    machine_run(&(struct machine){.main = injected_main});
}

/* ---- processes that are killed --------------------------------------------------------------- */

/* Rank 0 does not care, rank 1 dies, rank 2 is of another job on the same node. */
static void critical_main(struct rank *rank)
{
    static const uint32_t modes[] = {GNI_CDM_MODE_ERR_NO_KILL, 0, 0};
    struct domain domain;

    if (rank->id == 2)
        domain_open_as(&domain, 2, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    else
        domain_open(rank, &domain, modes[rank->id]);
    settle_for(SIM_MS);
    if (rank->id == 0) {
        inject(rank, GNI_ERRMASK_TRANSACTION, 1, MACHINE_PTAG);
        assert_false(rank->machine->rank[1].killed);
        inject(rank, GNI_ERRMASK_CRITICAL, 2, MACHINE_PTAG);
        assert_int_equal(rank->machine->rank[1].killed, rank->machine->value[0] != 0);
        assert_false(rank->machine->rank[0].killed);
        assert_false(rank->machine->rank[2].killed);
        inject(rank, GNI_ERRMASK_CRITICAL, 2, 0); /* concerns every job */
        assert_int_equal(rank->machine->rank[2].killed, rank->machine->value[0] != 0);
    }
    settle_for(SIM_MS);
}

static void ugni_91_ugni_126_critical_errors_kill(void **state)
{
    struct machine machine = {.ranks = 3, .ranks_per_node = 3, .main = critical_main};

    machine.param[0] = "aries.fault.kill";
    machine.value[0] = 1;
    machine_run(&machine);
    machine = (struct machine){.ranks = 3, .ranks_per_node = 3, .main = critical_main};
    machine.param[0] = "aries.fault.kill";
    machine_run(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_126_subscribing),
        cmocka_unit_test(ugni_126_masks_and_tags),
        cmocka_unit_test(ugni_126_waiting_for_events),
        cmocka_unit_test(ugni_126_what_ends_a_wait),
        cmocka_unit_test(ugni_126_what_ends_a_window),
        cmocka_unit_test(ugni_126_failed_silent_posts),
        cmocka_unit_test(ugni_126_injected_errors),
        cmocka_unit_test(ugni_91_ugni_126_critical_errors_kill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
