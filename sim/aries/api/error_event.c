/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Subscriptions to error events. */
#include "api/front.h"

#include <assert.h>

#include "nic/error_event.h"

#define EVENTS_DEFAULT 64u
#define EVENTS_MAX (1u << 16) /* a larger number gives ERROR_NOMEM */
#define SUBSCRIPTIONS_MAX 256u /* per NIC */
#define ALL_CATEGORIES 0xffu

static bool errors_ok(const struct gni_err *errors)
{
    return aries_handle_ok(errors, ARIES_MAGIC_ERRORS);
}

/*
 * Lets all events up to the caller's own time happen. Another thread may release the subscription
 * meanwhile.
 */
static bool enter(const struct gni_err *errors, bool spends)
{
    if (!errors_ok(errors))
        return false;
    if (spends)
        sim_spend(errors->hw->fabric->timing.cpu_cqget);
    sim_settle();
    sim_idle_break();
    return errors_ok(errors);
}

/* ---- creating and destroying ----------------------------------------------------------------- */

static void discard(void *object)
{
    struct gni_err *errors = object;

    g_free(errors->ring);
    g_free(errors->waiters);
    errors->ring = NULL;
    errors->waiters = NULL;
}

static const struct aries_class errors_class = {
    .size = sizeof(struct gni_err), .handle = true, .discard = discard};

static void release_nic(struct gni_nic *nic);
static void release_all(struct aries_process *process);

static gni_return_t check_subscription(gni_nic_handle_t nic, uint32_t device_id,
                                       const gni_err_handle_t *errors, struct aries_nic **hw)
{
    const struct aries_process *process = aries_process_self();

    if (errors == NULL || process == NULL)
        return GNI_RC_INVALID_PARAM;
    if (nic != NULL ? nic->magic != ARIES_MAGIC_NIC : !process->privileged)
        return GNI_RC_INVALID_PARAM;
    *hw = aries_device(device_id);
    return *hw != NULL ? GNI_RC_SUCCESS : GNI_RC_NO_MATCH;
}

/*
 * The only known client passes an empty mask and then waits for events. So an empty mask selects
 * all categories.
 */
gni_return_t GNI_SubscribeErrors(gni_nic_handle_t nic_handle, uint32_t device_id,
                                 gni_error_mask_t mask, uint32_t EEQ_size,
                                 gni_err_handle_t *err_handle)
{
    struct aries_nic *hw = NULL;
    struct gni_err *errors;
    gni_return_t result = check_subscription(nic_handle, device_id, err_handle, &hw);

    if (result != GNI_RC_SUCCESS)
        return result;
    if (EEQ_size > EVENTS_MAX)
        return GNI_RC_ERROR_NOMEM;
    if (hw->errors_count >= SUBSCRIPTIONS_MAX)
        return GNI_RC_ERROR_RESOURCE;
    sim_spend(hw->fabric->timing.cold_ep_create);
    sim_settle();
    sim_idle_break();
    if (nic_handle != NULL && nic_handle->magic != ARIES_MAGIC_NIC)
        /* It was released while this call caught up with virtual time. */
        return GNI_RC_INVALID_PARAM;
    errors = aries_object_new(hw->fabric->objects, &errors_class);
    errors->magic = ARIES_MAGIC_ERRORS;
    errors->refs = 1;
    errors->hw = hw;
    errors->nic = nic_handle;
    errors->process = aries_process_self();
    errors->mask = mask != 0 ? mask : ALL_CATEGORIES;
    errors->ptag = nic_handle != NULL ? nic_handle->ptag : 0;
    errors->capacity = EEQ_size != 0 ? EEQ_size : EVENTS_DEFAULT;
    aries_list_add(&hw->errors, &errors->hw_link);
    aries_list_add(&errors->process->errors, &errors->process_link);
    errors->process->on_exit[ARIES_EXIT_REPORTS] = release_all;
    if (nic_handle != NULL)
        aries_nic_on_detach(nic_handle, ARIES_DETACH_REPORTS, release_nic);
    hw->errors_count++;
    *err_handle = errors;
    return GNI_RC_SUCCESS;
}

static void unref(struct gni_err *errors)
{
    struct aries_fabric *fabric = errors->hw->fabric;

    if (--errors->refs > 0)
        return;
    aries_object_delete(fabric->objects, &errors_class, errors);
}

static void errors_release(struct gni_err *errors)
{
    aries_list_remove(&errors->hw_link);
    aries_list_remove(&errors->process_link);
    errors->hw->errors_count--;
    errors->magic = 0;
    /* Wakes the threads that wait for it: they see that it is gone. */
    aries_process_notify(errors->process);
    unref(errors);
}

static void release_nic(struct gni_nic *nic)
{
    struct aries_list *head = &nic->process->errors, *link;

    for (link = head->next; link != head;) {
        struct gni_err *errors = sim_container_of(link, struct gni_err, process_link);

        link = link->next;
        if (errors->nic == nic)
            errors_release(errors);
    }
}

static void release_all(struct aries_process *process)
{
    while (!aries_list_empty(&process->errors))
        errors_release(sim_container_of(process->errors.next, struct gni_err, process_link));
}

