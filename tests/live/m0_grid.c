/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process with two domains and three machines in each, which exchanges messages with others that
 * it is told of. Half of its buffers are in memory that it does not share with the daemon. Reads
 * commands from standard input and answers each with a line:
 *
 *   post N ADDRESSES   posts buffers for N messages from each address to each machine
 *   send               sends those, and waits until as many have come; checks every byte
 *   fork               starts a child that does nothing for a while; its number, and whether it has
 *                      the shared memory
 *
 * JACQUARD_M0 has the daemon's socket. The argument is the first TMID.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cond.h"
#include "lib/memory.h"
#include "net/lnet/lnet.h"
#include "net/net.h"

enum {
    DOMAINS = 2,
    MACHINES = 3,
    PEERS_MAX = 32,
    BYTES = 4096,
    PER_BUFFER = 16,
    BUFFERS = 32,
    ODD = 24, /* where memory of the C library begins in its page */
    SECONDS = 200,
};

struct machine {
    struct m0_net_transfer_mc tm; /* first */
    struct m0_net_buffer out, in[BUFFERS];
    unsigned posted, received;
    bool sent, started;
};

static struct m0_net_domain domains[DOMAINS];
static struct machine machines[DOMAINS * MACHINES];
static struct m0_mutex lock;
static struct m0_cond changed;
static char *peers[PEERS_MAX];
static unsigned peer_count, messages;

