/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests: one for each operation (req.c). */
#ifndef GNIP_REQ_H
#define GNIP_REQ_H

#include "chain.h"
#include "list.h"
#include "proto.h"

enum gnip_req_kind {
    GNIP_REQ_FREE,
    GNIP_REQ_SEND, /* also tagged */
    GNIP_REQ_RECV,
    GNIP_REQ_WRITE,
    GNIP_REQ_READ,
    GNIP_REQ_AMO,
    GNIP_REQ_FETCH, /* fetching and comparing atomics */
    GNIP_REQ_CONTROL /* the provider's own: acks, FINs */
};

/* Posted receive: what a search looks at, in one cache line. */
struct gnip_post {
    struct gnip_link link, bucket;
    uint64_t tag, ignore;
    uint64_t sequence;
    fi_addr_t source; /* FI_ADDR_UNSPEC: any */
};

/* Memory of one side of an operation. */
struct gnip_buffer {
    void *address;
    uint64_t bytes;
    struct gnip_mr *mr; /* of the application, or registered here */
    bool own_mr; /* a use of it is held, which gnip_req_put gives back */
};

/* A place in both vectors of a rendezvous (rndzv.c). */
struct gnip_iterator {
    uint32_t segment, buffer;
    uint64_t remote, local; /* bytes of them that lie before it */
    uint64_t word; /* address of the last word that had to be fetched; odd: none */
    uint32_t words; /* that had to be fetched */
};

/*
 * One operation. What an eager message touches comes first: three cache lines (64 bytes each).
 * gnip_req_get zeroes the second and third line, for other kinds than SEND and RECV also the rest.
 */
struct gnip_req {
    union {
        struct gnip_post post; /* RECV, while `posted` */
        uint8_t inject[GNIP_INJECT]; /* other kinds: copied data, operands */
    };
    /* second line */
    struct gnip_qlink link; /* VC queues, free list, counter's list of triggers */
    struct gnip_ep *ep;
    struct gnip_vc *vc; /* of a posted receive: NULL until it is matched */
    void *context;
    uint64_t flags; /* FI_COMPLETION (a success entry is wanted), FI_FENCE, FI_REMOTE_CQ_DATA,
                       FI_TAGGED, FI_*_COMPLETE, FI_MORE, ... */
    /* Tries to issue it: 0 issued (vc->outstanding counts it); -FI_EAGAIN: nothing happened; else a
     * negative errno: it has failed. ep->lock is held. Also runs deferred work. */
    int (*issue)(struct gnip_req *req);
    uint64_t data, tag; /* RECV: of the message */
    /* third line */
    uint64_t bytes; /* of all buffers */
    uint32_t id; /* slot and generation, for the wire: 24 + 8 bits; never 0 */
    uint32_t cost; /* slots of the window */
    uint8_t kind; /* enum gnip_req_kind */
    uint8_t buffer_count;
    uint8_t pending; /* GNI transactions under way */
    uint8_t tries; /* that failed */
    uint8_t injected; /* failures to be injected, and whether that is decided (gnip_req_inject) */
    bool cq_reserved; /* an entry of the CQ is reserved */
    bool counted; /* in tx_used, rx_used or own_used */
    bool posted; /* RECV: in the matching store */
    bool multi, child; /* RECV: a multi-receive buffer; a part of one */
    bool rendezvous; /* SEND, RECV */
    bool answer; /* SEND: issued, and the peer must answer; one-sided: issued and deferred */
    bool delivered; /* SEND: it has answered, our own event is to come */
    bool failed_final; /* no replay */
    bool cold; /* what follows buffers[] is valid */
    struct gnip_buffer buffers[GNIP_IOV];
    /* the rest; SEND and RECV: gnip_req_init_cold zeroes it when it is needed */
    int error; /* first failure: positive errno */
    int prov_errno;
    /* gnip_req_drop calls it instead of gnip_req_error; NULL: that is right. */
    void (*dropped)(struct gnip_req *req, int error);
    union {
        struct { /* SEND */
            void *gather; /* several buffers in one piece (gnip_gather_get); NULL: none */
            struct gnip_segment segments[GNIP_IOV]; /* rendezvous */
        } send;
        struct { /* RECV */
            struct gnip_req *parent; /* multi-receive buffer that it is a part of */
            uint32_t children; /* multi-receive: parts under way */
            bool released; /* multi-receive: used up */
            bool counts; /* vc->outstanding counts it */
            uint64_t used; /* multi-receive: bytes given away */
            /* rendezvous */
            uint32_t remote_request; /* to be named in the FIN */
            uint16_t wire_flags;
            uint8_t segment_count;
            bool planned; /* all that is to be fetched was posted, or nothing more shall be */
            bool fails; /* this attempt, by injection */
            uint64_t remote_bytes; /* length of the message */
            struct gnip_iterator iterator; /* how far transfers were posted */
            void *bounce; /* words around what is fetched; NULL: none */
            gni_mem_handle_t bounce_handle;
            struct gnip_segment segments[GNIP_IOV]; /* of the sender */
        } recv;
        struct gnip_announcement { /* one-sided ones */
            struct gnip_qlink link; /* vc->remote_events */
            bool wanted; /* the peer gets an event */
            bool due; /* now, as the data is there */
        } event;
        struct { /* WRITE, READ */
            struct gnip_announcement event;
            uint64_t remote_address, remote_key;
            void *bounce; /* what is read next to its place; NULL: nothing */
            bool indirect; /* all of it */
            bool refused; /* a part could not be posted: all of it again */
            uint16_t chained; /* first of a chain (FI_MORE): how many there are */
            struct gnip_req *next, *last; /* of the chain; last: of the first one */
            gnip_chained_get element; /* its place in the chain */
        } rma;
        struct { /* AMO, FETCH */
            struct gnip_announcement event;
            uint64_t remote_address, remote_key;
            uint64_t operand[2];
            gni_fma_cmd_type_t command;
            uint8_t width; /* 4 or 8 */
            bool fetches;
            void *result;
            void *bounce; /* where it arrives first; NULL: in place */
        } amo;
        struct { /* CONTROL */
            uint32_t request;
            int32_t status;
            uint8_t kind;
        } control;
    } u;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct gnip_post) == 64, "a posted receive is one cache line");
