/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every allocation of a conversation fails once, each in a run of its own. Whatever was asked is
 * refused, or its connection closed; a rank of another job is served as ever, nothing leaks.
 */
#include "server_common.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static uint64_t countdown; /* 0: none fails */
static bool armed;
static uint64_t failed;

static bool fails(void)
{
    if (!armed || countdown == 0 || --countdown != 0)
        return false;
    failed++;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

/* Only what the servers allocate, not the driver. */
static void inside(bool server)
{
    armed = server;
}

static void send(struct peer *peer, const char *text)
{
    if (peer != NULL && peer->link != NULL)
        driver_send(peer, text);
}

static void frame(struct peer *peer, const char *payload)
{
    char text[400];

    snprintf(text, sizeof(text), "%6zu%s", strlen(payload), payload);
    send(peer, text);
}

static void talk(struct driver *driver, struct peer **peers)
{
    static const char spawn[] =
        "cmd=spawn;ncmds=1;preputcount=1;ppkey0=k;ppval0=v;subcmd=p;maxprocs=1;argc=1;argv0=x;"
        "infokeycount=0;thrid=3;";
    static const char *const requests[] = {
        "cmd=kvs-put;key=a;value=1;",
        "cmd=kvs-put;key=b;value=2;thrid=1;",
        "cmd=info-getnodeattr;key=x;wait=TRUE;thrid=2;",
        "cmd=kvs-fence;",
        "cmd=kvs-get;jobid=;srcid=0;key=a;",
        "cmd=info-putnodeattr;key=x;value=1;",
        "cmd=name-publish;name=n;port=p;infokeycount=0;",
        "cmd=name-lookup;name=n;infokeycount=0;",
        "cmd=kvs-getall;jobid=;",
        "cmd=ring;ring-count=1;ring-left=l;ring-right=r;",
        "cmd=job-connect;jobid=9.9;copy=TRUE;",
        "cmd=kvs-putall;jobid=9.9;npair=1;",
        "cmd=kvs-putall-pair;key=k;value=v;",
        "cmd=kvs-get;jobid=9.9;key=k;",
        "cmd=job-disconnect;jobid=9.9;",
        spawn,
        "cmd=info-getjobattr;key=universeSize;",
        "cmd=kvs-fence;",
        "cmd=finalize;",
    };
    size_t i, j;

    for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        for (j = 0; j < 3; j++)
            frame(peers[j], requests[i]);
    if (driver->last_spawn != 0) {
        armed = true;
        pmi2_server_spawn_done(driver->servers[0], driver->last_spawn, "7.7", NULL, NULL);
        armed = false;
        driver_run(driver);
    }
}

/* Returns whether the failure was met. */
static bool run(uint64_t at, bool lossy)
{
    static const uint32_t node_of[] = {0, 1, 2}, three = 3, one = 1;
    static const struct pmi2_text_pair preput[] = {{"pre", "put"}};
    struct pmi2_job_info info = {.size = 3,
                                 .node_of = node_of,
                                 .app_size = &three,
                                 .apps = 1,
                                 .universe = 4,
                                 .preput = preput,
                                 .preput_count = 1};
    struct driver *driver = driver_new(
        &(struct driver_options){.nodes = 3, .fan_out = 1, .quiet = true, .lossy = lossy});
    struct peer *peers[3] = {NULL, NULL, NULL}, *witness;
    const char *job, *other;
    uint32_t i;

    other = driver_job_info(
        driver, &(struct pmi2_job_info){
                    .size = 1, .node_of = node_of, .app_size = &one, .apps = 1, .universe = -1});
    witness = client2(driver, other, 0, 0);
    ask(witness, "cmd=kvs-put;key=w;value=1;", "cmd=kvs-put-response;rc=0;");
    failed = 0;
    countdown = at;
    driver->inside = inside;
    armed = true;
    job = pmi2_server_job_add(driver->servers[0], &info);
    armed = false;
    driver_run(driver);
    if (job != NULL) {
        for (i = 0; i < 3; i++) {
            peers[i] = driver_client(driver, job, i, i);
            send(peers[i], INIT2);
            frame(peers[i], "cmd=fullinit;threaded=FALSE;cli-caps=x;");
        }
        talk(driver, peers);
    }
    countdown = 0;
    ask(witness, "cmd=kvs-put;key=v;value=2;", "cmd=kvs-put-response;rc=0;");
    ask(witness, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
    ask(witness, "cmd=kvs-get;key=w;", "cmd=kvs-get-response;found=TRUE;value=1;rc=0;");
    driver_free(driver);
    return failed != 0;
}

static void each_allocation_fails_once(void **state)
{
    uint64_t at;

    for (at = 1; run(at, false); at++)
        ;
    assert_true(at > 100);
    for (at = 1; run(at, true); at++)
        ;
    assert_true(at > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
