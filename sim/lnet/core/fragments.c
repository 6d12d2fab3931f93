/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies between lists of memory fragments, and the header's bytes on the wire. */
#include "core/lnd.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64u

void *lnet_line_alloc(size_t bytes)
{
    size_t whole = (bytes + LINE - 1) / LINE * LINE;
    void *memory = aligned_alloc(LINE, whole);

    if (memory == NULL)
        abort();
    memset(memory, 0, whole);
    return memory;
}

/* A place in a list of fragments. */
struct place {
    const struct kvec *fragment;
    size_t offset;
};

static struct place place_at(const struct lnet_fragments *list, uint32_t offset)
{
    struct place place = {list->fragment, offset};

    while (place.offset > 0 && place.offset >= place.fragment->iov_len) {
        place.offset -= place.fragment->iov_len;
        place.fragment++;
    }
    return place;
}

/* Bytes that are left in the fragment; goes on to the next one if there are none. */
static size_t room(struct place *place)
{
    while (place->offset == place->fragment->iov_len) {
        place->fragment++;
        place->offset = 0;
    }
    return place->fragment->iov_len - place->offset;
}

static size_t smallest(size_t a, size_t b)
{
    return a < b ? a : b;
}

static char *address(const struct place *place)
{
    return (char *)place->fragment->iov_base + place->offset;
}

void lnet_copy_fragments(const struct lnet_fragments *to, uint32_t to_offset,
                         const struct lnet_fragments *from, uint32_t from_offset, uint32_t length)
{
    struct place target, source;

    assert((uint64_t)to_offset + length <= to->length || length == 0);
    assert((uint64_t)from_offset + length <= from->length || length == 0);
    if (length == 0)
        return;

    if (sim_likely(to->count == 1 && from->count == 1)) {
        memmove((char *)to->fragment->iov_base + to_offset,
                (const char *)from->fragment->iov_base + from_offset, length);
        return;
    }
    target = place_at(to, to_offset);
    source = place_at(from, from_offset);
    while (length > 0) {
        size_t part = smallest(length, smallest(room(&target), room(&source)));

        memmove(address(&target), address(&source), part);
        target.offset += part;
        source.offset += part;
        length -= (uint32_t)part;
    }
}

void lnet_copy_to_fragments(const struct lnet_fragments *to, uint32_t to_offset, const void *from,
                            uint32_t length)
{
    struct kvec whole = {(void *)from, length};
    struct lnet_fragments list = {1, length, &whole};

    lnet_copy_fragments(to, to_offset, &list, 0, length);
}

void lnet_copy_from_fragments(void *to, const struct lnet_fragments *from, uint32_t from_offset,
                              uint32_t length)
{
    struct kvec whole = {to, length};
    struct lnet_fragments list = {1, length, &whole};

    lnet_copy_fragments(&list, 0, from, from_offset, length);
}

/* The hosts that this library runs on are little-endian, as the wire is: the header's layout is
 * that of the wire. */
_Static_assert(sizeof(struct lnet_hdr) == LNET_WIRE_HEADER_BYTES, "the header is the wire's");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian hosts only");

/* Bytes of the message part that its type uses; the others are zero on the wire. */
static size_t used_bytes(uint32_t type)
{
    switch (type) {
    case LNET_MSG_ACK:
        return sizeof(struct lnet_ack);
    case LNET_MSG_PUT:
        return sizeof(struct lnet_put);
    case LNET_MSG_GET:
        return sizeof(struct lnet_get);
    case LNET_MSG_REPLY:
        return sizeof(struct lnet_reply);
    default:
        return sizeof(struct lnet_hello);
    }
}

void lnet_header_to_wire(const struct lnet_hdr *header, uint8_t wire[LNET_WIRE_HEADER_BYTES])
{
    memset(wire, 0, LNET_WIRE_HEADER_BYTES);
    memcpy(wire, header, offsetof(struct lnet_hdr, msg) + used_bytes(header->type));
}

void lnet_header_from_wire(struct lnet_hdr *header, const uint8_t wire[LNET_WIRE_HEADER_BYTES])
{
    memcpy(header, wire, LNET_WIRE_HEADER_BYTES);
}