static void need(bool condition, const char *what, int rc)
{
    if (condition)
        return;
    fprintf(stderr, "m0_grid: %s: %s\n", what, strerror(-rc));
    _exit(1);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* The bytes of a message follow from the first eight. */
static uint8_t byte_of(uint64_t seed, size_t at)
{
    return (uint8_t)(seed * 2654435761u + at * 31 + (at >> 8) * 17);
}

static void fill(struct m0_net_buffer *nb, uint64_t seed)
{
    uint8_t *at = nb->nb_buffer.ov_buf[0];
    size_t i;

    memcpy(at, &seed, sizeof(seed));
    for (i = sizeof(seed); i < BYTES; i++)
        at[i] = byte_of(seed, i);
    nb->nb_length = BYTES;
}

static void check(const struct m0_net_buffer *nb, m0_bindex_t offset)
{
    /* The segments of a buffer follow each other. */
    const uint8_t *at = (const uint8_t *)nb->nb_buffer.ov_buf[0] + offset;
    uint64_t seed;
    size_t i;

    memcpy(&seed, at, sizeof(seed));
    for (i = sizeof(seed); i < BYTES; i++)
        need(at[i] == byte_of(seed, i), "wrong data", -EBADMSG);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_event(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;
    struct machine *machine = (struct machine *)nb->nb_tm;
    bool last = (nb->nb_flags & M0_NET_BUF_QUEUED) == 0;

    need(event->nbe_status == 0 || event->nbe_status == -ECANCELED, "an event", event->nbe_status);
    if (nb->nb_qtype == M0_NET_QT_MSG_RECV && event->nbe_status == 0) {
        need(event->nbe_length == BYTES, "wrong length", -EMSGSIZE);
        check(nb, event->nbe_offset);
    }
    m0_mutex_lock(&lock);
    if (nb->nb_qtype == M0_NET_QT_MSG_SEND)
        machine->sent = true;
    else
        machine->received += event->nbe_status == 0;
    if (nb->nb_qtype == M0_NET_QT_MSG_RECV && last)
        machine->posted--;
    m0_cond_broadcast(&changed);
    m0_mutex_unlock(&lock);
}

static const struct m0_net_buffer_callbacks callbacks = {
    .nbc_cb = {on_event, on_event, on_event, on_event, on_event, on_event}};

static void on_state(const struct m0_net_tm_event *event)
{
    if (event->nte_type != M0_NET_TEV_STATE_CHANGE)
        return;
    need(event->nte_status == 0, "a machine", event->nte_status);
    m0_mutex_lock(&lock);
    ((struct machine *)event->nte_tm)->started = event->nte_next_state == M0_NET_TM_STARTED;
    m0_cond_broadcast(&changed);
    m0_mutex_unlock(&lock);
}

static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = on_state};

/* With the lock: until the condition holds, for a minute at most. */
#define AWAIT(condition, what)                                           \
    do {                                                                 \
        m0_time_t await_end = m0_time_from_now(SECONDS, 0);              \
                                                                         \
        while (!(condition))                                             \
            if (!m0_cond_timedwait(&changed, await_end) && !(condition)) \
                need(false, what, -ETIMEDOUT);                           \
    } while (0)

/* ---- begin ----------------------------------------------------------------------------------- */

/* A buffer that begins inside of a page has one segment more. */
static void make_buffer(struct m0_net_buffer *nb, struct m0_net_domain *dom, unsigned pages,
                        bool shared)
{
    char *memory = shared ? m0_alloc_aligned((size_t)pages * M0_SEG_SIZE, M0_SEG_SHIFT)
                          : aligned_alloc(M0_SEG_SIZE, (pages + 1ul) * M0_SEG_SIZE);
    unsigned count = shared ? pages : pages + 1, i;
    int rc;

    nb->nb_buffer.ov_vec.v_nr = count;
    nb->nb_buffer.ov_vec.v_count = calloc(count, sizeof(m0_bcount_t));
    nb->nb_buffer.ov_buf = calloc(count, sizeof(void *));
    for (i = 0; i < count; i++) {
        nb->nb_buffer.ov_vec.v_count[i] = M0_SEG_SIZE;
        nb->nb_buffer.ov_buf[i] = memory + (size_t)i * M0_SEG_SIZE;
    }
    if (!shared) {
        nb->nb_buffer.ov_buf[0] = memory + ODD;
        nb->nb_buffer.ov_vec.v_count[0] = M0_SEG_SIZE - ODD;
        nb->nb_buffer.ov_vec.v_count[pages] = ODD;
    }
    nb->nb_callbacks = &callbacks;
    rc = m0_net_buffer_register(nb, dom);
    need(rc == 0, "registering", rc);
}

static void make_machine(struct machine *machine, struct m0_net_domain *dom, const char *nid,
                         unsigned tmid)
{
    char address[80];
    unsigned i;
    int rc;

    machine->tm.ntm_callbacks = &tm_callbacks;
    rc = m0_net_tm_init(&machine->tm, dom);
    need(rc == 0, "a machine", rc);
    snprintf(address, sizeof(address), "%s:12345:40:%u", nid, tmid);
    rc = m0_net_tm_start(&machine->tm, address);
    need(rc == 0, address, rc);
    m0_mutex_lock(&lock);
    AWAIT(machine->started, "starting");
    m0_mutex_unlock(&lock);
    make_buffer(&machine->out, dom, 1, tmid % 2 == 0);
    for (i = 0; i < BUFFERS; i++)
        make_buffer(&machine->in[i], dom, PER_BUFFER, i % 2 == 0);
}

static void begin(unsigned tmid)
{
    char nid[64] = "", **nids;
    unsigned i, j;
    int rc;

    m0_mutex_init(&lock);
    m0_cond_init(&changed, &lock);
    for (i = 0; i < DOMAINS; i++) {
        rc = m0_net_domain_init(&domains[i], &m0_net_lnet_xprt);
        need(rc == 0, "a domain", rc);
    }
    rc = m0_net_lnet_ifaces_get(&domains[0], &nids);
    need(rc == 0, "networks", rc);
    for (i = 0; nids[i] != NULL; i++)
        if (strcmp(nids[i], "0@lo") != 0)
            snprintf(nid, sizeof(nid), "%s", nids[i]);
    m0_net_lnet_ifaces_put(&domains[0], &nids);
    for (i = 0; i < DOMAINS; i++)
        for (j = 0; j < MACHINES; j++)
            make_machine(&machines[i * MACHINES + j], &domains[i], nid, tmid + i * MACHINES + j);
    for (i = 0; i < DOMAINS * MACHINES; i++)
        printf("%s%s", machines[i].tm.ntm_ep->nep_addr, i + 1 < DOMAINS * MACHINES ? " " : "\n");
}

static void end(void)
{
    unsigned i, j;

    for (i = 0; i < DOMAINS * MACHINES; i++) {
        int rc = m0_net_tm_stop(&machines[i].tm, true);

        need(rc == 0, "stopping", rc);
        m0_mutex_lock(&lock);
        AWAIT(!machines[i].started, "stopping");
        m0_mutex_unlock(&lock);
        m0_net_tm_fini(&machines[i].tm);
        m0_net_buffer_deregister(&machines[i].out, &domains[i / MACHINES]);
        for (j = 0; j < BUFFERS; j++)
            m0_net_buffer_deregister(&machines[i].in[j], &domains[i / MACHINES]);
    }
    for (i = 0; i < DOMAINS; i++)
        m0_net_domain_fini(&domains[i]);
    m0_net_fini();
}

/* ---- commands -------------------------------------------------------------------------------- */

static void post(char *arguments)
{
    unsigned count, i, j;
    char *word, *rest = NULL;

    messages = (unsigned)atoi(strtok_r(arguments, " \n", &rest));
    for (peer_count = 0; (word = strtok_r(NULL, " \n", &rest)) != NULL; peer_count++)
        peers[peer_count] = strdup(word);
    count = (peer_count * messages + PER_BUFFER - 1) / PER_BUFFER;
    need(count <= BUFFERS, "too many messages", -EINVAL);
    for (i = 0; i < DOMAINS * MACHINES; i++) {
        machines[i].received = 0;
        for (j = 0; j < count; j++) {
            struct m0_net_buffer *nb = &machines[i].in[j];
            int rc;

            nb->nb_qtype = M0_NET_QT_MSG_RECV;
            nb->nb_timeout = M0_TIME_NEVER;
            nb->nb_min_receive_size = BYTES;
            nb->nb_max_receive_msgs = PER_BUFFER;
            machines[i].posted++;
            rc = m0_net_buffer_add(nb, &machines[i].tm);
            need(rc == 0, "posting", rc);
        }
    }
    puts("posted");
}

static void send_to(struct machine *machine, struct m0_net_end_point *ep, uint64_t seed)
{
    struct m0_net_buffer *nb = &machine->out;
    int rc;

    fill(nb, seed);
    nb->nb_qtype = M0_NET_QT_MSG_SEND;
    nb->nb_timeout = M0_TIME_NEVER;
    nb->nb_ep = ep;
    machine->sent = false;
    rc = m0_net_buffer_add(nb, &machine->tm);
    need(rc == 0, "sending", rc);
    m0_mutex_lock(&lock);
    AWAIT(machine->sent, "sending");
    m0_mutex_unlock(&lock);
}

static void exchange(void)
{
    unsigned i, j, k;

    for (i = 0; i < DOMAINS * MACHINES; i++)
        for (j = 0; j < peer_count; j++) {
            struct m0_net_end_point *ep;
            int rc = m0_net_end_point_create(&ep, &machines[i].tm, peers[j]);

            need(rc == 0, peers[j], rc);
            for (k = 0; k < messages; k++)
                send_to(&machines[i], ep, (uint64_t)i << 40 | (uint64_t)j << 20 | k);
            m0_net_end_point_put(ep);
        }
    for (i = 0; i < DOMAINS * MACHINES; i++) {
        m0_mutex_lock(&lock);
        AWAIT(machines[i].received == peer_count * messages, "receiving");
        m0_mutex_unlock(&lock);
        for (j = 0; j < BUFFERS; j++)
            m0_net_buffer_del(&machines[i].in[j], &machines[i].tm);
        m0_mutex_lock(&lock);
        AWAIT(machines[i].posted == 0, "cancelling");
        m0_mutex_unlock(&lock);
    }
    for (j = 0; j < peer_count; j++)
        free(peers[j]);
    printf("%u\n", DOMAINS * MACHINES * peer_count * messages);
}

static void have_a_child(void)
{
    unsigned char resident;
    void *shared = m0_alloc_aligned(M0_SEG_SIZE, M0_SEG_SHIFT);
    pid_t child;
    int status;

    child = fork();
    if (child == 0) {
        alarm(SECONDS);
        /* One that tells whether it has the memory, and one that stays. */
        if (fork() == 0)
            _exit(mincore(shared, M0_SEG_SIZE, &resident) == 0 ? 1 : 0);
        wait(&status);
        printf("%d %s\n", (int)getpid(), WEXITSTATUS(status) == 0 ? "without" : "with");
        fflush(stdout);
        pause();
        _exit(0);
    }
    need(child > 0, "fork", -errno);
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 2)
        return 2;
    begin((unsigned)atoi(argv[1]));
    while (getline(&line, &room, stdin) > 0) {
        if (strncmp(line, "post ", 5) == 0)
            post(line + 5);
        else if (strcmp(line, "send\n") == 0)
            exchange();
        else if (strcmp(line, "fork\n") == 0)
            have_a_child();
    }
    free(line);
    end();
    return 0;
}
