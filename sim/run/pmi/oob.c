/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The out-of-band network between the servers of PMI and their clients: messages, the time that
 * they take, and injected faults. A server is one thread: it works on messages one after the other,
 * and sends one after the other.
 *
 * The bytes of a stream stay in the sender's outbox until the other end reads them. Datagrams may
 * be lost or duplicated, so they are copied.
 */
#include <string.h>

#include "oob.h"

#define PIECES 64
#define READ_PIECES 4 /* on the stack of a rank; stacks are small */

static const struct scenario_oob *params(const struct oob *oob)
{
    return &oob->cluster->scenario->oob;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void arrive(struct sim_event *event);

static struct oob_message *message_new(struct oob *oob, struct oob_server *server,
                                       struct oob_line *line, int kind, size_t copied)
{
    struct oob_message *message = g_malloc(sizeof(*message) + copied);

    memset(message, 0, sizeof(*message));
    message->arrive.fire = arrive;
    message->server = server;
    message->line = line;
    message->kind = kind;
    message->older = NULL;
    message->newer = oob->messages;
    if (oob->messages != NULL)
        oob->messages->older = message;
    oob->messages = message;
    return message;
}

static void message_free(struct oob *oob, struct oob_message *message)
{
    if (message->older != NULL)
        message->older->newer = message->newer;
    else
        oob->messages = message->newer;
    if (message->newer != NULL)
        message->newer->older = message->older;
    g_free(message);
}

void oob_free_messages(struct oob *oob)
{
    while (oob->messages != NULL)
        message_free(oob, oob->messages);
}

/* ---- at a server ----------------------------------------------------------------------------- */

static void describe_message(const void *what, struct sim_fault_hit *hit)
{
    (void)what;
    g_strlcpy(hit->what, "message of PMI", sizeof(hit->what));
}

static struct sim_fault_subject subject(const struct oob_server *from, const struct oob_server *to,
                                        uint32_t kind)
{
    const struct net *net = cluster_net(to->oob->cluster);
    uint32_t source = from != NULL ? from->node : PMI2_NO_NODE;

    return (struct sim_fault_subject){
        .describe = describe_message,
        .source = source,
        .target = to->node,
        .source_group = source != PMI2_NO_NODE ? net_group_of(net, source) : SIM_FAULT_ANY,
        .target_group = to->node != PMI2_NO_NODE ? net_group_of(net, to->node) : SIM_FAULT_ANY,
        .kind = kind,
    };
}

/* Begins to work on the first message of the queue. */
static void begin(struct oob_server *server)
{
    struct cluster *cluster = server->oob->cluster;
    struct sim_fault_subject about = subject(NULL, server, SIM_FAULT_ANY);
    const struct sim_fault_rule *rule = sim_fault_ask(&cluster->oob_server_point, &about);
    sim_time_t cost = params(server->oob)->frame_time;

    if (rule != NULL)
        cost += rule->delay;
    server->serving = true;
    sim_event_schedule(&server->serve, sim_now() + cost);
}

static void serve(struct sim_event *event)
{
    struct oob_server *server = sim_container_of(event, struct oob_server, serve);
    struct oob_message *message = server->queue;

    g_assert(server->serving && message != NULL);
    server->queue = message->next;
    if (server->queue == NULL)
        server->queue_end = &server->queue;
    oob_serve(server, message);
    message_free(server->oob, message);
    server->serving = false;
    if (server->queue != NULL)
        begin(server);
}

static void arrive(struct sim_event *event)
{
    struct oob_message *message = sim_container_of(event, struct oob_message, arrive);
    struct oob_line *line = message->line;
    struct oob_server *server = message->server;

    if (server != NULL) {
        sim_ledger_count(&server->oob->book, 0, 1);
        message->next = NULL;
        *server->queue_end = message;
        server->queue_end = &message->next;
        if (!server->serving) {
            server->serve.fire = serve;
            begin(server);
        }
        return;
    }
    sim_ledger_count(&line->server->oob->book, 0, 1);
    sim_progress();
    line->readable += message->length;
    g_assert(line->readable <= line->announced);
    if (message->kind == OOB_EOF)
        line->ended = true;
    if (line->reader != NULL)
        sim_wake(line->reader);
    message_free(line->server->oob, message);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void dispatch(struct oob *oob, struct oob_message *message, sim_time_t at)
{
    g_assert(at >= sim_now());
    sim_ledger_count(&oob->book, 1, 0);
    sim_event_schedule(&message->arrive, at);
}

/* The arrival time of a message that the server sends now. */
static sim_time_t arrival(struct oob_server *from, bool tree, size_t bytes)
{
    const struct scenario_oob *oob = params(from->oob);

    from->sends = MAX(from->sends, sim_now()) + oob->frame_time;
    if (tree && oob->rate_GBps > 0)
        from->sends += (sim_time_t)((double)bytes * 1e3 / oob->rate_GBps);
    return from->sends + (tree ? oob->hop_latency : oob->local_latency);
}

static void deliver_now(struct oob_line *to, const void *bytes, size_t length)
{
    if (to->link != NULL)
        pmi2_link_input(to->link, bytes, length);
}

static struct oob_message *datagram_new(struct oob_line *to, const struct iovec *piece)
{
    struct oob_message *message =
        message_new(to->server->oob, to->server, to, OOB_BYTES, piece->iov_len);

    message->length = piece->iov_len;
    memcpy(message->bytes, piece->iov_base, piece->iov_len);
    return message;
}

static void send_datagram(struct oob_line *line, const struct iovec *piece)
{
    struct oob *oob = line->server->oob;
    struct oob_line *to = line->other;
    struct sim_fault_subject about =
        subject(line->server, to->server,
                line->server->node == PMI2_NO_NODE ||
                    (to->server->node != PMI2_NO_NODE && to->server->node > line->server->node));
    const struct sim_fault_rule *rule;
    sim_time_t at;

    at = arrival(line->server, true, piece->iov_len);
    rule = sim_fault_ask(&oob->cluster->oob_message_point, &about);
    oob->datagrams++;
    if (rule != NULL && rule->action == SIM_FAULT_DROP) {
        oob->dropped++;
        sim_ledger_count(&oob->book, 1, 0);
        sim_ledger_count_lost(&oob->book, 1);
        return;
    }
    if (rule != NULL && rule->action == SIM_FAULT_DELAY) {
        oob->delayed++;
        at += rule->delay;
    }
    dispatch(oob, datagram_new(to, piece), at);
    if (rule != NULL && rule->action == SIM_FAULT_DUPLICATE) {
        oob->duplicated++;
        dispatch(oob, datagram_new(to, piece), at);
    }
}

/* While jobs are made known. */
static void send_now(struct oob_line *line, const struct iovec *piece)
{
    deliver_now(line->other, piece->iov_base, piece->iov_len);
}

static void send_pieces(struct oob_line *line,
                        void (*send)(struct oob_line *line, const struct iovec *piece))
{
    struct iovec pieces[PIECES];
    int count, i;

    while (line->link != NULL && (count = pmi2_link_output(line->link, pieces, PIECES)) > 0) {
        size_t bytes = 0;

        for (i = 0; i < count; i++) {
            bytes += pieces[i].iov_len;
            send(line, &pieces[i]);
        }
        if (line->link != NULL)
            pmi2_link_sent(line->link, bytes);
    }
}

void oob_send(struct oob_line *line)
{
    struct oob *oob = line->server->oob;
    struct oob_message *message;
    size_t bytes;

    if (line->other != NULL && (oob->lossy || oob->at_once)) {
        send_pieces(line, oob->at_once ? send_now : send_datagram);
        return;
    }
    g_assert(pmi2_link_waiting(line->link) >= line->announced);
    bytes = pmi2_link_waiting(line->link) - line->announced;
    if (bytes == 0)
        return;
    message = line->other != NULL
                  ? message_new(oob, line->other->server, line->other, OOB_STREAM, 0)
                  : message_new(oob, NULL, line, OOB_STREAM, 0);
    message->length = bytes;
    line->announced += bytes;
    dispatch(oob, message, arrival(line->server, line->other != NULL, bytes));
}

void oob_send_eof(struct oob_line *line)
{
    struct oob *oob = line->server->oob;
    struct oob_line *other = line->other;

    dispatch(oob,
             message_new(oob, other != NULL ? other->server : NULL, other != NULL ? other : line,
                         OOB_EOF, 0),
             arrival(line->server, other != NULL, 0));
}

/* ---- clients --------------------------------------------------------------------------------- */

void oob_write(struct oob_line *line, const void *bytes, size_t length)
{
    struct oob *oob = line->server->oob;
    struct oob_message *message = message_new(oob, line->server, line, OOB_BYTES, length);

    message->length = length;
    memcpy(message->bytes, bytes, length);
    dispatch(oob, message, sim_now() + params(oob)->local_latency);
}

static void describe(const void *what, char *buffer, size_t size)
{
    const struct oob_line *line = what;

    snprintf(buffer, size, " of job %s", line->rank->job->name);
}

size_t oob_read(struct oob_line *line, void *bytes, size_t size)
{
    const struct sim_wait wait = {
        .text = "the process manager", .describe = describe, .what = line};
    struct iovec pieces[READ_PIECES];
    size_t got = 0;
    int count, i;

    sim_settle();
    line->reader = sim_fiber_self();
    while (line->readable == 0 && !line->ended)
        sim_wait_until(SIM_NEVER, &wait);
    line->reader = NULL;
    if (line->readable == 0 || line->link == NULL)
        return 0;
    size = MIN(size, line->readable);
    count = pmi2_link_output(line->link, pieces, READ_PIECES);
    for (i = 0; i < count && got < size; i++) {
        size_t more = MIN(pieces[i].iov_len, size - got);

        memcpy((uint8_t *)bytes + got, pieces[i].iov_base, more);
        got += more;
    }
    g_assert(got <= line->readable && line->readable <= line->announced);
    line->readable -= got;
    line->announced -= got;
    pmi2_link_sent(line->link, got);
    oob_kick(line->server);
    return got;
}

void oob_close(struct oob_line *line)
{
    struct oob *oob = line->server->oob;

    if (line->left)
        return;
    line->left = true;
    dispatch(oob, message_new(oob, line->server, line, OOB_EOF, 0),
             sim_now() + params(oob)->local_latency);
}

/* The node reports the end of a rank to the server, as a parent process learns of it. */
void oob_rank_ended(struct rank *rank)
{
    struct oob *oob = rank->job->cluster->oob;
    struct oob_message *message =
        message_new(oob, oob_server_of(oob, rank->node), rank->pmi != NULL ? rank->pmi->line : NULL,
                    OOB_ENDED, 0);

    message->rank = rank;
    dispatch(oob, message, sim_now() + params(oob)->local_latency);
}
