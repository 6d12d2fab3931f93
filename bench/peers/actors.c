/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The traffic of bench-smsg between actors of SimGrid, through its C interface: 8-byte messages
 * over mailboxes on a star of hosts. No NIC is modelled. harness/peers.py compiles this file and
 * measures its processor time.
 *
 * actors PLATFORM pingpong|random MESSAGES: messages of each actor.
 */
#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTORS_MAX 64
#define BYTES 8

static sg_mailbox_t mailboxes[ACTORS_MAX];
static int actors;
static long messages, received;

/* The shift of a round, the same for all actors, so that each one receives one message in each
 * round. */
static int shift_of(long round)
{
    unsigned long x = (unsigned long)round * 0x9e3779b97f4a7c15ul;

    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ul;
    return 1 + (int)((x >> 32) % (unsigned long)(actors - 1));
}

static void pingpong(int argc, char **argv)
{
    int self = atoi(argv[1]);
    long i;

    for (i = 0; i < messages; i++) {
        if (self == 0)
            sg_mailbox_put(mailboxes[1], &received, BYTES);
        if (sg_mailbox_get(mailboxes[self]) == &received)
            received++;
        if (self == 1)
            sg_mailbox_put(mailboxes[0], &received, BYTES);
    }
}

static void all_to_random(int argc, char **argv)
{
    int self = atoi(argv[1]);
    sg_comm_t sent;
    long i;

    for (i = 0; i < messages; i++) {
        sent = sg_mailbox_put_async(mailboxes[(self + shift_of(i)) % actors], &received, BYTES);
        if (sg_mailbox_get(mailboxes[self]) == &received)
            received++;
        sg_comm_wait(sent);
    }
}

int main(int argc, char **argv)
{
    char name[16], text[16];
    const char *arguments[3] = {"actor", text, NULL};
    sg_actor_t actor;
    int i;

    simgrid_init(&argc, argv);
    if (argc != 4) {
        fprintf(stderr, "usage: actors PLATFORM pingpong|random MESSAGES\n");
        return 2;
    }
    simgrid_load_platform(argv[1]);
    actors = strcmp(argv[2], "pingpong") == 0 ? 2 : ACTORS_MAX;
    messages = atol(argv[3]);
    for (i = 0; i < actors; i++) {
        snprintf(name, sizeof(name), "node-%d", i);
        snprintf(text, sizeof(text), "%d", i);
        mailboxes[i] = sg_mailbox_by_name(name);
        actor = sg_actor_init(name, sg_host_by_name(name));
        sg_actor_start_(actor, actors == 2 ? pingpong : all_to_random, 2, arguments);
    }
    simgrid_run();
    if (received != messages * actors) {
        fprintf(stderr, "actors: %ld of %ld messages arrived\n", received, messages * actors);
        return 1;
    }
    return 0;
}
