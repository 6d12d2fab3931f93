/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "pcap.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT 1448u /* payload of a full frame with time stamps, as Linux sends it */
#define FRAME_HEADERS 54u /* Ethernet, IPv4, TCP */
#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET 6u
#define LINK_ETHERNET 1u
#define OPTION_TIME_RESOLUTION 9u
#define INITIAL_SEQUENCE 1000u

struct lnet_pcap {
    FILE *file;
    uint64_t epoch_ns;
    int failure; /* errno of the first write that failed */
};

static void put(struct lnet_pcap *pcap, const void *bytes, size_t length)
{
    if (length > 0 && fwrite(bytes, length, 1, pcap->file) != 1 && pcap->failure == 0)
        pcap->failure = errno != 0 ? errno : EIO;
}

static void put32(struct lnet_pcap *pcap, uint32_t value)
{
    put(pcap, &value, 4); /* the section says which byte order it has */
}

static void write_preamble(struct lnet_pcap *pcap)
{
    const uint16_t version[2] = {1, 0}, link[2] = {LINK_ETHERNET, 0};
    const uint16_t option[2] = {OPTION_TIME_RESOLUTION, 1};
    const uint8_t nanoseconds[4] = {9, 0, 0, 0};

    put32(pcap, BLOCK_SECTION);
    put32(pcap, 28);
    put32(pcap, 0x1a2b3c4d);
    put(pcap, version, 4);
    put32(pcap, UINT32_MAX); /* section length: unknown */
    put32(pcap, UINT32_MAX);
    put32(pcap, 28);

    put32(pcap, BLOCK_INTERFACE);
    put32(pcap, 32);
    put(pcap, link, 4);
    put32(pcap, 0); /* no snap length */
    put(pcap, option, 4);
    put(pcap, nanoseconds, 4);
    put32(pcap, 0); /* end of options */
    put32(pcap, 32);
}

struct lnet_pcap *lnet_pcap_open(const char *path, uint64_t epoch_ns, char **error)
{
    struct lnet_pcap *pcap = calloc(1, sizeof(*pcap));

    if (pcap == NULL)
        abort();
    pcap->epoch_ns = epoch_ns;
    pcap->file = fopen(path, "wbe");
    if (pcap->file == NULL) {
        if (asprintf(error, "%s: %s", path, strerror(errno)) < 0)
            abort();
        free(pcap);
        return NULL;
    }
    write_preamble(pcap);
    return pcap;
}

static void put_be16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static void put_be32(uint8_t *to, uint32_t value)
{
    put_be16(to, value >> 16);
    put_be16(to + 2, value & 0xffff);
}

static uint32_t checksum(const uint8_t *bytes, uint32_t length)
{
    uint32_t sum = 0, i;

    for (i = 0; i < length; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

/* Ethernet, IPv4 and TCP. The TCP checksum is left out, as by a card that computes it. */
static void fill_headers(uint8_t *frame, struct lnet_stream_address from,
                         struct lnet_stream_address to, uint32_t sequence, uint32_t acknowledged,
                         uint32_t payload)
{
    uint8_t *ip = frame + 14, *tcp = ip + 20;

    memset(frame, 0, FRAME_HEADERS);
    frame[0] = frame[6] = 2; /* locally administered addresses, of the IP addresses */
    put_be32(frame + 2, to.address);
    put_be32(frame + 8, from.address);
    put_be16(frame + 12, 0x0800);
    ip[0] = 0x45;
    put_be16(ip + 2, 40 + payload);
    ip[6] = 0x40; /* do not fragment */
    ip[8] = 64;
    ip[9] = 6;
    put_be32(ip + 12, from.address);
    put_be32(ip + 16, to.address);
    put_be16(ip + 10, checksum(ip, 20));
    put_be16(tcp, from.port);
    put_be16(tcp + 2, to.port);
    put_be32(tcp + 4, sequence + INITIAL_SEQUENCE);
    put_be32(tcp + 8, acknowledged + INITIAL_SEQUENCE);
    tcp[12] = 0x50;
    tcp[13] = 0x18; /* PSH, ACK */
    put_be16(tcp + 14, 0xffff);
}

/* The next bytes of the pieces. */
struct place {
    const struct iovec *piece;
    size_t offset;
};

static void put_payload(struct lnet_pcap *pcap, struct place *place, uint32_t length)
{
    static const uint8_t zeros[4096];

    while (length > 0) {
        size_t part = place->piece->iov_len - place->offset;
        const char *base = place->piece->iov_base;

        if (part == 0) {
            place->piece++;
            place->offset = 0;
            continue;
        }
        part = part < length ? part : length;
        if (base == NULL) { /* bytes that were discarded */
            part = part < sizeof(zeros) ? part : sizeof(zeros);
            put(pcap, zeros, part);
        } else {
            put(pcap, base + place->offset, part);
        }
        place->offset += part;
        length -= (uint32_t)part;
    }
}

void lnet_pcap_write(struct lnet_pcap *pcap, sim_time_t at, struct lnet_stream_address from,
                     struct lnet_stream_address to, uint32_t sequence, uint32_t acknowledged,
                     const struct iovec *pieces, uint32_t count)
{
    static const uint8_t padding[4];
    uint64_t when = pcap->epoch_ns + at / SIM_NS;
    struct place place = {pieces, 0};
    uint64_t left = 0;
    uint32_t i;

    for (i = 0; i < count; i++)
        left += pieces[i].iov_len;
    while (left > 0) {
        uint32_t payload = left < SEGMENT ? (uint32_t)left : SEGMENT;
        uint32_t frame = FRAME_HEADERS + payload, padded = (frame + 3) & ~3u;
        uint8_t headers[FRAME_HEADERS];

        fill_headers(headers, from, to, sequence, acknowledged, payload);
        put32(pcap, BLOCK_PACKET);
        put32(pcap, 32 + padded);
        put32(pcap, 0); /* interface */
        put32(pcap, (uint32_t)(when >> 32));
        put32(pcap, (uint32_t)when);
        put32(pcap, frame);
        put32(pcap, frame);
        put(pcap, headers, sizeof(headers));
        put_payload(pcap, &place, payload);
        put(pcap, padding, padded - frame);
        put32(pcap, 32 + padded);
        sequence += payload;
        left -= payload;
    }
}

bool lnet_pcap_close(struct lnet_pcap *pcap, char **error)
{
    int failure = pcap->failure;

    if (fclose(pcap->file) != 0 && failure == 0)
        failure = errno;
    free(pcap);
    if (failure == 0)
        return true;
    if (asprintf(error, "the capture could not be written: %s", strerror(failure)) < 0)
        abort();
    return false;
}
