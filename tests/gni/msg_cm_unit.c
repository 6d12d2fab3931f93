/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of MSG endpoints by themselves: one listener, clients that connect, shut down and
 * close at random, a network that loses, doubles and reorders messages, and a clock of its own.
 * Whatever happens, both sides end with the same result, and nothing is left.
 */
#include "msg_cm_frame.h"

static struct gnip_fabric fabric;

static struct gnip_domain domain = {.fabric = &fabric, .ctx = &ctx};

/* ---- the story ------------------------------------------------------------------------------- */

#define CLIENTS 12

enum outcome { NOTHING, CONNECTED, REFUSED, TIMED_OUT };

struct side {
    struct gnip_ep *ep; /* NULL: closed, or none so far */
    enum outcome outcome;
    bool shut; /* FI_SHUTDOWN was read */
    bool ended; /* it was shut down or closed by itself, before the peer's message came */
};

static struct story {
    struct side client, server;
    uint64_t connect_at, end_at, answer_at;
    bool client_ends, asked, requested, accepted, rejected;
    uint8_t data[GNIP_CM_DATA_MAX];
    size_t data_bytes;
    struct fi_info *info; /* to be answered */
} stories[CLIENTS];

static struct gnip_pep pep;

static struct gnip_eq *client_eq, *server_eq;

static struct gnip_ep *ep_open(uint32_t cdm, struct gnip_cm_nic *cm_nic, struct gnip_eq *eq,
                               struct fi_info *info)
{
    struct gnip_ep *ep = calloc(1, sizeof(*ep));

    gnip_lock_init(&ep->lock, false);
    ep->fid.fid.fclass = FI_CLASS_EP;
    ep->domain = &domain;
    ep->cm_nic = cm_nic;
    ep->eq = eq;
    ep->name = (struct gnip_name){.device_addr = cm_nic->name.device_addr, .cdm_id = cdm};
    assert_int_equal(gnip_msg_ep_open(ep, info), 0);
    return ep;
}

static void ep_close(struct side *side)
{
    struct gnip_ep *ep = side->ep;

    gnip_msg_ep_close(ep);
    assert_null(ep->connection);
    free(ep->msg_vc);
    gnip_lock_fini(&ep->lock);
    free(ep);
    side->ep = NULL;
}

static struct story *story_of(const struct fid *fid, bool client)
{
    uint32_t i;

    for (i = 0; i < CLIENTS; i++)
        if ((client ? stories[i].client.ep : stories[i].server.ep) != NULL &&
            fid == &(client ? stories[i].client.ep : stories[i].server.ep)->fid.fid)
            return &stories[i];
    fail_msg("an event about nobody");
    return NULL;
}

static void refused(struct side *side, struct gnip_eq *eq, const struct story *story)
{
    struct fi_eq_err_entry error = {0};

    assert_int_equal(fi_eq_readerr(&eq->fid, &error, 0), sizeof(error));
    assert_ptr_equal(error.fid, &side->ep->fid.fid);
    assert_int_equal(side->outcome, NOTHING);
    assert_true(error.err == FI_ECONNREFUSED || error.err == FI_ETIMEDOUT);
    side->outcome = error.err == FI_ECONNREFUSED ? REFUSED : TIMED_OUT;
    if (story->rejected && error.err == FI_ECONNREFUSED && error.err_data_size != 0) {
        assert_int_equal(error.err_data_size, story->data_bytes);
        assert_memory_equal(error.err_data, story->data, story->data_bytes);
    }
}

static void requested(const struct fi_eq_cm_entry *entry, const uint8_t *data, size_t bytes)
{
    struct gnip_name name;
    struct story *story;

    memcpy(&name, entry->info->dest_addr, sizeof(name));
    story = &stories[name.cdm_id - 1000];
    assert_false(story->requested); /* a request arrives once only */
    assert_ptr_equal(entry->fid, &pep.fid.fid);
    assert_int_equal(bytes, story->data_bytes);
    assert_memory_equal(data, story->data, bytes);
    story->requested = true;
    story->info = entry->info;
    story->answer_at = draw(2) != 0 ? now : now + draw(300 * MS);
}

