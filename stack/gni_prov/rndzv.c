/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rendezvous: the sender describes its memory in an RTS. The receiver fetches it and answers with a
 * FIN.
 *
 * A GET has to begin and end at multiples of 4 of the remote address. So an iterator over both
 * vectors cuts the message into pieces that are contiguous on both sides: either a middle, which is
 * fetched to its place, or a part of one word. A word at an edge of a segment came with the RTS
 * (head, tail: only the bytes that belong to the message). Any other word, which exists only where
 * a receive buffer ends, is fetched into a bounce buffer. When everything has arrived, a second
 * iteration copies the parts of words.
 */
#include "bounce.h"
#include "chain.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "match.h"
#include "message.h"
#include "mr.h"
#include "nic.h"
#include "proto.h"
#include "req.h"
#include "rx_window.h"
#include "txd.h"
#include "vc.h"

#define TXDS 16u /* for one receive at a time */
#define FMA_MAX                                                                       \
    65536u /* bytes by FMA, whatever the threshold is: one chain must stay below 1 MB \
            */
#define AGAIN_BYTES 512u /* of a GET after the first attempt */
#define NO_WORD 1u

/* ---- the iterator ---------------------------------------------------------------------------- */

struct piece {
    const struct gnip_segment *segment;
    struct gnip_buffer *buffer;
    uint64_t remote; /* address of its first byte */
    uint8_t *local;
    uint64_t bytes;
    bool middle; /* else a part of the word in which it begins */
    bool fetched, fetch; /* the word has to be fetched; and now for the first time */
    uint32_t place; /* of the word in the bounce buffer */
};

static void iterator_init(struct gnip_iterator *iterator)
{
    *iterator = (struct gnip_iterator){.word = NO_WORD};
}

/*
 * Whether the word must be fetched: if it is not wholly inside of the segment, it came with the
 * RTS.
 */
static gnip_noinline void find_word(struct gnip_iterator *iterator, struct piece *piece)
{
    const struct gnip_segment *segment = piece->segment;
    uint64_t word = piece->remote & ~(uint64_t)3;

    piece->fetched = word >= segment->address && word + 4 <= segment->address + segment->bytes;
    if (!piece->fetched)
        return;
    if (word != iterator->word) {
        iterator->word = word;
        iterator->words++;
        piece->fetch = true;
    }
    piece->place = iterator->words - 1;
}

/*
 * False: one of the vectors is at its end. After a failed attempt pieces are short: a GET fails
 * when one of its packets is lost, so the chance of a long one would be the same each time.
 */
static bool iterator_next(struct gnip_req *recv, struct gnip_iterator *iterator,
                          struct piece *piece)
{
    const struct gnip_segment *segment;
    struct gnip_buffer *buffer;
    uint64_t bytes;

    for (;; iterator->segment++, iterator->remote = 0) {
        if (iterator->segment == recv->u.recv.segment_count)
            return false;
        segment = &recv->u.recv.segments[iterator->segment];
        if (iterator->remote < segment->bytes)
            break;
    }
    for (;; iterator->buffer++, iterator->local = 0) {
        if (iterator->buffer == recv->buffer_count)
            return false;
        buffer = &recv->buffers[iterator->buffer];
        if (iterator->local < buffer->bytes)
            break;
    }
    bytes = segment->bytes - iterator->remote;
    if (bytes > buffer->bytes - iterator->local)
        bytes = buffer->bytes - iterator->local;
    *piece = (struct piece){
        .segment = segment,
        .buffer = buffer,
        .remote = segment->address + iterator->remote,
        .local = (uint8_t *)buffer->address + iterator->local,
    };
    piece->middle = (piece->remote & 3) == 0 && bytes >= 4;
    if (piece->middle) {
        piece->bytes = bytes & ~(uint64_t)3;
        if (gnip_unlikely(recv->tries != 0 && piece->bytes > AGAIN_BYTES))
            piece->bytes = AGAIN_BYTES;
    } else {
        piece->bytes = 4 - (piece->remote & 3) < bytes ? 4 - (piece->remote & 3) : bytes;
        find_word(iterator, piece);
    }
    iterator->remote += piece->bytes;
    iterator->local += piece->bytes;
    return true;
}

