/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See pmi2_server_world.h. */
#include "pmi2_server_world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"

#define CLIENTS 24u
#define ASKED 4096u
#define SECOND 1000000000ull

struct bytes {
    const uint8_t *at, *end;
};

static uint32_t take(struct bytes *bytes, uint32_t below)
{
    return bytes->at < bytes->end ? *bytes->at++ % below : 0;
}

static void wrong(const char *what, const char *detail)
{
    fprintf(stderr, "invariant: %s: %s\n", what, detail);
    abort();
}

enum outcome { FREE, OPEN, WAITS, ANSWERED };
struct asked { /* a request with thrid */
    uint8_t outcome;
    uint8_t client;
};

struct world {
    struct driver *driver;
    struct bytes in;
    char jobs[4][32];
    uint32_t ranks[4];
    struct peer *clients[CLIENTS], *witness;
    bool raw[CLIENTS]; /* has sent bytes that may be no message */
    bool greeted[CLIENTS];
    struct asked asked[ASKED];
    uint32_t asked_count, witnessed;
    uint64_t spawns[64];
    uint32_t spawn_count;
};

/* ---- what clients ask -------------------------------------------------------------------------
 */

static const struct {
    const char *text; /* %s: a key, or a job's id where it says jobid */
    bool waits; /* may be answered later */
} requests[] = {
    {"cmd=kvs-put;key=%s;value=1;", false},
    {"cmd=kvs-put;key=%s;value=;;;;x=y z;key=b;", false},
    {"cmd=kvs-get;jobid=;srcid=-1;key=%s;", false},
    {"cmd=kvs-fence;", true},
    {"cmd=kvs-fence;survivors=TRUE;", true},
    {"cmd=info-getnodeattr;key=%s;wait=TRUE;", true},
    {"cmd=info-getnodeattr;key=%s;wait=FALSE;", false},
    {"cmd=info-putnodeattr;key=%s;value=2;", false},
    {"cmd=info-getjobattr;key=PMI_dead_processes;", false},
    {"cmd=info-getnodeattr;key=localRanks;wait=FALSE;", false},
    {"cmd=name-publish;name=%s;port=p;infokeycount=0;", true},
    {"cmd=name-lookup;name=%s;infokeycount=0;", true},
    {"cmd=name-unpublish;name=%s;infokeycount=0;", true},
    {"cmd=ring;ring-count=1;ring-left=%s;ring-right=r;", true},
    {"cmd=job-connect;jobid=%j;", true},
    {"cmd=job-connect;jobid=7.%s;copy=TRUE;", true},
    {"cmd=job-disconnect;jobid=%j;", true},
    {"cmd=kvs-get;jobid=%j;key=%s;", true},
    {"cmd=kvs-getall;jobid=%j;", true},
    {"cmd=kvs-putall;jobid=7.%s;npair=0;", true},
    {"cmd=spawn;ncmds=1;preputcount=1;ppkey0=%s;ppval0=v;subcmd=p;maxprocs=2;argc=1;argv0=x;"
     "infokeycount=0;",
     true},
    {"cmd=spawn;ncmds=2;preputcount=0;", true},
    {"cmd=spawn-cmd;subcmd=p;maxprocs=1;argc=0;", true},
    {"cmd=kvs-putall;jobid=7.%s;npair=1;", true},
    {"cmd=kvs-putall-pair;key=%s;value=1;", true},
    {"cmd=nix;key=%s;", false},
    {"cmd=job-getid;", false},
};
static const char *const keys[] = {"a", "b", "1", "k-seg-1/2", "PMI_x", "", "two words"};

static void expand(struct world *world, struct text *frame, const char *text, uint32_t number)
{
    struct text payload = {NULL, 0, 0};
    const char *key = keys[take(&world->in, sizeof(keys) / sizeof(keys[0]))];
    const char *job = world->jobs[take(&world->in, 4)];

    for (; *text != '\0'; text++) {
        if (text[0] == '%') {
            text_print(&payload, "%s", text[1] == 's' ? key : job);
            text++;
        } else {
            text_add(&payload, text, 1);
        }
    }
    if (number != UINT32_MAX)
        text_print(&payload, "thrid=%u;", number);
    text_print(frame, "%6zu", payload.length);
    text_add(frame, payload.at, payload.length);
    free(payload.at);
}

static void ask(struct world *world, uint32_t client)
{
    uint32_t what = take(&world->in, sizeof(requests) / sizeof(requests[0])), number = UINT32_MAX;
    struct text frame = {NULL, 0, 0};

    if (world->clients[client] == NULL)
        return;
    if (world->asked_count < ASKED && take(&world->in, 4) != 0) {
        number = world->asked_count++;
        world->asked[number].client = (uint8_t)client;
        /* The parts of a request have one answer together. */
        world->asked[number].outcome = requests[what].waits ? WAITS : OPEN;
    }
    expand(world, &frame, requests[what].text, number);
    driver_post(world->clients[client], frame.at, frame.length);
    free(frame.at);
}

