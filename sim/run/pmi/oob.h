/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI in the simulation. Ranks call the client libraries of stack/pmi2. Their connections lead to
 * the core of the process manager, which runs once for each node with ranks and once for the
 * launcher. All messages between these take virtual time on an out-of-band network (oob.c).
 *
 * Nothing exists before the first rank calls PMI or exchanges something (exchange.c).
 */
#ifndef JACQUARD_RUN_PMI_H
#define JACQUARD_RUN_PMI_H

#include "engine/fault.h"
#include "engine/ledger.h"
#include "cluster/cluster.h"
#include "pmi2/server.h"
#include "cluster/process_manager.h"

/* ---- what the process manager keeps of a rank ------------------------------------------------ */

struct pmi_rank {
    struct oob_line *line; /* its connection; NULL: none */
    bool opened_by_exchange; /* the program itself does not use PMI */
};

struct pmi_rank *pmi_rank_get(struct rank *rank); /* makes it */

/* ---- servers and what connects them (oob.c, oob_servers.c) ----------------------------------- */

struct oob_line;

struct oob_message {
    struct sim_event arrive;
    struct oob_message *next; /* waits for its server */
    struct oob_message *older, *newer; /* all that are in flight or wait */
    struct oob_server *server; /* that it is for; NULL: a client */
    struct oob_line *line; /* the end where it arrives; OOB_ENDED: that of the rank, or NULL */
    struct rank *rank; /* OOB_ENDED */
    enum { OOB_BYTES, OOB_STREAM, OOB_EOF, OOB_ENDED } kind;
    size_t length;
    uint8_t bytes[]; /* OOB_BYTES; those of OOB_STREAM lie in the outbox of the other end */
};

/* One end of a connection at a server: of a client, or of the tree (with another one at its end).
 */
struct oob_line {
    struct oob_line *next; /* all of them */
    struct oob_server *server;
    struct pmi2_link *link; /* NULL: freed */
    struct oob_line *other; /* tree */
    struct rank *rank; /* client */
    struct sim_fiber *reader; /* client: waits for bytes */
    size_t announced; /* bytes of the outbox that are in flight or have arrived */
    size_t readable; /* of those, arrived at the client */
    bool closed; /* by the server: nothing is sent after what was announced */
    bool ended; /* client: it has noticed that */
    bool left; /* the client has closed its end */
};

struct oob_server {
    struct oob *oob;
    struct pmi2_server *core;
    uint32_t node; /* PMI2_NO_NODE: the launcher */
    struct sim_timer timer; /* the core wants to be called */
    struct sim_event serve; /* the first message in the queue has been worked on */
    struct sim_event kick; /* the core may want something; not within a rank's own call */
    struct oob_message *queue, **queue_end;
    bool serving, kicked;
    sim_time_t sends; /* busy with sending until then */
};

struct oob {
    struct cluster *cluster;
    struct pmi2_store *store;
    struct oob_server *servers; /* by node, the launcher's last */
    uint32_t server_count;
    struct oob_line *lines;
    struct oob_message *messages;
    struct oob_spawn *spawns; /* spawn.c */
    struct oob_launch *launches;
    struct sim_ledger_book book;
    bool at_once; /* while jobs are made known, before any rank runs: takes no time */
    bool lossy; /* the scenario has rules at oob.message: the tree is datagrams */
    bool over; /* no rank runs any more */
    uint64_t dropped, delayed, duplicated, datagrams;
};

struct oob *oob_of(struct cluster *cluster); /* makes it */
struct oob_server *oob_server_of(struct oob *oob, uint32_t node);
/* The connection of a rank with the server of its node; NULL: refused. */
struct oob_line *oob_connect(struct rank *rank);
void oob_write(struct oob_line *line, const void *bytes, size_t length);
size_t oob_read(struct oob_line *line, void *bytes, size_t size); /* blocks; 0: the end */
void oob_close(struct oob_line *line);
void oob_rank_ended(struct rank *rank);
/* A message's turn has come (oob_servers.c, for oob.c). */
void oob_serve(struct oob_server *server, struct oob_message *message);
/* All that the core wants: bytes out, actions, time. */
void oob_run(struct oob_server *server);
void oob_kick(struct oob_server *server); /* soon */
/* Sends the bytes that wait in a link. */
void oob_send(struct oob_line *line);
void oob_send_eof(struct oob_line *line);
void oob_free_messages(struct oob *oob);

/* Makes a job known that does not exist yet; spawn NULL: the scenario's own. */
bool oob_publish_job(struct oob *oob, const struct app *apps, const struct pmi2_spawn *spawn);

/* Spawned jobs (spawn.c): at the root; at the server of a node that has ranks of it. */
void oob_spawn(struct oob_server *root, const struct pmi2_spawn *spawn);
void oob_launch(struct oob_server *server, struct job *job);
/* Called at the server that the last rank's end was reported to. */
void oob_report_over(struct oob_server *server, const struct job *job);
void oob_take_message(struct oob_server *server, const struct pmi2_action *action);
void oob_free_spawns(struct oob *oob);

/* The job of that id; NULL: none. */
struct job *pmi_job_of(struct cluster *cluster, const char *id);

#endif