static void copy_words(struct gnip_req *recv)
{
    const uint8_t *word;
    struct piece piece;
    struct gnip_iterator iterator;

    iterator_init(&iterator);
    while (iterator_next(recv, &iterator, &piece)) {
        if (piece.middle)
            continue;
        if (piece.fetched)
            word = (const uint8_t *)recv->u.recv.bounce + 4 * piece.place;
        else if (piece.remote < ((piece.segment->address + 3) & ~(uint64_t)3))
            word = piece.segment->head;
        else
            word = piece.segment->tail;
        memcpy(piece.local, word + (piece.remote & 3), piece.bytes);
    }
}

/* ---- fetching -------------------------------------------------------------------------------- */

static int fetch(struct gnip_req *recv);
static int post(struct gnip_txd *txd, int gets);
static int send_fin(struct gnip_req *recv);

static void run(struct gnip_req *recv, int (*work)(struct gnip_req *))
{
    recv->issue = work;
    if (work(recv) == -FI_EAGAIN)
        gnip_vc_defer(recv->vc, recv);
}

/* Everything has ended, and the peer has been informed. */
static void finish_receive(struct gnip_req *recv)
{
    bool failed = recv->error != 0;

    if (recv->u.recv.counts)
        gnip_vc_op_done(recv->vc, failed);
    if (failed)
        gnip_req_error(recv, recv->error, recv->prov_errno);
    else
        gnip_recv_done(recv, recv->u.recv.remote_bytes, recv->u.recv.wire_flags);
}

static gnip_cold void set_error(struct gnip_req *recv, int error, int prov_errno)
{
    if (recv->error != 0)
        return;
    recv->error = error;
    recv->prov_errno = prov_errno;
}

static void fin_sent(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *recv = txd->req;
    struct gnip_ep *ep = recv->ep;

    (void)status; /* the data is here; the next message that the VC sends finds out its state */
    gnip_lock(&ep->lock);
    gnip_txd_put(txd->nic, txd);
    recv->pending = 0;
    finish_receive(recv);
    gnip_unlock(&ep->lock);
}

static int send_fin(struct gnip_req *recv)
{
    int rc = gnip_answer(recv->vc, GNIP_RNDZV_FIN, recv->u.recv.remote_request, recv->error, recv,
                         fin_sent);

    if (rc == -FI_EAGAIN)
        return rc;
    if (rc == 0)
        recv->pending = 1;
    else
        finish_receive(recv); /* the peer is gone */
    return 0;
}

static void begin(struct gnip_req *recv)
{
    iterator_init(&recv->u.recv.iterator);
    recv->u.recv.planned = false;
    recv->u.recv.fails = gnip_req_inject(recv);
}

/* All posted transfers have ended, and there are no more. */
static void fetched_all(struct gnip_req *recv)
{
    const struct gnip_ep *ep = recv->ep;

    if (recv->error != 0 && !recv->failed_final && ep->type != FI_EP_DGRAM &&
        recv->tries + 1u < ep->domain->params.max_retransmits) {
        recv->tries++;
        recv->error = 0;
        ep->domain->ctx->counts.replays++;
        begin(recv);
        recv->issue = fetch;
        gnip_vc_defer(recv->vc, recv);
        return;
    }
    if (recv->error == 0)
        copy_words(recv);
    if (recv->u.recv.bounce != NULL) {
        gnip_bounce_put(recv->ep, recv->u.recv.bounce);
        recv->u.recv.bounce = NULL;
    }
    run(recv, send_fin);
}

/* A short piece is fetched again by itself, up to the same number of attempts. */
static gnip_cold bool fetch_again(struct gnip_req *recv, struct gnip_txd *txd)
{
    if (!txd->recoverable || recv->tries == 0 || recv->error != 0 ||
        recv->ep->type == FI_EP_DGRAM || recv->vc->state != GNIP_VC_CONNECTED)
        return false;
    if (recv->tries + txd->tries + 1u >= recv->ep->domain->params.max_retransmits) {
        recv->failed_final = true;
        return false;
    }
    if (post(txd, 1) != 0)
        return false;
    txd->tries++;
    recv->ep->domain->ctx->counts.replays++;
    return true;
}

