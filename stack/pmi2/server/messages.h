/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What servers say to each other. Every message has the head of store.h; `id` is the job it is
 * about, or empty.
 */
#ifndef JACQUARD_PMI2_MESSAGES_H
#define JACQUARD_PMI2_MESSAGES_H

#define TREE_VERSION 1u

enum pmi2_message_kind {
    MESSAGE_HELLO = 1, /* both: epoch: version, body: u32 first, last */
    MESSAGE_JOB, /* down: body: facts.c */
    MESSAGE_JOB_END, /* down */
    MESSAGE_FENCE_UP, /* up: epoch, status: enum pmi2_fence_up, records of all ranks below */
    MESSAGE_FENCE_DOWN, /* down: epoch, status, records */
    MESSAGE_RING_UP, /* up: count: ranks below; body: left, right value */
    MESSAGE_RING_DOWN, /* down: count: rank of the first one below; status; body: left, right */
    MESSAGE_RANKS_UP, /* up: body: u32 rank, u8 loss, … */
    MESSAGE_RANKS_DOWN, /* down: the same: the first loss, which ends collective operations, and the
                           dead ranks */
    MESSAGE_ENDED, /* down, to its node: count: rank whose process has ended */
    MESSAGE_LOST_UP, /* up: body: u32 first, last: nodes whose server is gone; with an id: cannot
                        serve that job */
    MESSAGE_ORPHANED, /* down: the root cannot be reached any more */
    MESSAGE_REQUEST, /* up: body: u64 number, u8 hops, u32 each; then the request */
    MESSAGE_ANSWER, /* down: the same way back */
    MESSAGE_ABORT, /* up: count: rank, epoch: exit status; body: text */
    MESSAGE_LAUNCH_UP, /* up: count: kind, epoch: node it is from; body: the launcher's */
    MESSAGE_LAUNCH_DOWN, /* down: count: kind, epoch: node it is for; body */
    MESSAGE_PING, /* both: answered with a pong */
    MESSAGE_PONG,
};

enum pmi2_fence_up {
    FENCE_ALL, /* all ranks below have entered */
    FENCE_SURVIVORS, /* all that are left, and know that it is only them */
    FENCE_NOBODY, /* no rank is left */
};

enum pmi2_loss { /* why a rank will not take part in a fence any more */
                 LOSS_NONE,
                 LOSS_FINALIZED,
                 LOSS_FAILED, /* its connection broke; the process may live */
                 LOSS_DEAD,
                 LOSS_NODE, /* with its server */
                 LOSS_MANAGER, /* the servers above are gone */
};

#endif