#define SPAWN_BLOCK \
    "mcmd=spawn\nnprocs=1\nexecname=%s\ntotspawns=2\nargcnt=0\npreput_num=0\ninfo_num=0\n"

static void ask_line(struct world *world, uint32_t client)
{
    static const char first_block[] = SPAWN_BLOCK "spawnssofar=1\nendcmd\n",
                      second_block[] = SPAWN_BLOCK "spawnssofar=2\nendcmd\n";
    static const char *const lines[] = {"cmd=put kvsname=%j key=%s value=1\n",
                                        "cmd=get kvsname=%j key=%s\n",
                                        "cmd=barrier_in\n",
                                        "cmd=get_maxes\n",
                                        "cmd=publish_name service=%s port=p q\n",
                                        "cmd=lookup_name service=%s\n",
                                        first_block,
                                        second_block,
                                        "cmd=init pmi_version=2 pmi_subversion=0\n",
                                        "cmd=init pmi_version=1 pmi_subversion=1\n",
                                        "cmd=initack pmiid=1\n",
                                        "cmd=nix\n"};
    const char *text = lines[take(&world->in, sizeof(lines) / sizeof(lines[0]))];
    struct text line = {NULL, 0, 0};

    if (world->clients[client] == NULL)
        return;
    for (; *text != '\0'; text++) {
        if (text[0] == '%') {
            text_print(&line, "%s",
                       text[1] == 's' ? keys[take(&world->in, 4)]
                                      : world->jobs[take(&world->in, 4)]);
            text++;
        } else {
            text_add(&line, text, 1);
        }
    }
    driver_post(world->clients[client], line.at, line.length);
    free(line.at);
}

static void send_raw(struct world *world, uint32_t client)
{
    uint32_t length = take(&world->in, 64), i;
    char bytes[64];

    for (i = 0; i < length; i++)
        bytes[i] = (char)take(&world->in, 256);
    if (world->clients[client] == NULL)
        return;
    world->raw[client] = true;
    driver_post(world->clients[client], bytes, length);
}

static void say_goodbye(struct world *world, uint32_t client)
{
    static const char *const ends[] = {
        "    13cmd=finalize;",           "    30cmd=abort;isworld=FALSE;msg=b;;;",
        "    23cmd=abort;isworld=TRUE;", "cmd=finalize\n",
        "cmd=abort exitcode=3\n",        "    30cmd="};
    const char *text = ends[take(&world->in, 6)];

    if (world->clients[client] == NULL)
        return;
    world->raw[client] = true;
    driver_post(world->clients[client], text, strlen(text));
}

/* ---- the world --------------------------------------------------------------------------------
 */

static void spawn_wanted(struct driver *driver, const struct pmi2_spawn *spawn)
{
    struct world *world = driver->user;
    uint32_t i, j;

    for (i = 0; i < spawn->command_count; i++) /* all of it can be read */
        for (j = 0; j < spawn->commands[i].argc; j++)
            if (strlen(spawn->commands[i].argv[j]) > 1000000)
                wrong("spawn", "argument");
    if (world->spawn_count < 64)
        world->spawns[world->spawn_count++] = spawn->id;
}

static void add_job(struct world *world, uint32_t slot, uint32_t ranks)
{
    const char *id = driver_job(world->driver, ranks);

    world->ranks[slot] = id == NULL ? 0 : ranks;
    snprintf(world->jobs[slot], sizeof(world->jobs[slot]), "%s", id == NULL ? "0.0" : id);
}

static void connect_one(struct world *world, uint32_t client)
{
    static const char hello[] = "cmd=init pmi_version=2 pmi_subversion=0\n"
                                "    28cmd=fullinit;threaded=FALSE;";
    uint32_t slot = take(&world->in, 4), rank = take(&world->in, 16), nodes, each, i;
    struct driver *driver = world->driver;

    if (world->clients[client] != NULL || world->ranks[slot] == 0)
        return;
    rank %= world->ranks[slot];
    nodes = driver->options.nodes;
    each = (world->ranks[slot] + nodes - 1) / nodes;
    if (driver->servers[rank / each] == NULL)
        return;
    world->clients[client] = take(&world->in, 8) == 0
                                 ? driver_port(driver, world->jobs[slot], rank / each,
                                               (enum pmi2_auth)take(&world->in, 3))
                                 : driver_client(driver, world->jobs[slot], rank, rank / each);
    if (world->clients[client] == NULL)
        return;
    world->raw[client] = false;
    for (i = 0; i < world->asked_count; i++) /* the bytes belong to another client */
        if (world->asked[i].client == client)
            world->asked[i].outcome = ANSWERED;
    driver_post(world->clients[client], hello, sizeof(hello) - 1);
}