static void fetched(struct gnip_txd *txd, gni_return_t status)
{
    struct gnip_req *recv = txd->req;
    struct gnip_ep *ep = recv->ep;
    bool recoverable = txd->recoverable;

    gnip_lock(&ep->lock);
    if (gnip_unlikely(status != GNI_RC_SUCCESS) && fetch_again(recv, txd)) {
        gnip_unlock(&ep->lock);
        return;
    }
    gnip_txd_put(txd->nic, txd);
    assert(recv->pending > 0);
    recv->pending--;
    if (gnip_unlikely(status != GNI_RC_SUCCESS)) {
        set_error(recv, FI_EIO, gnip_errno(status));
        recv->failed_final = recv->failed_final || !recoverable;
        recv->u.recv.planned = true;
    }
    if (!recv->u.recv.planned)
        run(recv, fetch);
    else if (recv->pending == 0)
        fetched_all(recv);
    gnip_unlock(&ep->lock);
}

/* The memory into which a piece is fetched. 0, -FI_EAGAIN, or -errno. */
static int target(struct gnip_req *recv, const struct piece *piece, uint64_t *address,
                  gni_mem_handle_t *handle)
{
    int rc;

    if (piece->middle) {
        rc = gnip_buffer_map(recv->ep, piece->buffer, true);
        if (rc != 0)
            return rc;
        *address = (uintptr_t)piece->local;
        *handle = piece->buffer->mr->handle;
        return 0;
    }
    if (recv->u.recv.bounce == NULL)
        recv->u.recv.bounce = gnip_bounce_get(recv->ep, &recv->u.recv.bounce_handle);
    if (recv->u.recv.bounce == NULL)
        return -FI_EAGAIN;
    *address = (uintptr_t)recv->u.recv.bounce + 4 * piece->place;
    *handle = recv->u.recv.bounce_handle;
    return 0;
}

/*
 * The block transfer engine is used for long pieces, and for all when a helper must see them end.
 */
static bool by_rdma(const struct gnip_req *recv, uint64_t bytes)
{
    return recv->vc->nic->automatic || bytes >= FMA_MAX ||
           bytes >= recv->ep->domain->params.rma_rdma_threshold;
}

static void first_get(struct gnip_txd *txd, uint64_t bytes, const struct piece *piece,
                      uint64_t local, const gni_mem_handle_t *handle)
{
    const struct gnip_nic *nic = txd->nic;
    bool rdma = by_rdma(txd->req, bytes);

    memset(&txd->transfer->post, 0, sizeof txd->transfer->post);
    txd->transfer->post.type = rdma ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET;
    txd->transfer->post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    txd->transfer->post.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    txd->transfer->post.local_addr = local;
    txd->transfer->post.local_mem_hndl = *handle;
    txd->transfer->post.remote_addr = piece->remote & ~(uint64_t)3;
    txd->transfer->post.remote_mem_hndl = piece->segment->handle;
    txd->transfer->post.length = bytes;
    if (rdma)
        txd->transfer->post.src_cq_hndl = nic->automatic ? nic->tx_cq_blk : nic->tx_cq;
}

static gnip_noinline void chain_get(struct gnip_txd *txd, unsigned place, uint64_t bytes,
                                    const struct piece *piece, uint64_t local,
                                    const gni_mem_handle_t *handle)
{
    gnip_chained_get *get = &txd->transfer->chain[place];

    memset(get, 0, sizeof *get);
    get->ep_hndl = txd->vc->gni_ep;
    get->length = bytes;
    get->remote_addr = piece->remote & ~(uint64_t)3;
    get->remote_mem_hndl = piece->segment->handle;
    get->local_addr = local;
    get->local_mem_hndl = *handle;
    if (place == 0)
        txd->transfer->post.next_descr = get;
    else
        txd->transfer->chain[place - 1].next_descr = get;
}

