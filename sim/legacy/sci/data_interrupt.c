/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interrupts with data: each one arrives, in the order of one sender. */
#include <string.h>

#include "devices.h"

enum { DATA_MAX = 4096 };

struct sci_local_data_interrupt {
    struct sci_local_data_interrupt *next, *on_card;
    struct sci_desc *desc;
    struct sci_card *card;
    unsigned number;
    GQueue arrived; /* of GBytes, oldest first */
    GPtrArray *waiters;
    sci_cb_data_interrupt_t callback;
    void *arg;
};

struct sci_remote_data_interrupt {
    struct sci_remote_data_interrupt *next;
    struct sci_desc *desc;
    struct sci_card *card, *to;
    unsigned number;
};

/* One on the wire. */
struct message {
    struct sim_timer timer;
    struct sci_card *card, *to;
    unsigned number, length;
    char data[];
};

static struct sci_local_data_interrupt *find(const struct sci_card *card, unsigned number)
{
    struct sci_local_data_interrupt *each = card->data_interrupts;

    while (each != NULL && each->number != number)
        each = each->on_card;
    return each;
}

void SCICreateDataInterrupt(sci_desc_t desc, sci_local_data_interrupt_t *interrupt,
                            unsigned adapter, unsigned *number, sci_cb_data_interrupt_t callback,
                            void *arg, unsigned flags, sci_error_t *error)
{
    struct sci_card *card = sci_card_find(adapter, error);
    bool fixed = (flags & SCI_FLAG_FIXED_INTNO) != 0;
    struct sci_local_data_interrupt *made;

    if (card == NULL || !sci_flags_ok(flags, SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, error) ||
        sci_fails(error, desc == NULL || interrupt == NULL || number == NULL
                             ? SCI_ERR_ILLEGAL_PARAMETER
                         : fixed && find(card, *number) != NULL ? SCI_ERR_BUSY
                                                                : SCI_ERR_OK))
        return;
    while (!fixed && find(card, card->next_data_interrupt) != NULL)
        card->next_data_interrupt++;
    if (!fixed)
        *number = card->next_data_interrupt++;
    made = g_new0(struct sci_local_data_interrupt, 1);
    made->desc = desc;
    made->card = card;
    made->number = *number;
    made->waiters = g_ptr_array_new();
    g_queue_init(&made->arrived);
    made->callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL;
    made->arg = arg;
    made->next = desc->data_interrupts;
    desc->data_interrupts = made;
    made->on_card = card->data_interrupts;
    card->data_interrupts = made;
    desc->objects++;
    *interrupt = made;
}

static void local_free(struct sci_local_data_interrupt *interrupt)
{
    struct sci_local_data_interrupt **place = &interrupt->desc->data_interrupts;

    while (*place != interrupt)
        place = &(*place)->next;
    *place = interrupt->next;
    place = &interrupt->card->data_interrupts;
    while (*place != interrupt)
        place = &(*place)->on_card;
    *place = interrupt->on_card;
    interrupt->desc->objects--;
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
    struct sci_card *card = sci_card_find(adapter, error), *to;
    struct sci_remote_data_interrupt *made;

    if (card == NULL || !sci_flags_ok(flags, 0, error) ||
        sci_fails(error,
                  desc == NULL || interrupt == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return;
    to = sci_card_of_node(card, node);
    if (sci_fails(error, to == NULL ? SCI_ERR_ILLEGAL_NODEID : SCI_ERR_OK) ||
        !sci_connecting(card, timeout, error) || sci_fails(error, sci_access(card, to)) ||
        sci_fails(error, find(to, number) == NULL ? SCI_ERR_NO_SUCH_INTNO : SCI_ERR_OK))
        return;
    made = g_new0(struct sci_remote_data_interrupt, 1);
    made->desc = desc;
    made->card = card;
    made->to = to;
    made->number = number;
    made->next = desc->remote_data_interrupts;
    desc->remote_data_interrupts = made;
    desc->objects++;
    *interrupt = made;
}

static void remote_free(struct sci_remote_data_interrupt *interrupt)
{
    struct sci_remote_data_interrupt **place = &interrupt->desc->remote_data_interrupts;

    while (*place != interrupt)
        place = &(*place)->next;
    *place = interrupt->next;
    interrupt->desc->objects--;
    g_free(interrupt);
}

void SCIDisconnectDataInterrupt(sci_remote_data_interrupt_t interrupt, unsigned flags,
                                sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error) &&
        !sci_fails(error, interrupt == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        remote_free(interrupt);
}

static void arrive(struct sim_event *event)
{
    struct message *message = sim_container_of(event, struct message, timer.event);
    struct legacy_packet packet = {.source = message->card->endpoint,
                                   .target = message->to->endpoint,
                                   .bytes = SCI_LINE_BYTES + message->length,
                                   .what = "interrupt with data"};
    struct sci_local_data_interrupt *interrupt = find(message->to, message->number);

    if (interrupt != NULL &&
        legacy_transmit(message->card->devices->network, &packet) == LEGACY_DELIVERED) {
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
    struct legacy_network *network;
    struct message *message;
    unsigned lines;

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, interrupt == NULL || (data == NULL && length != 0)
                             ? SCI_ERR_ILLEGAL_PARAMETER
                         : length > DATA_MAX ? SCI_ERR_OUT_OF_RANGE
                                             : SCI_ERR_OK))
        return;
    sim_settle();
    if (sci_fails(error, sci_access(interrupt->card, interrupt->to)))
        return;
    network = interrupt->card->devices->network;
    lines = 1 + (length + SCI_LINE_BYTES - 1) / SCI_LINE_BYTES;
    message = g_malloc0(sizeof(*message) + length);
    message->card = interrupt->card;
    message->to = interrupt->to;
    message->number = interrupt->number;
    message->length = length;
    if (length != 0)
        memcpy(message->data, data, length);
    message->timer.event.fire = arrive;
    sim_timer_arm(&message->timer, legacy_occupy(&interrupt->card->link, sim_now(),
                                                 legacy_service(network, SCI_LINE_US, lines)) +
                                       legacy_service(network, SCI_BASE_US, 1));
}

void sci_data_interrupts_release(struct sci_desc *desc)
{
    while (desc->data_interrupts != NULL)
        local_free(desc->data_interrupts);
    while (desc->remote_data_interrupts != NULL)
        remote_free(desc->remote_data_interrupts);
}
