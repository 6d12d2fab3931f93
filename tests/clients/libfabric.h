/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A client in the style of libfabric's gni provider. It reads credentials and placement from ALPS
 * and uses virtual memory domain handles. Each NIC has queues for polling and for blocking, and
 * there is a registration cache. A process posts one wildcard datagram, and peers connect to it
 * with bound datagrams. Mailboxes have 64 credits and retransmit. CQWRITEs to a doorbell wake a
 * progress thread. GETs are widened to words of 4 bytes, some are chained, and atomics are of the
 * second generation.
 */
#ifndef LIBFABRIC_H
#define LIBFABRIC_H

#include <pthread.h>
#include "client.h"

enum { MAX_MESSAGE = 16384, CREDITS = 64, MEMORY = 1 << 20, RETRIES = 5 };
enum { WILDCARD_ID = 0xffff };

struct request { /* a transaction: the descriptor is its first member */
    gni_post_descriptor_t descriptor;
    int done, tries;
    gni_ep_handle_t ep;
};

struct connect { /* the payload of datagrams */
    int rank, vc;
    gni_smsg_attr_t mailbox;
    gni_mem_handle_t doorbell, memory;
    uint64_t address;
};

struct vc { /* a virtual connection; the peer knows its number */
    gni_ep_handle_t ep, datagram_ep;
    struct connect mine, theirs;
    int connected, received;
};

/* ---- libfabric.c ----------------------------------------------------------------------------- */

extern uint8_t ptag;
extern uint32_t cookie;
extern gni_cdm_handle_t cdm, cm_cdm;
extern gni_nic_handle_t nic, cm_nic;
extern gni_cq_handle_t tx, rx, tx_blocking, rx_blocking;
extern gni_mem_handle_t doorbell_handle, memory_handle;
extern struct vc *vcs;
extern uint32_t *addresses;
extern char *memory;
extern volatile int doorbells;
extern pthread_mutex_t lock;

void post(struct request *request);
void *progress_thread(void *arg);
void progress_tx(void);
void progress_rx(void);
void read_vc(struct vc *vc); /* the messages that have arrived */
void make_mailbox(struct connect *connect);
void connect_all(void);

/* ---- libfabric_setup.c ----------------------------------------------------------------------- */

void credentials(void);
void open_nics(void);
void use_cache(void);

/* ---- libfabric_transfers.c ------------------------------------------------------------------- */

void unaligned_get(const struct vc *vc);
void chained_get(const struct vc *vc);
void atomics(const struct vc *vc);
void large_put(const struct vc *vc);
void virtual_handles(const struct vc *vc);
void ring_doorbell(const struct vc *vc);
void messages(void);
void talk_to_myself(void);

#endif