static void answer_spawn(struct world *world)
{
    static const int errors[1024] = {0, 2, 0, 2}; /* the most that a spawn may ask for */
    uint64_t id;

    if (world->spawn_count == 0)
        return;
    id = world->spawns[--world->spawn_count];
    pmi2_server_spawn_done(world->driver->servers[0], id, take(&world->in, 2) ? "8.8" : NULL,
                           take(&world->in, 2) ? errors : NULL, NULL);
}

static void hang_up(struct world *world, uint32_t client)
{
    if (world->clients[client] == NULL)
        return;
    driver_hang_up(world->clients[client]);
    world->clients[client] = NULL;
}

static void forget_closed(struct world *world)
{
    uint32_t i;

    for (i = 0; i < CLIENTS; i++)
        if (world->clients[i] != NULL && world->clients[i]->closed)
            world->clients[i] = NULL;
}

static void kill_server(struct world *world)
{
    uint32_t server = 1 + take(&world->in, 8), i;

    if (server >= world->driver->server_count || world->driver->servers[server] == NULL)
        return;
    for (i = 0; i < CLIENTS; i++)
        if (world->clients[i] != NULL && world->clients[i]->server == server)
            world->clients[i] = NULL;
    driver_kill_server(world->driver, server);
}

/* Every reply has the thrid of a request of that client, and each request gets one. */
static void check_replies(struct world *world, uint32_t client)
{
    struct peer *peer = world->clients[client];
    const char *at = peer == NULL ? NULL : peer->in.at;

    if (at == NULL || world->raw[client])
        return;
    while ((at = strstr(at, "-response;thrid=")) != NULL) {
        uint32_t number = (uint32_t)strtoul(at + strlen("-response;thrid="), NULL, 10);
        const char *more = strstr(at, ";npair=");
        const char *pair = at;

        while (pair > peer->in.at && *pair != '=')
            pair--;
        at++;
        if (strncmp(pair, "=kvs-getall-pair", 16) == 0)
            continue; /* parts of one reply */
        (void)more;
        if (number >= world->asked_count || world->asked[number].client != client)
            wrong("a reply to nothing", at);
        if (world->asked[number].outcome == ANSWERED)
            wrong("a second reply", at);
        world->asked[number].outcome = ANSWERED;
    }
    peer->in.length = 0;
    peer->in.at[0] = '\0';
}

static void check_open(struct world *world)
{
    uint32_t i;

    for (i = 0; i < CLIENTS; i++)
        check_replies(world, i);
    for (i = 0; i < world->asked_count; i++) {
        struct peer *peer = world->clients[world->asked[i].client];

        if (world->asked[i].outcome == OPEN && peer != NULL && !world->raw[world->asked[i].client])
            wrong("no reply", peer->in.at == NULL ? "" : peer->in.at);
    }
}

/*
 * The witness has a job of its own on the root's node. Its replies do not depend on the other
 * clients.
 */
static void check_witness(struct world *world)
{
    char text[300], want[300];
    uint32_t n = world->witnessed++;
    struct peer *witness = world->witness;

    snprintf(text, sizeof(text),
             "    27cmd=kvs-put;key=w%u;value=%u;    14cmd=kvs-fence;"
             "    34cmd=kvs-get;jobid=;srcid=0;key=w%u;",
             n % 10, n % 10, n % 10);
    snprintf(want, sizeof(want),
             "    26cmd=kvs-put-response;rc=0;    28cmd=kvs-fence-response;rc=0;"
             "    45cmd=kvs-get-response;found=TRUE;value=%u;rc=0;",
             n % 10);
    driver_send(witness, text);
    if (strstr(witness->in.at, want) == NULL)
        wrong("the witness", witness->in.at);
    witness->in.length = 0;
    witness->in.at[0] = '\0';
}

static void step(struct world *world)
{
    uint32_t what = take(&world->in, 32), client = take(&world->in, CLIENTS), slot;
    struct driver *driver = world->driver;

    switch (what) {
    case 0:
    case 1:
    case 2:
    case 3:
        connect_one(world, client);
        break;
    case 4:
        send_raw(world, client);
        break;
    case 5:
        hang_up(world, client);
        break;
    case 6:
        say_goodbye(world, client);
        break;
    case 7:
        slot = take(&world->in, 4);
        pmi2_server_rank_ended(driver->servers[0], world->jobs[slot], take(&world->in, 16));
        break;
    case 8:
        slot = take(&world->in, 8);
        if (slot < 4) {
            pmi2_server_job_end(driver->servers[0], world->jobs[slot]);
            driver_run(driver);
            add_job(world, slot, 1 + take(&world->in, 16));
        }
        break;
    case 9:
        answer_spawn(world);
        break;
    case 10:
        if (take(&world->in, 4) == 0)
            kill_server(world);
        break;
    case 11:
        driver_time(driver, (uint64_t)take(&world->in, 256) * SECOND / 16);
        break;
    case 12:
        pmi2_server_send_down(driver->servers[0], take(&world->in, 10), 1, "x", 1);
        break;
    case 13:
        ask_line(world, client);
        world->raw[client] = true; /* its replies have no thrid */
        break;
    case 14:
        driver_run(driver);
        break;
    case 15:
        if (world->clients[client] != NULL) {
            world->clients[client]->deaf = take(&world->in, 2) != 0;
            world->raw[client] = true;
        }
        break;
    default:
        ask(world, client);
        break;
    }
}

