/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of MSG connections, in fragments of a datagram. They are repeated until they are
 * acknowledged.
 */
#include <stdlib.h>

#include "cm_nic.h"
#include "eq.h"
#include "gnip.h"
#include "msg_cm.h"
#include "proto.h"

#define MS 1000000ull
#define DELAY_MAX (1000 * MS)
#define REPEATS_MAX 10

/* ---- sending --------------------------------------------------------------------------------- */

static uint8_t fragments_of(size_t data_bytes)
{
    return (uint8_t)(1 + (data_bytes + GNIP_CM_FRAGMENT - 1) / GNIP_CM_FRAGMENT);
}

static bool has_head(uint8_t type)
{
    return type == GNIP_CM_CONNREQ || type == GNIP_CM_ACCEPT;
}

struct gnip_msg_out *gnip_msg_out_new(enum gnip_cm_type type, const struct gnip_cm_connect *head,
                                      const void *data, size_t data_bytes)
{
    struct gnip_msg_out *out = calloc(1, sizeof(*out) + data_bytes);

    if (out == NULL)
        return NULL;
    out->type = (uint8_t)type;
    out->fragments = fragments_of(data_bytes);
    out->data_bytes = (uint16_t)data_bytes;
    if (head != NULL)
        out->head = *head;
    if (data_bytes > 0)
        memcpy(out->data, data, data_bytes);
    return out;
}

void gnip_msg_out_free(struct gnip_msg_out *out)
{
    if (out != NULL && out->started)
        port_timer_stop(&out->timer);
    free(out);
}

/* Returns what gnip_cm_send returns. */
static int send_message(struct gnip_cm_nic *cm_nic, const struct gnip_msg_ends *ends,
                        struct gnip_cm_message *header, const void *payload)
{
    uint8_t message[GNIP_CM_BYTES];

    header->version = GNIP_WIRE_VERSION;
    header->target_cdm = ends->target_cdm;
    header->source_cdm = ends->source_cdm;
    header->connection = ends->connection;
    header->incarnation = ends->incarnation;
    header->active = ends->active;
    memcpy(message, header, sizeof(*header));
    if (payload != NULL && header->fragment_bytes > 0)
        memcpy(message + sizeof(*header), payload, header->fragment_bytes);
    port_spend(PORT_COST_CONNECT, 1);
    return gnip_cm_send(cm_nic, ends->device_addr, ends->cm_cdm, message,
                        (uint32_t)sizeof(*header) + header->fragment_bytes);
}

static int send_fragment(struct gnip_cm_nic *cm_nic, const struct gnip_msg_ends *ends,
                         const struct gnip_msg_out *out, uint8_t fragment)
{
    struct gnip_cm_message header = {.type = out->type,
                                     .reason = out->reason,
                                     .fragment = fragment,
                                     .fragments = out->fragments,
                                     .total = out->data_bytes};
    const uint8_t *payload = (const uint8_t *)&out->head;
    size_t at, bytes = 0;

    if (fragment > 0) {
        at = (fragment - 1u) * GNIP_CM_FRAGMENT;
        bytes = out->data_bytes - at;
        if (bytes > GNIP_CM_FRAGMENT)
            bytes = GNIP_CM_FRAGMENT;
        payload = out->data + at;
        header.type = GNIP_CM_DATA;
        header.reason = out->type;
    } else if (has_head(out->type)) {
        bytes = sizeof(out->head);
    }
    header.fragment_bytes = (uint8_t)bytes;
    return send_message(cm_nic, ends, &header, payload);
}

/*
 * Differs between connections, so that peers whose requests a listener refused do not return all at
 * once.
 */
static void start(struct gnip_msg_out *out)
{
    assert(out->delay >= 2 && out->delay <= DELAY_MAX);
    port_timer_start(&out->timer, out->delay * 3 / 4 + port_random() % (out->delay / 2));
    out->started = true;
}