/*
 * Fills one descriptor: with a long piece, or with up to three short ones (one without chains).
 * Moves *iterator behind them. Returns the number of GETs (0: nothing is left), -FI_EAGAIN, or
 * another errno.
 */
static int fill(struct gnip_req *recv, struct gnip_txd *txd, struct gnip_iterator *iterator)
{
    struct gnip_iterator next = *iterator;
    struct piece piece;
    gni_mem_handle_t handle;
    uint64_t local, bytes;
    int count = 0, rc;

    while (count < (GNIP_CHAINS && recv->tries == 0 ? 3 : 1) &&
           iterator_next(recv, &next, &piece)) {
        if (piece.middle || piece.fetch) {
            bytes = piece.middle ? piece.bytes : 4;
            if (count > 0 && by_rdma(recv, bytes))
                return count;
            rc = target(recv, &piece, &local, &handle);
            if (rc != 0)
                return count > 0 ? count : rc; /* post what is there */
            if (count == 0)
                first_get(txd, bytes, &piece, local, &handle);
            else if (GNIP_CHAINS)
                chain_get(txd, (unsigned)count - 1, bytes, &piece, local, &handle);
            count++;
        }
        *iterator = next;
        if (count == 1 && txd->transfer->post.type == GNI_POST_RDMA_GET)
            return count;
    }
    return count;
}

static int post(struct gnip_txd *txd, int gets)
{
    struct gnip_nic *nic = txd->nic;
    gni_return_t rc;

    gnip_lock(&nic->lock);
    if (txd->transfer->post.type == GNI_POST_RDMA_GET)
        rc = GNI_PostRdma(txd->vc->gni_ep, &txd->transfer->post);
    else if (gets == 1)
        rc = GNI_PostFma(txd->vc->gni_ep, &txd->transfer->post);
    else
        rc = gnip_chain_post(txd->vc->gni_ep, &txd->transfer->post);
    gnip_unlock(&nic->lock);
    if (rc == GNI_RC_ERROR_RESOURCE || rc == GNI_RC_ERROR_NOMEM)
        return -FI_EAGAIN;
    return -gnip_errno(rc);
}

/* 1: posted; 0: nothing is left; -FI_EAGAIN, or another errno. */
static int fetch_next(struct gnip_req *recv)
{
    struct gnip_iterator iterator = recv->u.recv.iterator;
    struct gnip_txd *txd = gnip_txd_get_transfer(recv->vc->nic);
    int count, rc;

    if (txd == NULL)
        return -FI_EAGAIN;
    txd->req = recv;
    txd->vc = recv->vc;
    txd->done = fetched;
    txd->tries = 0;
    count = fill(recv, txd, &iterator);
    rc = count;
    if (count > 0)
        rc = recv->u.recv.fails ? -gnip_errno(GNI_RC_TRANSACTION_ERROR) : post(txd, count);
    if (count <= 0 || rc != 0) {
        gnip_txd_put(recv->vc->nic, txd);
        return rc;
    }
    recv->u.recv.iterator = iterator;
    recv->pending++;
    return 1;
}

/*
 * Posts the remaining transfers as far as there are resources; their ends continue it. Also
 * deferred work.
 */
static int fetch(struct gnip_req *recv)
{
    int rc = 1;

    while (rc == 1 && recv->pending < TXDS)
        rc = fetch_next(recv);
    if (rc == -FI_EAGAIN && recv->pending == 0)
        return rc;
    if (rc < 0 && rc != -FI_EAGAIN) {
        set_error(recv, recv->u.recv.fails ? gnip_req_injected_error(recv) : FI_EIO, -rc);
        recv->failed_final = recv->failed_final || !recv->u.recv.fails;
    }
    if (rc <= 0 && rc != -FI_EAGAIN) {
        recv->u.recv.planned = true;
        if (recv->pending == 0)
            fetched_all(recv);
    }
    return 0;
}

/* Its VC fails while the receive waits for resources. */
static gnip_cold void dropped(struct gnip_req *recv, int error)
{
    set_error(recv, FI_EIO, error);
    recv->failed_final = recv->u.recv.planned = true;
    if (recv->pending == 0)
        finish_receive(recv);
}

