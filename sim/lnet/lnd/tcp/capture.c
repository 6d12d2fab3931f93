/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "capture.h"

struct lnet_capture *lnet_capture;

#define PIECES_MAX (LNET_MAX_IOV + 4)

struct pieces {
    uint32_t count, bytes;
    struct iovec piece[PIECES_MAX];
};

static void add(struct pieces *pieces, const void *base, size_t length)
{
    if (length == 0)
        return;
    assert(pieces->count < PIECES_MAX);
    pieces->piece[pieces->count++] = (struct iovec){(void *)base, length};
    pieces->bytes += (uint32_t)length;
}

static void add_fragments(struct pieces *pieces, const struct lnet_fragments *list, uint32_t offset,
                          uint32_t length)
{
    const struct kvec *fragment = list->fragment;

    while (length > 0) {
        size_t part;

        if (offset >= fragment->iov_len) {
            offset -= (uint32_t)fragment->iov_len;
        } else {
            part = fragment->iov_len - offset < length ? fragment->iov_len - offset : length;
            add(pieces, (const char *)fragment->iov_base + offset, part);
            length -= (uint32_t)part;
            offset = 0;
        }
        fragment++;
    }
}

static void write_pieces(struct lnet_sock_conn *conn, bool sent, const struct pieces *pieces)
{
    struct lnet_stream_address local = lnet_stream_local(conn->stream);
    struct lnet_stream_address remote = lnet_stream_peer(conn->stream);
    uint32_t *from = &conn->capture_bytes[sent ? 0 : 1], *to = &conn->capture_bytes[sent ? 1 : 0];

    if (!sent && !lnet_capture->received)
        return;
    lnet_pcap_write(lnet_capture->pcap, sim_now(), sent ? local : remote, sent ? remote : local,
                    *from, *to, pieces->piece, pieces->count);
    *from += pieces->bytes;
}

void lnet_capture_handshake(struct lnet_sock_conn *conn, bool sent, const void *bytes,
                            uint32_t length)
{
    struct pieces pieces = {0};

    add(&pieces, bytes, length);
    write_pieces(conn, sent, &pieces);
}

void lnet_capture_hello(struct lnet_sock_conn *conn)
{
    uint8_t wire[LNET_SOCK_HELLO_BYTES_MAX];
    struct lnet_sock_hello hello = conn->hello;

    hello.swapped = false; /* the dissector knows the order of this machine only */
    lnet_capture_handshake(conn, false, wire, lnet_sock_hello_pack(wire, &hello));
}

void lnet_capture_sent(struct lnet_sock_conn *conn, const struct lnet_sock_tx *tx)
{
    struct pieces pieces = {.count = 0};

    add(&pieces, tx->write.head, tx->write.head_bytes);
    add_fragments(&pieces, &tx->write.payload, tx->write.offset, tx->write.length);
    write_pieces(conn, true, &pieces);
}

void lnet_capture_received(struct lnet_sock_conn *conn)
{
    struct pieces pieces = {.count = 0};
    uint8_t header[LNET_SOCK_HEADER_BYTES];

    if (!lnet_capture->received)
        return;
    lnet_sock_header_pack(header, &conn->in_header, false);
    if (conn->version != 1)
        add(&pieces, header, sizeof(header));
    if (conn->in_header.type == LNET_SOCK_LNET) {
        add(&pieces, conn->lnet_header, sizeof(conn->lnet_header));
        add_fragments(&pieces, &conn->in_to, conn->in_offset, conn->in_length);
        add(&pieces, NULL, conn->in_discard);
    }
    write_pieces(conn, false, &pieces);
}