int gnip_msg_out_push(struct gnip_cm_nic *cm_nic, const struct gnip_msg_ends *ends,
                      struct gnip_msg_out *out)
{
    assert(out->next <= out->fragments && out->tries <= REPEATS_MAX);
    if (!out->started) {
        out->delay = MS;
        start(out);
    } else if (port_timer_rang(&out->timer)) {
        if (out->tries == REPEATS_MAX)
            return -FI_ETIMEDOUT;
        out->tries++;
        out->delay = out->delay * 2 < DELAY_MAX ? out->delay * 2 : DELAY_MAX;
        port_timer_stop(&out->timer);
        start(out);
        if (out->next == out->fragments)
            out->next = 0;
    }
    /* A message that fails for another reason than a lack of datagrams counts as lost. */
    while (out->next < out->fragments && send_fragment(cm_nic, ends, out, out->next) != -FI_EAGAIN)
        out->next++;
    return 0;
}

void gnip_msg_out_probe(struct gnip_msg_out *out)
{
    out->tries = 0;
    if (out->delay == DELAY_MAX || !out->started)
        return;
    out->delay = DELAY_MAX;
    port_timer_stop(&out->timer);
    start(out);
}

bool gnip_msg_ack(struct gnip_cm_nic *cm_nic, const struct gnip_msg_ends *ends,
                  enum gnip_cm_type type)
{
    struct gnip_cm_message header = {.type = GNIP_CM_ACK, .reason = (uint16_t)type, .fragments = 1};

    return send_message(cm_nic, ends, &header, NULL) != -FI_EAGAIN;
}

bool gnip_msg_unknown(struct gnip_cm_nic *cm_nic, const struct gnip_msg_ends *ends)
{
    struct gnip_cm_message header = {
        .type = GNIP_CM_SHUTDOWN, .reason = GNIP_CM_UNKNOWN, .fragments = 1};

    return send_message(cm_nic, ends, &header, NULL) != -FI_EAGAIN;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* The bytes that this fragment must have. */
static size_t expected_bytes(const struct gnip_cm_message *header)
{
    size_t at;

    if (header->fragment == 0)
        return has_head(header->type) ? sizeof(struct gnip_cm_connect) : 0;
    at = (header->fragment - 1u) * GNIP_CM_FRAGMENT;
    return header->total - at < GNIP_CM_FRAGMENT ? header->total - at : GNIP_CM_FRAGMENT;
}

bool gnip_msg_parse(const void *message, uint32_t bytes, struct gnip_cm_message *header,
                    const uint8_t **payload)
{
    if (bytes < sizeof(*header))
        return false;
    memcpy(header, message, sizeof(*header));
    *payload = (const uint8_t *)message + sizeof(*header);
    return header->version == GNIP_WIRE_VERSION && header->incarnation != 0 &&
           header->type >= GNIP_CM_CONNREQ && header->type <= GNIP_CM_ACK &&
           header->total <= GNIP_CM_DATA_MAX && header->fragments == fragments_of(header->total) &&
           header->fragment < header->fragments &&
           (header->fragment > 0) == (header->type == GNIP_CM_DATA) &&
           header->fragment_bytes == expected_bytes(header) &&
           header->fragment_bytes <= bytes - sizeof(*header);
}

bool gnip_msg_in_add(struct gnip_msg_in *in, const struct gnip_cm_message *header,
                     const uint8_t *payload)
{
    uint8_t type = header->type == GNIP_CM_DATA ? (uint8_t)header->reason : header->type;

    /* it is the first fragment of this message */
    if (in->type != type || in->data_bytes != header->total) {
        in->type = type;
        in->data_bytes = (uint16_t)header->total;
        in->fragments = header->fragments;
        in->have = 0;
    }
    if (header->fragment == 0)
        memcpy(&in->head, payload, header->fragment_bytes);
    else
        memcpy(in->data + (header->fragment - 1u) * GNIP_CM_FRAGMENT, payload,
               header->fragment_bytes);
    in->have |= (uint8_t)(1u << header->fragment);
    return in->have == (1u << in->fragments) - 1;
}

/* ---- events for the application -------------------------------------------------------------- */

int gnip_msg_event(struct gnip_eq *eq, uint32_t kind, struct fid *fid, struct fi_info *info,
                   const void *data, size_t data_bytes)
{
    struct fi_eq_cm_entry entry = {.fid = fid, .info = info};
    uint8_t event[sizeof(entry) + GNIP_CM_DATA_MAX];

    memcpy(event, &entry, sizeof(entry));
    if (data_bytes > 0)
        memcpy(event + sizeof(entry), data, data_bytes);
    return gnip_eq_add(eq, kind, event, sizeof(entry) + data_bytes);
}