void pmi2_world_run(const uint8_t *bytes, size_t length)
{
    struct world world = {.in = {bytes, bytes + length}};
    struct driver_options options = {.quiet = true};
    static const uint8_t key[32] = {1};
    uint32_t i;

    options.nodes = 1 + take(&world.in, 8);
    options.fan_out = 1 + take(&world.in, 3);
    options.shared = take(&world.in, 2) != 0;
    options.lossy = take(&world.in, 4) == 0;
    if (options.lossy) {
        options.lose = take(&world.in, 100);
        options.twice = take(&world.in, 100);
        options.late = take(&world.in, 100);
    }
    options.piece = take(&world.in, 16);
    options.seed = take(&world.in, 256);
    options.limits.unread_bytes = take(&world.in, 2) ? 2000 : 0;
    options.limits.committed_bytes = take(&world.in, 4) == 0 ? 50 : 0;
    options.key = key;
    world.driver = driver_new(&options);
    world.driver->user = &world;
    world.driver->on_spawn = spawn_wanted;
    for (i = 0; i < 4; i++)
        add_job(&world, i, 1 + take(&world.in, 16));
    {
        static const uint32_t zero[] = {0}, one = 1;
        const char *job = driver_job_info(
            world.driver,
            &(struct pmi2_job_info){
                .size = 1, .node_of = zero, .app_size = &one, .apps = 1, .universe = -1});

        world.witness = driver_client(world.driver, job, 0, 0);
        driver_send(world.witness, "cmd=init pmi_version=2 pmi_subversion=0\n"
                                   "    28cmd=fullinit;threaded=FALSE;");
    }
    while (world.in.at < world.in.end) {
        step(&world);
        if (take(&world.in, 4) == 0) {
            driver_run(world.driver);
            forget_closed(&world);
            if (!options.lossy)
                check_open(&world);
            if (options.limits.committed_bytes == 0)
                check_witness(&world);
        }
        forget_closed(&world);
    }
    driver_run(world.driver);
    forget_closed(&world);
    driver_free(world.driver);
}

/* ---- one client -------------------------------------------------------------------------------
 */

void pmi2_client_run(const uint8_t *bytes, size_t length)
{
    struct world world = {.in = {bytes, bytes + length}};
    struct driver_options options = {.quiet = true, .nodes = 1};
    static const uint32_t zero[] = {0, 0}, one = 1, two = 2;
    struct pmi2_job_info info = {.node_of = zero, .apps = 1, .universe = 4};
    const char *job, *other;
    struct peer *peer;
    static const uint8_t key[32] = {1};
    uint32_t kind = take(&world.in, 8);

    options.piece = take(&world.in, 8);
    options.key = key;
    world.driver = driver_new(&options);
    world.driver->user = &world;
    world.driver->on_spawn = spawn_wanted;
    info.size = 2;
    info.app_size = &two;
    job = driver_job_info(world.driver, &info);
    info.size = 1;
    info.app_size = &one;
    other = driver_job_info(world.driver, &info);
    world.witness = driver_client(world.driver, other, 0, 0);
    driver_send(world.witness, "cmd=init pmi_version=2 pmi_subversion=0\n"
                               "    28cmd=fullinit;threaded=FALSE;");
    peer = kind < 2 ? driver_port(world.driver, kind == 0 ? job : NULL, 0,
                                  kind == 0 ? PMI2_AUTH_NONE : PMI2_AUTH_CHALLENGE)
                    : driver_client(world.driver, job, 0, 0);
    if (kind > 3)
        driver_send(peer, "cmd=init pmi_version=2 pmi_subversion=0\n");
    if (kind > 4)
        driver_send(peer, "    28cmd=fullinit;threaded=FALSE;");
    driver_bytes(peer, world.in.at, (size_t)(world.in.end - world.in.at));
    check_witness(&world);
    while (world.spawn_count > 0)
        answer_spawn(&world);
    driver_run(world.driver);
    driver_hang_up(peer);
    check_witness(&world);
    driver_free(world.driver);
}
