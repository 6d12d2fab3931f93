/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests: one for each operation (req.c). */
#ifndef GNIP_REQ_H
#define GNIP_REQ_H

#include "chain.h"
#include "queue.h"
#include "proto.h"
#include "port/list.h"

enum gnip_req_kind {
    GNIP_REQ_FREE,
    GNIP_REQ_SEND, /* also tagged */
    GNIP_REQ_RECV,
    GNIP_REQ_WRITE,
    GNIP_REQ_READ,
    GNIP_REQ_AMO,
    GNIP_REQ_FETCH, /* fetching and comparing atomics */
    GNIP_REQ_CONTROL /* messages of the provider: ACKs, FINs */
};

/* A posted receive: the part that a search reads, in one cache line. */
struct gnip_post {
    struct port_link link, bucket;
    uint64_t tag, ignore;
    uint64_t sequence;
    fi_addr_t source; /* FI_ADDR_UNSPEC: any */
};

/* The memory of an operation on this side. */
struct gnip_buffer {
    void *address;
    uint64_t bytes;
    struct gnip_mr *mr; /* of the application, or registered here */
    bool own_mr; /* the request has a use of it, which gnip_req_put ends */
};

/* A position in both vectors of a rendezvous (rndzv.c). */
struct gnip_iterator {
    uint32_t segment, buffer;
    uint64_t remote, local; /* bytes of that segment and buffer that lie before it */
    uint64_t word; /* address of the last word that had to be fetched; odd: none so far */
    uint32_t words; /* number of words that had to be fetched */
};

/*
 * One operation. The fields that an eager message uses come first, in three cache lines of 64
 * bytes. gnip_req_get zeroes the second and the third line, and for other kinds than SEND and RECV
 * also the rest.
 */
