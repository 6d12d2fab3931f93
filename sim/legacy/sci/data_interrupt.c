/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interrupts with data: each one arrives, in the order of one sender. */
#include <string.h>

#include "devices.h"

enum { DATA_MAX = 4096 };

struct sci_local_data_interrupt {
    struct sci_interrupt base;
    GQueue arrived; /* of GBytes, oldest first */
    GPtrArray *waiters;
    sci_cb_data_interrupt_t callback;
    void *arg;
};

struct sci_remote_data_interrupt {
    struct sci_interrupt_peer base;
};

void SCICreateDataInterrupt(sci_desc_t desc, sci_local_data_interrupt_t *interrupt,
                            unsigned adapter, unsigned *number, sci_cb_data_interrupt_t callback,
                            void *arg, unsigned flags, sci_error_t *error)
{
    struct sci_local_data_interrupt *made =
        sci_interrupt_new(interrupt != NULL ? desc : NULL, SCI_INTERRUPT_DATA, sizeof(*made),
                          adapter, number, flags, error);

    if (made == NULL)
        return;
    made->waiters = g_ptr_array_new();
    g_queue_init(&made->arrived);
    made->callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL;
    made->arg = arg;
    *interrupt = made;
}

static void local_free(struct sci_local_data_interrupt *interrupt)
{
    sci_interrupt_unlink(&interrupt->base);
    while (!g_queue_is_empty(&interrupt->arrived))
        g_bytes_unref(g_queue_pop_head(&interrupt->arrived));
    g_ptr_array_unref(interrupt->waiters);
    g_free(interrupt);
}

void SCIRemoveDataInterrupt(sci_local_data_interrupt_t interrupt, unsigned flags,
                            sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error) &&
        !sci_fails(error, interrupt == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        local_free(interrupt);
}

void SCIWaitForDataInterrupt(sci_local_data_interrupt_t interrupt, void *data, unsigned *length,
                             unsigned timeout, unsigned flags, sci_error_t *error)
{
    static const struct sim_wait wait = {.text = "an SCI interrupt with data"};
    sim_time_t deadline;
    GBytes *first;
    unsigned room;

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, interrupt == NULL || data == NULL || length == NULL
                             ? SCI_ERR_ILLEGAL_PARAMETER
                         : interrupt->callback != NULL ? SCI_ERR_ILLEGAL_OPERATION
                                                       : SCI_ERR_OK))
        return;
    sim_settle();
    deadline = sci_deadline(timeout);
    while (g_queue_is_empty(&interrupt->arrived) && sim_now() < deadline)
        sci_wait(interrupt->waiters, deadline, &wait);
    if (sci_fails(error, g_queue_is_empty(&interrupt->arrived) ? SCI_ERR_TIMEOUT : SCI_ERR_OK))
        return;
    first = g_queue_peek_head(&interrupt->arrived);
    room = *length;
    *length = (unsigned)g_bytes_get_size(first);
    if (sci_fails(error, *length > room ? SCI_ERR_NOSPC : SCI_ERR_OK))
        return;
    if (*length != 0)
        memcpy(data, g_bytes_get_data(first, NULL), *length);
    g_bytes_unref(g_queue_pop_head(&interrupt->arrived));
}

void SCIConnectDataInterrupt(sci_desc_t desc, sci_remote_data_interrupt_t *interrupt, unsigned node,
                             unsigned adapter, unsigned number, unsigned timeout, unsigned flags,
                             sci_error_t *error)
{
    struct sci_remote_data_interrupt *made =
        sci_interrupt_connect(interrupt != NULL ? desc : NULL, SCI_INTERRUPT_DATA, sizeof(*made),
                              node, adapter, number, timeout, flags, error);

    if (made != NULL)
        *interrupt = made;
}

void SCIDisconnectDataInterrupt(sci_remote_data_interrupt_t interrupt, unsigned flags,
                                sci_error_t *error)
{
    sci_interrupt_disconnect(interrupt != NULL ? &interrupt->base : NULL, flags, error);
}

static void arrive(struct sim_event *event)
{
    struct sci_interrupt_message *message =
        sim_container_of(event, struct sci_interrupt_message, timer.event);
    struct sci_local_data_interrupt *interrupt =
        (struct sci_local_data_interrupt *)sci_interrupt_find(message->to, SCI_INTERRUPT_DATA,
                                                              message->number);

    if (interrupt != NULL && sci_interrupt_delivered(message, "interrupt with data")) {
        if (interrupt->callback != NULL)
            interrupt->callback(interrupt->arg, interrupt, message->data, message->length,
                                SCI_ERR_OK);
        else
            g_queue_push_tail(&interrupt->arrived, g_bytes_new(message->data, message->length));
        sci_wake(interrupt->waiters);
    }
    g_free(message);
}

void SCITriggerDataInterrupt(sci_remote_data_interrupt_t interrupt, const void *data,
                             unsigned length, unsigned flags, sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error) &&
        !sci_fails(error, interrupt == NULL || (data == NULL && length != 0)
                              ? SCI_ERR_ILLEGAL_PARAMETER
                          : length > DATA_MAX ? SCI_ERR_OUT_OF_RANGE
                                              : SCI_ERR_OK))
        sci_interrupt_send(&interrupt->base, data, length, arrive, error);
}

void sci_data_interrupts_release(struct sci_desc *desc)
{
    while (desc->interrupts[SCI_INTERRUPT_DATA] != NULL)
        local_free((struct sci_local_data_interrupt *)desc->interrupts[SCI_INTERRUPT_DATA]);
}
