/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A transfer machine in a domain of its own, and its buffers. */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "nettest/pvt.h"

static void on_state(const struct m0_net_tm_event *event)
{
    struct m0_nettest_machine *machine = container_of(event->nte_tm, struct m0_nettest_machine, tm);

    m0_mutex_lock(&machine->lock);
    if (event->nte_type == M0_NET_TEV_STATE_CHANGE) {
        machine->state = event->nte_next_state;
        machine->status = event->nte_status;
    } else if (event->nte_type == M0_NET_TEV_ERROR && event->nte_status != -ENOBUFS) {
        machine->lost = event->nte_status; /* it fails after this callback */
    }
    m0_cond_broadcast(&machine->changed);
    m0_mutex_unlock(&machine->lock);
}

static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = on_state};

static void on_end(const struct m0_net_buffer_event *event)
{
    struct m0_nettest_buffer *buffer =
        container_of(event->nbe_buffer, struct m0_nettest_buffer, nb);
    struct m0_nettest_machine *machine = buffer->machine;

    m0_mutex_lock(&machine->lock);
    if (!machine->closing)
        machine->end(machine->owner, buffer, event);
    else
        m0_net_desc_free(&buffer->nb.nb_desc);
    m0_mutex_unlock(&machine->lock);
}

static const struct m0_net_buffer_callbacks callbacks = {
    .nbc_cb = {on_end, on_end, on_end, on_end, on_end, on_end}};

static int await(struct m0_nettest_machine *machine, enum m0_net_tm_state state)
{
    int rc;

    m0_mutex_lock(&machine->lock);
    while (machine->state != state && machine->state != M0_NET_TM_FAILED)
        m0_cond_wait(&machine->changed);
    rc = machine->state == state ? 0 : machine->status;
    m0_mutex_unlock(&machine->lock);
    return rc;
}

int m0_nettest_machine_open(struct m0_nettest_machine *machine, const struct m0_net_xprt *xprt,
                            const char *address, const struct m0_nettest_prepare *prepare,
                            m0_nettest_end_t end, void *owner)
{
    int rc = m0_net_domain_init(&machine->dom, xprt);

    if (rc != 0)
        return rc;
    machine->tm.ntm_callbacks = &tm_callbacks;
    machine->end = end;
    machine->owner = owner;
    m0_mutex_init(&machine->lock);
    m0_cond_init(&machine->changed, &machine->lock);
    if (prepare != NULL && prepare->call != NULL)
        prepare->call(&machine->dom, prepare->arg);
    rc = m0_net_tm_init(&machine->tm, &machine->dom);
    if (rc != 0)
        goto machine;
    rc = m0_net_tm_start(&machine->tm, address);
    if (rc == 0)
        rc = await(machine, M0_NET_TM_STARTED);
    if (rc == 0)
        return 0;
    m0_net_tm_fini(&machine->tm);
machine:
    m0_cond_fini(&machine->changed);
    m0_mutex_fini(&machine->lock);
    m0_net_domain_fini(&machine->dom);
    return rc;
}

void m0_nettest_machine_stop(struct m0_nettest_machine *machine)
{
    m0_mutex_lock(&machine->lock);
    machine->closing = true;
    if (machine->lost == 0)
        m0_net_tm_stop(&machine->tm, true);
    m0_mutex_unlock(&machine->lock);
    await(machine, M0_NET_TM_STOPPED); /* or, if its driver is lost, the failure */
}

void m0_nettest_machine_fini(struct m0_nettest_machine *machine)
{
    m0_net_tm_fini(&machine->tm);
    m0_net_domain_fini(&machine->dom);
    m0_cond_fini(&machine->changed);
    m0_mutex_fini(&machine->lock);
}

/* ---- buffers --------------------------------------------------------------------------------- */

void m0_nettest_buffers_free(struct m0_nettest_machine *machine, uint32_t count,
                             struct m0_nettest_buffer *buffers)
{
    uint32_t i;

    for (i = 0; buffers != NULL && i < count; i++) {
        m0_net_buffer_deregister(&buffers[i].nb, &machine->dom);
        m0_bufvec_free_aligned(&buffers[i].nb.nb_buffer, M0_SEG_SHIFT);
    }
    m0_free(buffers);
}

int m0_nettest_buffers_make(struct m0_nettest_machine *machine, uint32_t count, uint64_t bytes,
                            struct m0_nettest_buffer **buffers)
{
    uint32_t segments = (uint32_t)((bytes + M0_NETTEST_SEGMENT - 1) / M0_NETTEST_SEGMENT), i;
    struct m0_nettest_buffer *made;
    int rc = 0;