struct gnip_req {
    union {
        struct gnip_post post; /* RECV, while `posted` */
        uint8_t inject[GNIP_INJECT]; /* other kinds: copied data, operands */
    };
    /* second line */
    /* in queues of the VC, the free list, or the counter's list of triggers */
    struct gnip_qlink link;
    struct gnip_ep *ep;
    struct gnip_vc *vc; /* of a posted receive: NULL until it is matched */
    void *context;
    uint64_t flags; /* FI_COMPLETION (a success entry is wanted), FI_FENCE, FI_REMOTE_CQ_DATA,
                       FI_TAGGED, FI_*_COMPLETE, FI_MORE, ... */
    /*
     * Tries to issue the request. 0: it is issued (vc->outstanding counts it); -FI_EAGAIN: nothing
     * happened; another negative errno: it has failed. ep->lock is held. Also called for deferred
     * work.
     */
    int (*issue)(struct gnip_req *req);
    uint64_t data, tag; /* RECV: of the message */
    /* third line */
    uint64_t bytes; /* of all buffers */
    uint32_t id; /* slot and generation, for the wire: 24 + 8 bits; never 0 */
    uint32_t cost; /* SEND with an answer: credits of the receive window */
    uint8_t kind; /* enum gnip_req_kind */
    uint8_t buffer_count;
    uint8_t pending; /* GNI transactions in flight */
    uint8_t tries; /* failed attempts */
    /* number of failures to inject, and whether it has been decided (gnip_req_inject) */
    uint8_t injected;
    bool cq_reserved; /* the request has a reservation in the CQ */
    bool counted; /* counted in tx_used, rx_used or own_used */
    bool posted; /* RECV: it is in the matching store */
    bool multi, child; /* RECV: a multi-receive buffer; a part of one */
    bool rendezvous; /* SEND, RECV */
    bool answer; /* SEND: issued, and the peer must answer; one-sided: issued and deferred */
    bool delivered; /* SEND: the peer has answered, our own event has not come yet */
    bool failed_final; /* must not be repeated */
    bool cold; /* the fields behind buffers[] are initialised */
    bool watched; /* `content` is set */
    struct gnip_buffer buffers[GNIP_IOV];
    struct gnip_content *content; /* of its buffers at the call (findings.c), if `watched` */
    /* the rest; for SEND and RECV gnip_req_init_cold initialises it when needed */
    int error; /* first failure: positive errno */
    int prov_errno;
    /* gnip_req_drop calls it instead of gnip_req_error. NULL: gnip_req_error is called. */
    void (*dropped)(struct gnip_req *req, int error);
    union {
        struct { /* SEND */
            void *gather; /* copy of several buffers in one piece (gnip_gather_get); NULL: none */
            struct gnip_segment segments[GNIP_IOV]; /* rendezvous */
        } send;
        struct { /* RECV */
            struct gnip_req *parent; /* the multi-receive buffer that it is a part of */
            uint32_t children; /* multi-receive: parts in use */
            bool released; /* multi-receive: used up */
            bool counts; /* it is counted in vc->outstanding */
            uint64_t used; /* multi-receive: bytes used by parts */
            /* rendezvous */
            uint32_t remote_request; /* the request id for the FIN */
            uint16_t wire_flags;
            uint8_t segment_count;
            bool planned; /* all transfers have been posted, or no further one shall be */
            bool fails; /* this attempt fails, for a test */
            uint64_t remote_bytes; /* length of the whole message */
            struct gnip_iterator iterator; /* the next transfer to be posted */
            void *bounce; /* single words that are fetched; NULL: none */
            gni_mem_handle_t bounce_handle;
            struct gnip_segment segments[GNIP_IOV]; /* the sender's memory */
        } recv;
        struct gnip_announcement { /* of one-sided operations */
            struct gnip_qlink link; /* vc->remote_events */
            bool wanted; /* the peer gets an event */
            bool due; /* now, as the data is there */
        } event;
        struct { /* WRITE, READ */
            struct gnip_announcement event;
            uint64_t remote_address, remote_key;
            /* where data is read that does not go to its place directly; NULL: none */
            void *bounce;
            bool indirect; /* all data goes through the bounce buffer */
            bool refused; /* a part could not be posted: the whole read is repeated */
            uint16_t chained; /* in the first request of a chain (FI_MORE): its length */
            struct gnip_req *next, *last; /* links of the chain; last: in the first request only */
            gnip_chained_get element; /* its element in the chain */
        } rma;
        struct { /* AMO, FETCH */
            struct gnip_announcement event;
            uint64_t remote_address, remote_key;
            uint64_t operand[2];
            gni_fma_cmd_type_t command;
            uint8_t width; /* 4 or 8 */
            bool fetches;
            void *result;
            void *bounce; /* where the result arrives first; NULL: in place */
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
 * A request of `kind` for an operation of the application. NULL stands for -FI_EAGAIN: the EP's
 * limit (tx or rx size) is reached, or no CQ entry can be reserved. ep->lock is held. `named`
 * (gnip_req_is_named): the end of the operation needs an entry in the CQ of its direction, if only
 * for an error.
 */
struct gnip_req *gnip_req_get(struct gnip_ep *ep, enum gnip_req_kind kind, bool named);
/*
 * False for an inject call: it gives no context and wants no completion, so no entry can name it.
 */
static inline bool gnip_req_is_named(uint64_t flags, const void *context)
{
    return (flags & (FI_INJECT | FI_COMPLETION)) != FI_INJECT || context != NULL;
}
/* for messages of the provider */
struct gnip_req *gnip_req_get_own(struct gnip_ep *ep, enum gnip_req_kind kind);
void gnip_req_put(struct gnip_req *req);
struct gnip_req *gnip_req_of_id(struct gnip_ep *ep, uint32_t id); /* NULL: unknown or stale */
/*
 * Writes the success entry (if wanted), counts it, and frees the request. `entry`: the fields that
 * are not zero.
 */
void gnip_req_complete(struct gnip_req *req, const struct fi_cq_tagged_entry *entry,
                       fi_addr_t source);
/* Writes the error entry and frees the request. `entry`: as above, with olen etc. */
void gnip_req_fail(struct gnip_req *req, const struct fi_cq_err_entry *entry);
/* gnip_req_fail with the request's flags and context and this error (positive errno). */
void gnip_req_error(struct gnip_req *req, int error, int prov_errno);
/* Flags of its completion entry: FI_MSG | FI_SEND ... */
uint64_t gnip_req_entry_flags(const struct gnip_req *req);
/* Ends a request that was submitted or deferred, before or instead of issuing it. */
void gnip_req_drop(struct gnip_req *req, int error);
/* Whether a test wants this attempt to fail (GNI_ERR_INJECT_COUNT). */
bool gnip_req_inject(struct gnip_req *req);
/* The error of an operation that fails because of that. */
int gnip_req_injected_error(const struct gnip_req *req);
/*
 * A VC has failed or is closed: ends the requests that wait for an answer of its peer (rendezvous,
 * delivery), without entries if the EP closes. The VC itself ends what is queued or posted.
 */
void gnip_req_vc_lost(struct gnip_vc *vc, int error);
/* Credits that those requests used. */
uint32_t gnip_req_unanswered(struct gnip_vc *vc);
/* Iterates over all requests; *place is 0 at first. NULL: no more. */
struct gnip_req *gnip_req_each(struct gnip_ep *ep, uint32_t *place);
void gnip_req_pool_free(struct gnip_ep *ep); /* ends all requests that are left, without entries */
/* The libfabric error for a GNI status: a positive errno (table: docs/gni-provider.md). */
int gnip_errno(gni_return_t rc);
const char *gnip_strerror(int prov_errno);
/* For fi_cq_strerror and fi_eq_strerror: also copies the text into the buffer, if there is one. */
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