_Static_assert(offsetof(struct gnip_req, bytes) == 128, "cache lines of a request");
_Static_assert(offsetof(struct gnip_req, buffers) + sizeof(struct gnip_buffer) == 192, "");
static inline void gnip_req_init_cold(struct gnip_req *req)
{
    if (!req->cold)
        memset(&req->error, 0, sizeof *req - offsetof(struct gnip_req, error));
    req->cold = true;
}
static inline struct gnip_req *gnip_req_of_post(struct gnip_post *post)
{
    return gnip_container(post, struct gnip_req, post);
}
/*
 * A request of `kind` for an operation of the application; -FI_EAGAIN through NULL: the limit of
 * the EP (tx or rx size) is reached, or no CQ entry can be reserved for it. ep->lock is held.
 * `named`: gnip_req_is_named; its end has an entry in the CQ of its direction, if only for an
 * error.
 */
struct gnip_req *gnip_req_get(struct gnip_ep *ep, enum gnip_req_kind kind, bool named);
/* Not of an inject call: of that neither a completion is wanted, nor is there anything to name it
 * by. */
static inline bool gnip_req_is_named(uint64_t flags, const void *context)
{
    return (flags & (FI_INJECT | FI_COMPLETION)) != FI_INJECT || context != NULL;
}
struct gnip_req *gnip_req_get_own(struct gnip_ep *ep, enum gnip_req_kind kind); /* provider's */
void gnip_req_put(struct gnip_req *req);
struct gnip_req *gnip_req_of_id(struct gnip_ep *ep, uint32_t id); /* NULL: unknown or stale */
/* Writes the success entry (if wanted), counts, and frees it. `entry`: what differs from zeros. */
void gnip_req_complete(struct gnip_req *req, const struct fi_cq_tagged_entry *entry,
                       fi_addr_t source);
/* The error entry, always written, from the request; entry: as above plus olen etc. Frees it. */
void gnip_req_fail(struct gnip_req *req, const struct fi_cq_err_entry *entry);
/* fail with flags and context of the request and this error (positive). */
void gnip_req_error(struct gnip_req *req, int error, int prov_errno);
/* What its completion says it was: FI_MSG | FI_SEND ... */
uint64_t gnip_req_entry_flags(const struct gnip_req *req);
/* It was handed over (submitted, deferred) and ends before it was issued, or instead of that. */
void gnip_req_drop(struct gnip_req *req, int error);
/* Whether this attempt is to fail (GNI_ERR_INJECT_COUNT). */
bool gnip_req_inject(struct gnip_req *req);
/*
 * A VC has failed or is closed: ends what waits for an answer of its peer (rendezvous, delivery);
 * silently if the EP closes. What is queued or posted is the VC's business.
 */
void gnip_req_vc_lost(struct gnip_vc *vc, int error);
/* All requests one after the other; *place is 0 at first. NULL: no more. */
struct gnip_req *gnip_req_each(struct gnip_ep *ep, uint32_t *place);
void gnip_req_pool_free(struct gnip_ep *ep); /* ends all that is left silently */
/* A GNI status as libfabric sees it: positive errno (table: docs/gni-provider.md). */
int gnip_errno(gni_return_t rc);
const char *gnip_strerror(int prov_errno);
/* fi_cq_strerror, fi_eq_strerror: also into the buffer, if there is one. */
static inline const char *gnip_strerror_copy(int prov_errno, char *buffer, size_t bytes)
{
    const char *text = gnip_strerror(prov_errno);

    if (buffer == NULL || bytes == 0)
        return text;
    strncpy(buffer, text, bytes - 1);
    buffer[bytes - 1] = '\0';
    return buffer;
}

#endif