static void read_events(struct gnip_eq *eq, bool client)
{
    uint8_t buffer[sizeof(struct fi_eq_cm_entry) + GNIP_CM_DATA_MAX];
    struct fi_eq_err_entry peeked = {0};
    struct fi_eq_cm_entry entry;
    struct story *story;
    struct side *side;
    uint32_t kind;
    ssize_t result;

    while ((result = fi_eq_read(&eq->fid, &kind, buffer, sizeof(buffer), 0)) != -FI_EAGAIN) {
        if (result == -FI_EAVAIL) {
            fi_eq_readerr(&eq->fid, &peeked, FI_PEEK);
            story = story_of(peeked.fid, client);
            refused(client ? &story->client : &story->server, eq, story);
            continue;
        }
        assert_true(result >= (ssize_t)sizeof(entry));
        memcpy(&entry, buffer, sizeof(entry));
        if (kind == FI_CONNREQ) {
            requested(&entry, buffer + sizeof(entry), (size_t)result - sizeof(entry));
            continue;
        }
        story = story_of(entry.fid, client);
        side = client ? &story->client : &story->server;
        if (kind == FI_CONNECTED) {
            assert_true(side->outcome == NOTHING && !side->shut);
            side->outcome = CONNECTED;
            assert_int_equal(result, sizeof(entry) + (client ? story->data_bytes : 0));
            assert_memory_equal(buffer + sizeof(entry), story->data,
                                (size_t)result - sizeof(entry));
            assert_true(story->requested && story->accepted);
        } else {
            assert_int_equal(kind, FI_SHUTDOWN);
            assert_false(side->shut);
            side->shut = true;
        }
    }
}

static void answer(struct story *story)
{
    uint64_t what = draw(10);
    int rc;

    if (what == 0)
        return; /* perhaps next time, perhaps never */
    if (what < 3) {
        rc = gnip_msg_reject(&pep, story->info->handle, story->data, story->data_bytes);
        assert_int_equal(rc, 0);
        assert_int_equal(gnip_msg_reject(&pep, story->info->handle, NULL, 0), -FI_EINVAL);
        story->rejected = true;
    } else {
        if (story->server.ep == NULL)
            story->server.ep =
                ep_open(2000 + (uint32_t)(story - stories), &nics[1], server_eq, story->info);
        rc = gnip_msg_cm_ops.accept(&story->server.ep->fid, story->data, story->data_bytes);
        if (rc == -FI_EAGAIN)
            return;
        assert_int_equal(rc, 0);
        assert_int_equal(gnip_msg_cm_ops.accept(&story->server.ep->fid, NULL, 0), -FI_EINVAL);
        story->accepted = true;
    }
    fi_freeinfo(story->info);
    story->info = NULL;
}

static void end_side(struct side *side)
{
    if (side->ep == NULL)
        return;
    if (draw(2) != 0 && side->ep->conn_state == GNIP_CONNECTED) {
        assert_int_equal(gnip_msg_cm_ops.shutdown(&side->ep->fid, 0), 0);
        assert_int_equal(gnip_msg_cm_ops.shutdown(&side->ep->fid, 0), -FI_EINVAL);
    } else {
        ep_close(side);
    }
    side->ended = true;
}

static void act(struct story *story)
{
    struct gnip_ep *ep = story->client.ep;

    if (ep != NULL && !story->asked && now >= story->connect_at) {
        int rc = gnip_msg_cm_ops.connect(&ep->fid, &nics[0].name, story->data, story->data_bytes);

        assert_true(rc == 0 || rc == -FI_EAGAIN);
        story->asked = rc == 0;
        if (story->asked)
            assert_int_equal(gnip_msg_cm_ops.connect(&ep->fid, &nics[0].name, NULL, 0), -FI_EINVAL);
    }
    if (story->info != NULL && now >= story->answer_at)
        answer(story);
    if (now >= story->end_at) {
        end_side(story->client_ends ? &story->client : &story->server);
        story->end_at = UINT64_MAX;
    }
}

static struct gnip_eq *eq_open(void)
{
    struct fi_eq_attr attr = {0};
    struct fid_eq *eq;

    assert_int_equal(gnip_eq_open(&fabric.fid, &attr, &eq, NULL), 0);
    return gnip_container(eq, struct gnip_eq, fid);
}

