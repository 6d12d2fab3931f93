/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interrupts that a process triggers at another one. Several may arrive as one. */
#include "devices.h"

struct sci_local_interrupt {
    struct sci_interrupt base;
    bool pending;
    GPtrArray *waiters;
    sci_cb_interrupt_t callback;
    void *arg;
};

struct sci_remote_interrupt {
    struct sci_interrupt_peer base;
};

void SCICreateInterrupt(sci_desc_t desc, sci_local_interrupt_t *interrupt, unsigned adapter,
                        unsigned *number, sci_cb_interrupt_t callback, void *arg, unsigned flags,
                        sci_error_t *error)
{
    struct sci_local_interrupt *made =
        sci_interrupt_new(interrupt != NULL ? desc : NULL, SCI_INTERRUPT_PLAIN, sizeof(*made),
                          adapter, number, flags, error);

    if (made == NULL)
        return;
    made->waiters = g_ptr_array_new();
    made->callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL;
    made->arg = arg;
    *interrupt = made;
}

static void local_free(struct sci_local_interrupt *interrupt)
{
    sci_interrupt_unlink(&interrupt->base);
    g_ptr_array_unref(interrupt->waiters);
    g_free(interrupt);
}

void SCIRemoveInterrupt(sci_local_interrupt_t interrupt, unsigned flags, sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error) &&
        !sci_fails(error, interrupt == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        local_free(interrupt);
}

void SCIWaitForInterrupt(sci_local_interrupt_t interrupt, unsigned timeout, unsigned flags,
                         sci_error_t *error)
{
    static const struct sim_wait wait = {.text = "an SCI interrupt"};
    sim_time_t deadline;

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, interrupt == NULL             ? SCI_ERR_ILLEGAL_PARAMETER
                         : interrupt->callback != NULL ? SCI_ERR_ILLEGAL_OPERATION
                                                       : SCI_ERR_OK))
        return;
    sim_settle();
    deadline = sci_deadline(timeout);
    while (!interrupt->pending && sim_now() < deadline)
        sci_wait(interrupt->waiters, deadline, &wait);
    if (!sci_fails(error, interrupt->pending ? SCI_ERR_OK : SCI_ERR_TIMEOUT))
        interrupt->pending = false;
}

void SCIConnectInterrupt(sci_desc_t desc, sci_remote_interrupt_t *interrupt, unsigned node,
                         unsigned adapter, unsigned number, unsigned timeout, unsigned flags,
                         sci_error_t *error)
{
    struct sci_remote_interrupt *made =
        sci_interrupt_connect(interrupt != NULL ? desc : NULL, SCI_INTERRUPT_PLAIN, sizeof(*made),
                              node, adapter, number, timeout, flags, error);

    if (made != NULL)
        *interrupt = made;
}

void SCIDisconnectInterrupt(sci_remote_interrupt_t interrupt, unsigned flags, sci_error_t *error)
{
    sci_interrupt_disconnect(interrupt != NULL ? &interrupt->base : NULL, flags, error);
}

static void arrive(struct sim_event *event)
{
    struct sci_interrupt_message *trigger =
        sim_container_of(event, struct sci_interrupt_message, timer.event);
    struct sci_local_interrupt *interrupt = (struct sci_local_interrupt *)sci_interrupt_find(
        trigger->to, SCI_INTERRUPT_PLAIN, trigger->number);

    if (interrupt != NULL && sci_interrupt_delivered(trigger, "interrupt")) {
        if (interrupt->callback != NULL)
            interrupt->callback(interrupt->arg, interrupt, SCI_ERR_OK);
        else
            interrupt->pending = true;
        sci_wake(interrupt->waiters);
    }
    g_free(trigger);
}

void SCITriggerInterrupt(sci_remote_interrupt_t interrupt, unsigned flags, sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error) &&
        !sci_fails(error, interrupt == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        sci_interrupt_send(&interrupt->base, NULL, 0, arrive, error);
}

void sci_interrupts_release(struct sci_desc *desc)
{
    while (desc->interrupts[SCI_INTERRUPT_PLAIN] != NULL)
        local_free((struct sci_local_interrupt *)desc->interrupts[SCI_INTERRUPT_PLAIN]);
    sci_interrupt_peers_release(desc);
}