gni_return_t GNI_ReleaseErrors(gni_err_handle_t err_handle)
{
    if (!enter(err_handle, false))
        return GNI_RC_INVALID_PARAM;
    if (err_handle->waiters_count > 0)
        return GNI_RC_NOT_DONE;
    errors_release(err_handle);
    return GNI_RC_SUCCESS;
}

/* ---- what is wanted -------------------------------------------------------------------------- */

gni_return_t GNI_GetErrorMask(gni_err_handle_t err_handle, gni_error_mask_t *mask)
{
    if (!errors_ok(err_handle) || mask == NULL)
        return GNI_RC_INVALID_PARAM;
    *mask = err_handle->mask;
    return GNI_RC_SUCCESS;
}

/* Any mask is accepted: 0 silences the subscription. Events that are queued already stay queued. */
gni_return_t GNI_SetErrorMask(gni_err_handle_t err_handle, gni_error_mask_t mask_in,
                              gni_error_mask_t *mask_out)
{
    if (mask_out == NULL || !enter(err_handle, false))
        return GNI_RC_INVALID_PARAM;
    *mask_out = err_handle->mask;
    err_handle->mask = mask_in;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_SetErrorPtag(gni_err_handle_t err_handle, uint8_t ptag)
{
    if (!enter(err_handle, false))
        return GNI_RC_INVALID_PARAM;
    if (!err_handle->process->privileged)
        return GNI_RC_PERMISSION_ERROR;
    err_handle->ptag = ptag;
    return GNI_RC_SUCCESS;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool pop_event(struct gni_err *errors, gni_error_event_t *event)
{
    const gni_error_event_t *oldest = &errors->ring[errors->head];

    assert(errors->count > 0 && errors->count <= errors->capacity);
    assert(errors->head < errors->capacity);
    if (!aries_copy(event, oldest, sizeof(*event)))
        return false;
    errors->head = (errors->head + 1) % errors->capacity;
    errors->count--;
    return true;
}

gni_return_t GNI_GetErrorEvent(gni_err_handle_t err_handle, gni_error_event_t *event)
{
    if (event == NULL || !enter(err_handle, true))
        return GNI_RC_INVALID_PARAM;
    if (err_handle->count == 0)
        return GNI_RC_NOT_DONE;
    return pop_event(err_handle, event) ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

static void forget(struct gni_err *errors, const struct sim_fiber *fiber)
{
    uint32_t i;

    for (i = 0; i < errors->waiters_count && errors->waiters[i] != fiber; i++)
        ;
    if (i < errors->waiters_count)
        errors->waiters[i] = errors->waiters[--errors->waiters_count];
}

void aries_errors_forget(struct aries_process *process, const struct sim_fiber *fiber)
{
    struct aries_list *link;

    for (link = process->errors.next; link != &process->errors; link = link->next)
        forget(sim_container_of(link, struct gni_err, process_link), fiber);
}

static bool __attribute__((unused)) wakes(const void *on)
{
    const struct gni_err *errors = on;

    return !errors_ok(errors) || errors->count > 0;
}

/* Blocks until there is an event. TIMEOUT: the deadline has passed. */
static gni_return_t block(struct gni_err *errors, sim_time_t deadline)
{
    const struct sim_wait wait = {.text = "error events", SIM_WAKES(wakes, errors)};
    gni_return_t result = GNI_RC_SUCCESS;

    errors->refs++;
    errors->waiters =
        g_renew(struct sim_fiber *, errors->waiters, (size_t)errors->waiters_count + 1);
    errors->waiters[errors->waiters_count++] = sim_fiber_self();
    while (result == GNI_RC_SUCCESS && errors->count == 0) {
        if (aries_interrupted(errors->process))
            result = GNI_RC_NOT_DONE;
        else if (sim_now() >= deadline)
            result = GNI_RC_TIMEOUT;
        else
            sim_wait_until(deadline, &wait);
        if (!errors_ok(errors))
            result = GNI_RC_INVALID_PARAM;
    }
    forget(errors, sim_fiber_self());
    unref(errors);
    return result;
}

gni_return_t GNI_WaitErrorEvents(gni_err_handle_t err_handle, gni_error_event_t *events,
                                 uint32_t events_size, uint32_t timeout, uint32_t *num_events)
{
    const struct aries_timing *timing;
    sim_time_t deadline = SIM_NEVER;
    gni_return_t result;

    if (events == NULL || events_size == 0 || num_events == NULL || !enter(err_handle, true))
        return GNI_RC_INVALID_PARAM;
    *num_events = 0;
    timing = &err_handle->hw->fabric->timing;
    if (err_handle->count == 0) {
        result = block(err_handle, SIM_NEVER);
        if (result != GNI_RC_SUCCESS)
            return result;
        sim_spend(timing->irq_wake);
    }
    if (timeout != UINT32_MAX)
        deadline = sim_now() + timeout * SIM_MS;
    do {
        while (*num_events < events_size && err_handle->count > 0) {
            if (!pop_event(err_handle, &events[*num_events]))
                return GNI_RC_PERMISSION_ERROR;
            ++*num_events;
        }
        if (*num_events == events_size)
            return GNI_RC_SUCCESS;
        result = block(err_handle, *num_events > 0 ? deadline : SIM_NEVER);
    } while (result == GNI_RC_SUCCESS);
    /* A signal ends the collection of events early. */
    return result == GNI_RC_NOT_DONE && *num_events > 0 ? GNI_RC_TIMEOUT : result;
}
