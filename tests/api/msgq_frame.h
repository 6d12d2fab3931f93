/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An instance of a shared message queue that counts the messages which it sends and receives. */
#ifndef JACQUARD_TESTS_MSGQ_FRAME_H
#define JACQUARD_TESTS_MSGQ_FRAME_H

#include "fixture.h"

#define HUGE_PAGE (2u << 20)
#define MESSAGE 40 /* bytes of most messages */

struct received {
    uint32_t from, pe, number;
    uint8_t tag;
};

struct instance {
    struct rank *rank;
    struct domain domain;
    gni_msgq_attr_t attrs;
    gni_msgq_handle_t queue;
    gni_ep_handle_t eps[MACHINE_RANKS]; /* by rank; NULL: on this node */
    uint32_t next[MACHINE_RANKS]; /* number of the next message to and … */
    uint32_t expected[MACHINE_RANKS]; /* … from each rank */
    uint32_t total, stop_after; /* received; 0: the callback never says stop */
    uint32_t completions;
    bool slow; /* its callback takes time */
    struct received last;
};

#define ROUNDS 20

/* As they pass between the leaders of the nodes: [to][from]. */
extern gni_msgq_ep_attr_t exchanged[8][8];
uint32_t node_count(const struct machine *machine);
/* The machine's argument when its launcher gives the nodes virtual addresses, in reverse order. */
extern char translated;
uint32_t pe_of(const struct rank *rank, uint32_t peer);
bool is_leader(const struct rank *rank);
void fill(uint8_t *message, uint32_t from, uint32_t to, uint32_t number, uint32_t bytes);
int receive(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data);
gni_msgq_attr_t usual_attrs(const struct rank *rank);
void open_domain(struct instance *me, struct rank *rank);
gni_return_t init(struct instance *me);
void create_endpoints(struct instance *me);
/* The leaders of all nodes connect them with each other. */
void connect_nodes(struct instance *me);
void start(struct instance *me, struct rank *rank);
gni_return_t try_send(struct instance *me, uint32_t to);
void collect(struct instance *me);
uint32_t sent(const struct instance *me);
/* Waits until all sends have their events and `messages` messages have arrived. */
void settle(struct instance *me, uint32_t messages);
void stop(struct instance *me);
extern char slow_callbacks; /* the machine's argument: some have such */
/* Everybody sends to everybody on other nodes. */
void all_to_all_main(struct rank *rank);

#endif