static void begin(uint64_t seed)
{
    uint32_t i, j;

    random_state = seed * 0x9e3779b97f4a7c15ull;
    now = 0;
    loss = draw(21);
    doubling = draw(21);
    memset(stories, 0, sizeof(stories));
    fabric = (struct gnip_fabric){.fid.api_version = FI_VERSION(1, 17)};
    port_mutex_init(&fabric.msg_lock);
    port_list_init(&fabric.msg_requests);
    client_eq = eq_open();
    server_eq = eq_open();
    for (i = 0; i < 3; i++) {
        nics[i] = (struct gnip_cm_nic){.ctx = &ctx, .name = {.device_addr = i + 1}};
        nics[i].name.cdm_id = nics[i].name.cm_nic_cdm_id = 100 + i;
        gnip_lock_init(&nics[i].lock, false);
    }
    pep = (struct gnip_pep){.fabric = &fabric, .ctx = &ctx, .eq = server_eq, .cm_nic = &nics[0]};
    pep.info = fi_dupinfo(NULL);
    assert_int_equal(gnip_msg_listener_open(&pep), 0);
    for (i = 0; i < CLIENTS; i++) {
        struct story *story = &stories[i];

        story->client.ep = ep_open(1000 + i, &nics[2], client_eq, pep.info);
        story->connect_at = draw(20 * MS);
        story->end_at = draw(4) == 0 ? draw(100 * MS) : 2000 * MS + draw(1000 * MS);
        story->client_ends = draw(2) != 0;
        story->data_bytes = draw(GNIP_CM_DATA_MAX + 1);
        for (j = 0; j < story->data_bytes; j++)
            story->data[j] = (uint8_t)draw(256);
    }
}

static void check(const struct story *story)
{
    const struct side *client = &story->client, *server = &story->server;

    /* what one side says about the connection, the other one knows, if it still listens */
    if (server->outcome == CONNECTED && !client->ended)
        assert_int_equal(client->outcome, CONNECTED);
    if (client->outcome == REFUSED)
        assert_true(server->outcome != CONNECTED);
    if (client->ended && server->ep != NULL && story->accepted)
        assert_true(server->shut);
    if (server->ended && client->ep != NULL && client->outcome == CONNECTED)
        assert_true(client->shut);
    if (client->shut && client->ep != NULL && !client->ended)
        assert_true(server->ended);
    if (client->ep != NULL && !client->ended)
        assert_true(client->outcome != NOTHING); /* no side waits for ever */
}

static void gni_finish(void)
{
    uint32_t i;

    gnip_msg_listener_close(&pep);
    gnip_eq_forget(server_eq, &pep.fid.fid);
    for (i = 0; i < 6000; i++) { /* 3 s: all repetitions are over */
        step();
        read_events(client_eq, true);
        read_events(server_eq, false);
    }
    for (i = 0; i < CLIENTS; i++)
        check(&stories[i]);
    for (i = 0; i < CLIENTS; i++) {
        if (stories[i].client.ep != NULL)
            ep_close(&stories[i].client);
        if (stories[i].server.ep != NULL)
            ep_close(&stories[i].server);
        fi_freeinfo(stories[i].info);
    }
    for (i = 0; i < 3; i++)
        gnip_msg_cm_close(&nics[i]);
    memset(network, 0, sizeof(network));
    for (i = 0; i < 3; i++) {
        gnip_msg_cm_free(&nics[i]);
        gnip_lock_fini(&nics[i].lock);
    }
    gnip_msg_listener_free(&pep);
    fi_freeinfo(pep.info);
    assert_int_equal(fi_close(&client_eq->fid.fid), 0);
    assert_int_equal(fi_close(&server_eq->fid.fid), 0);
    assert_true(port_list_empty(&fabric.msg_requests));
    assert_int_equal(timers, 0);
}

static void gni_129_stories(void **state)
{
    uint32_t connected = 0, refusals = 0, i, steps;
    uint64_t seed;

    for (seed = 1; seed <= 150; seed++) {
        begin(seed);
        for (steps = 0; steps < 8000; steps++) { /* 4 s */
            step();
            for (i = 0; i < CLIENTS; i++)
                act(&stories[i]);
            read_events(client_eq, true);
            read_events(server_eq, false);
        }
        gni_finish();
        for (i = 0; i < CLIENTS; i++) {
            connected += stories[i].client.outcome == CONNECTED;
            refusals += stories[i].client.outcome == REFUSED;
        }
    }
    assert_true(connected > 500 && refusals > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_129_stories),
    };

    return cmocka_run_group_tests_name("MSG connections by themselves", tests, NULL, NULL);
}
