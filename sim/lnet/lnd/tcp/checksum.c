/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "checksum.h"

uint32_t lnet_sock_crc32(uint32_t crc, const void *bytes, size_t length)
{
    static const uint32_t nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                        0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const uint8_t *at = bytes;

    while (length-- > 0) {
        crc ^= *at++;
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return crc;
}

static uint32_t of_fragments(uint32_t crc, const struct lnet_fragments *list, uint32_t offset,
                             uint32_t length)
{
    const struct kvec *fragment = list->fragment;

    while (length > 0) {
        size_t part;

        if (offset >= fragment->iov_len) {
            offset -= (uint32_t)fragment->iov_len;
            fragment++;
            continue;
        }
        part = fragment->iov_len - offset < length ? fragment->iov_len - offset : length;
        crc = lnet_sock_crc32(crc, (const char *)fragment->iov_base + offset, part);
        length -= (uint32_t)part;
        offset = 0;
        fragment++;
    }
    return crc;
}

static uint32_t of_header(const struct lnet_sock_header *header, bool swapped)
{
    struct lnet_sock_header plain = *header;
    uint8_t wire[LNET_SOCK_HEADER_BYTES];

    plain.checksum = 0;
    lnet_sock_header_pack(wire, &plain, swapped);
    return lnet_sock_crc32(~0u, wire, sizeof(wire));
}

uint32_t lnet_sock_checksum_tx(const struct lnet_sock_header *header, const struct lnet_sock_tx *tx)
{
    uint32_t crc = of_header(header, false);

    if (tx->msg != NULL) {
        crc = lnet_sock_crc32(crc, tx->head + LNET_SOCK_HEADER_BYTES, LNET_WIRE_HEADER_BYTES);
        crc = of_fragments(crc, &tx->write.payload, tx->write.offset, tx->write.length);
    }
    return crc != 0 ? crc : 1;
}

uint32_t lnet_sock_checksum_rx(const struct lnet_sock_conn *conn)
{
    uint32_t crc = of_header(&conn->in_header, conn->swapped);

    crc = lnet_sock_crc32(crc, conn->lnet_header, LNET_WIRE_HEADER_BYTES);
    crc = of_fragments(crc, &conn->in_to, conn->in_offset, conn->in_length);
    return crc != 0 ? crc : 1;
}
