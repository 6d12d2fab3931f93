/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rank 0 serves whoever comes: it keeps some wildcard datagrams posted, waits until one has met a
 * client, checks what the client sent and posts it again. Clients offer a datagram and get the
 * server's in exchange.
 */
#include "common.h"

static const struct workload_arg args[] = {
    {"wildcards", ARG_COUNT, "4", "1", "1024", NULL, "datagrams that the server keeps posted"},
    {"requests", ARG_COUNT, "100", "1", "1000000000", NULL, "of each client"},
    {"give_up", ARG_TIME, "60s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct card {
    uint32_t rank, wildcard;
    uint64_t number;
};

struct service {
    struct domain domain;
    uint32_t wildcards, timeout_ms;
    uint64_t requests, served, failed;
};

/* ---- server ---------------------------------------------------------------------------------- */

struct desk {
    gni_ep_handle_t ep; /* unbound */
    struct card got;
};

static int open_desk(struct service *service, struct desk *desk, uint32_t number)
{
    struct card card = {0, number, service->served};
    gni_return_t rc =
        GNI_EpPostDataWId(desk->ep, &card, sizeof(card), &desk->got, sizeof(desk->got), number);

    if (rc != GNI_RC_SUCCESS)
        return rank_fail(service->domain.rank, "cannot post wildcard %u: %s", number, rc_name(rc));
    return 0;
}

/* Consumes the datagram that wildcard `number` has become. */
static int serve_one(struct service *service, struct desk *desk, uint32_t number, uint64_t *numbers)
{
    uint32_t address, instance;
    gni_post_state_t state;
    gni_return_t rc = GNI_EpPostDataTestById(desk->ep, number, &state, &address, &instance);

    if (rc != GNI_RC_SUCCESS)
        return rank_fail(service->domain.rank, "wildcard %u: %s", number, rc_name(rc));
    if (state == GNI_POST_COMPLETED) {
        if (instance >= service->domain.size || desk->got.rank != instance ||
            desk->got.number <= numbers[instance])
            return rank_fail(service->domain.rank, "request %llu of rank %u came from instance %u",
                             (unsigned long long)desk->got.number, desk->got.rank, instance);
        numbers[instance] = desk->got.number;
        service->served++;
        rank_progress(service->domain.rank);
    }
    return open_desk(service, desk, number);
}

static int serve(struct service *service, uint64_t expected)
{
    struct desk *desks = calloc(service->wildcards, sizeof(*desks));
    uint64_t *numbers = calloc(service->domain.size, sizeof(*numbers)), id, began = rank_now();
    uint32_t i;
    int status = 0;

    for (i = 0; i < service->wildcards && status == 0; i++) {
        if (GNI_EpCreate(service->domain.nic, NULL, &desks[i].ep) != GNI_RC_SUCCESS)
            status = rank_fail(service->domain.rank, "no endpoint for a wildcard");
        else
            status = open_desk(service, &desks[i], i);
    }
    while (status == 0 && service->served < expected) {
        if (GNI_PostdataProbeWaitById(service->domain.nic, service->timeout_ms, &id) !=
            GNI_RC_SUCCESS)
            break; /* nobody comes any more */
        status = serve_one(service, &desks[id], (uint32_t)id, numbers);
    }
    rank_record_rate(service->domain.rank, "rate", service->served, rank_now() - began);
    for (i = 0; i < service->wildcards; i++)
        if (desks[i].ep != NULL)
            GNI_EpDestroy(desks[i].ep); /* and its datagram */
    free(desks);
    free(numbers);
    return status;
}

/* ---- clients --------------------------------------------------------------------------------- */

static int request(struct service *service, gni_ep_handle_t ep, uint64_t number)
{
    struct card card = {service->domain.id, 0, number}, got = {UINT32_MAX, UINT32_MAX, 0};
    uint32_t address, instance;
    gni_post_state_t state;
    uint64_t began = rank_now();
    gni_return_t rc;

    rc = GNI_EpPostData(ep, &card, sizeof(card), &got, sizeof(got));
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpPostDataWait(ep, service->timeout_ms, &state, &address, &instance);
    if (rc == GNI_RC_TIMEOUT || (rc == GNI_RC_SUCCESS && state != GNI_POST_COMPLETED))
        return 1;
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(service->domain.rank, "request %llu: %s", (unsigned long long)number,
                         rc_name(rc));
    if (instance != 0 || got.rank != 0 || got.wildcard >= service->wildcards)
        return rank_fail(service->domain.rank, "request %llu: the answer is not the server's",
                         (unsigned long long)number);
    rank_record_latency(service->domain.rank, "latency", rank_now() - began);
    return 0;
}

static int ask(struct service *service)
{
    gni_ep_handle_t ep = domain_ep(&service->domain, 0);
    uint64_t number;
    int status = ep != NULL ? 0 : -1;

    for (number = 1; number <= service->requests && status == 0; number++) {
        status = request(service, ep, number);
        service->served += status == 0;
    }
    return status < 0 ? -1 : 0;
}

static int run(struct rank *rank)
{
    struct service service = {
        .wildcards = (uint32_t)rank_arg_count(rank, "wildcards"),
        .requests = rank_arg_count(rank, "requests"),
        .timeout_ms = (uint32_t)(rank_arg_ps(rank, "give_up") / 1000000000),
    };
    uint64_t expected = service.requests;
    int status = domain_open(&service.domain, rank, 64, 0);

    if (status == 0 && rank_id(rank) == 0) {
        expected *= rank_size(rank) - 1;
        status = serve(&service, expected);
    } else if (status == 0) {
        status = ask(&service);
    }
    if (domain_finish(&service.domain, expected - service.served) != 0)
        status = -1;
    domain_close(&service.domain);
    return status != 0;
}

static const struct workload wildcard_server = {
    .name = "wildcard_server",
    .meaning = "clients exchange datagrams with a server that waits for anybody",
    .metrics = "latency (ps, of a request), rate (1/s, served)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(wildcard_server)