void gnip_rndzv_receive(struct gnip_req *recv, struct gnip_vc *vc,
                        const struct gnip_unexpected *message)
{
    gnip_req_init_cold(recv);
    recv->vc = vc;
    recv->tag = message->tag;
    recv->data = message->data;
    recv->rendezvous = true;
    recv->dropped = dropped;
    recv->u.recv.remote_request = message->request;
    recv->u.recv.wire_flags = message->wire_flags;
    recv->u.recv.remote_bytes = message->bytes;
    recv->u.recv.segment_count = message->segment_count;
    memcpy(recv->u.recv.segments, message->segments,
           message->segment_count * sizeof(struct gnip_segment));
    recv->u.recv.counts = true;
    vc->outstanding++;
    port_spend(PORT_COST_RENDEZVOUS, 1);
    begin(recv);
    recv->issue = fetch;
    if (gnip_queue_empty(&vc->work))
        run(recv, fetch);
    else
        gnip_vc_defer(vc, recv); /* it must not overtake those that wait */
}

/* ---- arrival --------------------------------------------------------------------------------- */

static void arrived(struct gnip_vc *vc, const struct gnip_unexpected *rts)
{
    bool tagged = (rts->wire_flags & GNIP_W_TAGGED) != 0;
    struct gnip_unexpected *kept;
    struct gnip_req *recv;
    uint64_t bytes;

    port_spend(PORT_COST_RECEIVE, 1);
    recv = gnip_recv_match(vc, tagged, rts->tag, rts->bytes);
    if (recv != NULL) {
        gnip_rx_window_return(vc, rts->credits);
        gnip_rndzv_receive(recv, vc, rts);
        return;
    }
    bytes = rts->segment_count * sizeof(struct gnip_segment);
    kept = gnip_unexpected_new(vc->ep, bytes);
    if (kept == NULL) {
        gnip_vc_fail(vc, FI_ENOMEM);
        return;
    }
    kept->tag = rts->tag;
    kept->data = rts->data;
    kept->credits = rts->credits;
    kept->request = rts->request;
    kept->wire_flags = rts->wire_flags;
    kept->bytes = rts->bytes;
    kept->rendezvous = true;
    kept->segment_count = rts->segment_count;
    kept->segments = (struct gnip_segment *)(kept + 1);
    memcpy(kept->segments, rts->segments, bytes);
    gnip_unexpected_keep(vc, kept);
}

void gnip_rts_arrived(struct gnip_vc *vc, const struct gnip_rts *message)
{
    struct gnip_unexpected rts = {
        .tag = message->tag,
        .data = message->h.a,
        .credits = GNIP_RTS_COST,
        .request = message->request,
        .wire_flags = message->h.flags,
        .bytes = message->segment.bytes,
        .segment_count = 1,
        .segments = (struct gnip_segment *)(uintptr_t)&message->segment,
    };

    if (message->segment.bytes == 0 || message->segment.bytes > GNIP_MESSAGE_MAX)
        gnip_vc_fail(vc, FI_EIO);
    else
        arrived(vc, &rts);
}

void gnip_iov_rts_arrived(struct gnip_vc *vc, const struct gnip_iov_rts *message)
{
    const struct gnip_segment *segments = (const struct gnip_segment *)(message + 1);
    struct gnip_unexpected rts = {
        .tag = message->tag,
        .data = message->h.a,
        .request = message->request,
        .wire_flags = message->h.flags,
        .segments = (struct gnip_segment *)(uintptr_t)segments,
    };
    uint32_t i;

    if (message->segments == 0 || message->segments > GNIP_IOV) {
        gnip_vc_fail(vc, FI_EIO);
        return;
    }
    for (i = 0; i < message->segments; i++)
        rts.bytes += segments[i].bytes;
    rts.segment_count = (uint8_t)message->segments;
    rts.credits = gnip_iov_rts_cost(message->segments);
    if (rts.bytes != message->bytes || rts.bytes > GNIP_MESSAGE_MAX)
        gnip_vc_fail(vc, FI_EIO);
    else
        arrived(vc, &rts);
}
