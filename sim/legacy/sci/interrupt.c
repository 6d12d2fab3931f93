/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interrupts that a process triggers at another one. Several may arrive as one. */
#include <assert.h>

#include "devices.h"

struct sci_local_interrupt {
    struct sci_local_interrupt *next, *on_card;
    struct sci_desc *desc;
    struct sci_card *card;
    unsigned number;
    bool pending;
    GPtrArray *waiters;
    sci_cb_interrupt_t callback;
    void *arg;
};

struct sci_remote_interrupt {
    struct sci_remote_interrupt *next;
    struct sci_desc *desc;
    struct sci_card *card, *to;
    unsigned number;
};

/* One on the wire. */
struct trigger {
    struct sim_timer timer;
    struct sci_card *card, *to;
    unsigned number;
};

static struct sci_local_interrupt *find(const struct sci_card *card, unsigned number)
{
    struct sci_local_interrupt *interrupt;

    for (interrupt = card->interrupts; interrupt != NULL && interrupt->number != number;
         interrupt = interrupt->on_card)
        ;
    return interrupt;
}

void SCICreateInterrupt(sci_desc_t desc, sci_local_interrupt_t *interrupt, unsigned adapter,
                        unsigned *number, sci_cb_interrupt_t callback, void *arg, unsigned flags,
                        sci_error_t *error)
{
    struct sci_card *card = sci_card_find(adapter, error);
    bool fixed = (flags & SCI_FLAG_FIXED_INTNO) != 0;
    struct sci_local_interrupt *made;

    if (card == NULL || !sci_flags_ok(flags, SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, error) ||
        sci_fails(error, desc == NULL || interrupt == NULL || number == NULL
                             ? SCI_ERR_ILLEGAL_PARAMETER
                         : fixed && find(card, *number) != NULL ? SCI_ERR_BUSY
                                                                : SCI_ERR_OK))
        return;
    while (!fixed && find(card, card->next_interrupt) != NULL)
        card->next_interrupt++;
    if (!fixed)
        *number = card->next_interrupt++;
    made = g_new0(struct sci_local_interrupt, 1);
    made->desc = desc;
    made->card = card;
    made->number = *number;
    made->waiters = g_ptr_array_new();
    made->callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL;
    made->arg = arg;
    made->next = desc->interrupts;
    desc->interrupts = made;
    made->on_card = card->interrupts;
    card->interrupts = made;
    desc->objects++;
    *interrupt = made;
}

static void local_free(struct sci_local_interrupt *interrupt)
{
    struct sci_local_interrupt **place;

    for (place = &interrupt->desc->interrupts; *place != interrupt; place = &(*place)->next)
        ;
    *place = interrupt->next;
    for (place = &interrupt->card->interrupts; *place != interrupt; place = &(*place)->on_card)
        ;
    *place = interrupt->on_card;
    interrupt->desc->objects--;
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
    struct sci_card *card = sci_card_find(adapter, error), *to;
    struct sci_remote_interrupt *made;

    if (card == NULL || !sci_flags_ok(flags, 0, error) ||
        sci_fails(error,
                  desc == NULL || interrupt == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return;
    to = sci_card_of_node(card, node);
    if (sci_fails(error, to == NULL ? SCI_ERR_ILLEGAL_NODEID : SCI_ERR_OK))
        return;
    if (!sci_connecting(card, timeout, error) || sci_fails(error, sci_access(card, to)) ||
        sci_fails(error, find(to, number) == NULL ? SCI_ERR_NO_SUCH_INTNO : SCI_ERR_OK))
        return;
    made = g_new0(struct sci_remote_interrupt, 1);
    made->desc = desc;
    made->card = card;
    made->to = to;
    made->number = number;
    made->next = desc->remote_interrupts;
    desc->remote_interrupts = made;
    desc->objects++;
    *interrupt = made;
}

static void remote_free(struct sci_remote_interrupt *interrupt)
{
    struct sci_remote_interrupt **place;

    for (place = &interrupt->desc->remote_interrupts; *place != interrupt; place = &(*place)->next)
        ;
    *place = interrupt->next;
    interrupt->desc->objects--;
    g_free(interrupt);
}

void SCIDisconnectInterrupt(sci_remote_interrupt_t interrupt, unsigned flags, sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error) &&
        !sci_fails(error, interrupt == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        remote_free(interrupt);
}

static void arrive(struct sim_event *event)
{
    struct trigger *trigger = sim_container_of(event, struct trigger, timer.event);
    struct legacy_packet packet = {.source = trigger->card->endpoint,
                                   .target = trigger->to->endpoint,
                                   .bytes = SCI_LINE_BYTES,
                                   .what = "interrupt"};
    struct sci_local_interrupt *interrupt = find(trigger->to, trigger->number);

    if (interrupt != NULL &&
        legacy_transmit(trigger->card->devices->network, &packet) == LEGACY_DELIVERED) {
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
    struct trigger *trigger;
    struct legacy_network *network;

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, interrupt == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return;
    sim_settle();
    if (sci_fails(error, sci_access(interrupt->card, interrupt->to)))
        return;
    network = interrupt->card->devices->network;
    trigger = g_new0(struct trigger, 1);
    trigger->card = interrupt->card;
    trigger->to = interrupt->to;
    trigger->number = interrupt->number;
    trigger->timer.event.fire = arrive;
    sim_timer_arm(&trigger->timer, legacy_occupy(&interrupt->card->link, sim_now(),
                                                 legacy_service(network, SCI_LINE_US, 1)) +
                                       legacy_service(network, SCI_BASE_US, 1));
}

void sci_interrupts_release(struct sci_desc *desc)
{
    while (desc->interrupts != NULL)
        local_free(desc->interrupts);
    while (desc->remote_interrupts != NULL)
        remote_free(desc->remote_interrupts);
}
