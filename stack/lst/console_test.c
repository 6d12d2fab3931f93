/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The console adds tests: request buffers at the targets, streams at the sources. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"

static bool valid(const struct lst_console *console, const struct lst_test *test)
{
    if (test->concurrency == 0 || test->concurrency > 1024 || test->loop == 0 || test->loop < -1 ||
        test->distribute == 0 || test->span == 0)
        return false;
    if (test->kind == LST_PING)
        return true;
    if (!lst_brw_valid(test->bytes, test->offset))
        return false;
    if (test->check < LST_CHECK_NONE || test->check > LST_CHECK_FULL)
        return false;
    return (console->features & LST_FEATURE_BYTES) != 0 || test->bytes % PAGE_SIZE == 0;
}

static void fill(const struct lst_console *console, const struct lst_console_batch *batch,
                 const struct lst_test *test, struct lst_message *request)
{
    request->test.session = console->id;
    request->test.batch = batch->id;
    request->test.service = test->kind == LST_PING ? LST_SERVICE_PING : LST_SERVICE_BRW;
    request->test.stop_on_error = test->stop_on_error;
    request->test.operation = test->kind == LST_BRW_READ ? LST_READ : LST_WRITE;
    request->test.bytes = test->bytes;
    request->test.check = test->check;
    request->test.offset = test->offset;
}

/* Streams that reach one target at most, so many buffers it needs. */
static uint32_t streams_of(const struct lst_test *test, uint32_t sources)
{
    uint64_t streams = (uint64_t)test->distribute * test->concurrency;
    uint64_t all = (uint64_t)sources * test->concurrency;

    if (streams > all)
        streams = all;
    return streams > 1024 ? 1024 : (uint32_t)streams;
}

static int prepare_targets(struct lst_console *console, const struct lst_console_batch *batch,
                           const struct lst_test *test, const struct lst_group *to,
                           uint32_t sources)
{
    struct lst_rpc *rpcs = lst_console_rpcs(to);
    uint32_t i;
    int rc;

    if (rpcs == NULL)
        return -ENOMEM;
    for (i = 0; i < to->count; i++) {
        fill(console, batch, test, &rpcs[i].request);
        rpcs[i].request.test.loop = streams_of(test, sources);
    }
    rc = lst_console_ask(console, rpcs, to->count, LST_TYPE_TEST, LST_SERVICE_TEST);
    free(rpcs);
    return rc;
}

/* Source i uses the targets from (i / d) * s on, modulo their number. */
static void choose(const struct lst_test *test, const struct lst_group *to, uint32_t source,
                   struct lnet_process_id_packed *targets)
{
    uint32_t count = to->count, at, i;

    if (count == 0)
        return;
    at = (uint32_t)((uint64_t)(source / test->distribute) * test->span % count);
    for (i = 0; i < test->span; i++) {
        targets[i].nid = to->ids[at].nid;
        targets[i].pid = to->ids[at].pid;
        at = at + 1 < count ? at + 1 : 0;
    }
}

static int start_sources(struct lst_console *console, const struct lst_console_batch *batch,
                         const struct lst_test *test, const struct lst_group *from,
                         const struct lst_group *to)
{
    struct lst_rpc *rpcs = lst_console_rpcs(from);
    uint32_t bytes = test->span * (uint32_t)sizeof(struct lnet_process_id_packed), i;
    int rc = rpcs != NULL ? 0 : -ENOMEM;

    for (i = 0; rc == 0 && i < from->count; i++) {
        fill(console, batch, test, &rpcs[i].request);
        rpcs[i].request.test.is_client = 1;
        rpcs[i].request.test.loop = (uint32_t)test->loop;
        rpcs[i].request.test.concurrency = test->concurrency;
        rpcs[i].request.test.targets = test->span;
        rpcs[i].bulk = LST_BULK_SOURCE;
        rpcs[i].bulk_bytes = bytes;
        rpcs[i].bulk_memory = lst_pages_alloc(bytes);
        if (rpcs[i].bulk_memory == NULL)
            rc = -ENOMEM;
        else
            choose(test, to, i, rpcs[i].bulk_memory);
    }
    if (rc == 0)
        rc = lst_console_ask(console, rpcs, from->count, LST_TYPE_TEST, LST_SERVICE_TEST);
    for (i = 0; rpcs != NULL && i < from->count; i++)
        if (rpcs[i].bulk_memory != NULL)
            lst_pages_free(rpcs[i].bulk_memory, bytes);
    free(rpcs);
    return rc;
}

int lst_test_add(struct lst_console *console, const char *name, const struct lst_test *test)
{
    struct lst_group *from = lst_console_group(console, test->from),
                     *to = lst_console_group(console, test->to);
    struct lst_console_batch *batch;
    int rc;

    if (from == NULL || to == NULL)
        return -ENOENT;
    if (!valid(console, test) || test->span > to->count)
        return -EINVAL;
    batch = lst_console_batch(console, name);
    if (batch == NULL)
        return -ENOMEM;
    from->tests++;
    to->tests++;
    rc = prepare_targets(console, batch, test, to, from->count);
    return rc != 0 ? rc : start_sources(console, batch, test, from, to);
}