    *buffers = NULL;
    M0_ALLOC_ARR(made, count);
    if (made == NULL)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        rc = m0_bufvec_alloc_aligned(&made[i].nb.nb_buffer, segments, M0_NETTEST_SEGMENT,
                                     M0_SEG_SHIFT);
        if (rc != 0)
            break;
        made[i].machine = machine;
        made[i].index = i;
        made[i].nb.nb_callbacks = &callbacks;
        rc = m0_net_buffer_register(&made[i].nb, &machine->dom);
        if (rc != 0) {
            m0_bufvec_free_aligned(&made[i].nb.nb_buffer, M0_SEG_SHIFT);
            break;
        }
    }
    if (rc == 0)
        *buffers = made;
    else
        m0_nettest_buffers_free(machine, i, made);
    return rc;
}

int m0_nettest_add(struct m0_nettest_buffer *buffer, enum m0_net_queue_type qtype,
                   m0_time_t timeout)
{
    struct m0_nettest_machine *machine = buffer->machine;

    M0_PRE(m0_mutex_is_locked(&machine->lock));
    if (machine->closing || machine->lost != 0)
        return machine->lost != 0 ? machine->lost : -ESHUTDOWN;
    buffer->nb.nb_qtype = qtype;
    buffer->nb.nb_timeout = timeout == 0 ? M0_TIME_NEVER : m0_time_add(m0_time_now(), timeout);
    return m0_net_buffer_add(&buffer->nb, &machine->tm);
}

int m0_nettest_receive(struct m0_nettest_buffer *buffer, uint64_t bytes)
{
    buffer->nb.nb_ep = NULL;
    buffer->nb.nb_min_receive_size = bytes;
    buffer->nb.nb_max_receive_msgs = 1;
    return m0_nettest_add(buffer, M0_NET_QT_MSG_RECV, 0);
}

void m0_nettest_put(struct m0_nettest_buffer *buffer, const void *bytes, size_t count)
{
    size_t done, part;
    uint32_t i;

    for (done = 0, i = 0; done < count; done += part, i++) {
        part = min_type(size_t, count - done, M0_NETTEST_SEGMENT);
        memcpy(buffer->nb.nb_buffer.ov_buf[i], (const char *)bytes + done, part);
    }
    buffer->nb.nb_length = count;
}

size_t m0_nettest_get(const struct m0_nettest_buffer *buffer, void *bytes, size_t count)
{
    size_t done, part;
    uint32_t i;

    for (done = 0, i = 0; done < count && i < buffer->nb.nb_buffer.ov_vec.v_nr; done += part, i++) {
        part = min_type(size_t, count - done, M0_NETTEST_SEGMENT);
        memcpy((char *)bytes + done, buffer->nb.nb_buffer.ov_buf[i], part);
    }
    return done;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Neighbours differ, as do pages and seeds. */
static uint64_t word_at(uint64_t at, uint64_t seed)
{
    return (at + 1) * 0x9e3779b97f4a7c15ull ^ seed * 0xbf58476d1ce4e5b9ull;
}

void m0_nettest_fill(struct m0_nettest_buffer *buffer, uint64_t from, uint64_t bytes, uint64_t seed)
{
    uint64_t at, word;

    M0_PRE(from % sizeof(word) == 0);
    for (at = from; at < bytes; at += sizeof(word)) {
        char *place = buffer->nb.nb_buffer.ov_buf[at / M0_NETTEST_SEGMENT];

        word = word_at(at, seed);
        memcpy(place + at % M0_NETTEST_SEGMENT, &word,
               min_type(uint64_t, sizeof(word), bytes - at));
    }
    buffer->nb.nb_length = bytes;
}

bool m0_nettest_is_filled(const struct m0_nettest_buffer *buffer, uint64_t from, uint64_t bytes,
                          uint64_t seed)
{
    uint64_t at, word;

    for (at = from; at < bytes; at += sizeof(word)) {
        const char *place = buffer->nb.nb_buffer.ov_buf[at / M0_NETTEST_SEGMENT];

        word = word_at(at, seed);
        if (memcmp(place + at % M0_NETTEST_SEGMENT, &word,
                   min_type(uint64_t, sizeof(word), bytes - at)) != 0)
            return false;
    }
    return true;
}
