/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order of the calls by which the drivers for GNI and LNet move long blocks, in a cluster whose
 * network delays data: what may happen only after what.
 */
#include "rank_programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <gni_pub.h>
#include <lnet/api.h>
#include <madeleine.h>

#include "driver/gni.h"
#include "pmi2.h"

enum { RECORDS_MAX = 8192, MIB = 1 << 20, ROUNDS = 6 };

/* ---- the calls of the GNI driver ------------------------------------------------------------- */

/* A transfer that was posted. */
static struct put {
    gni_ep_handle_t ep; /* NULL: it has completed */
    const gni_post_descriptor_t *descriptor;
} puts_posted[RECORDS_MAX];
static unsigned put_count, fins, early_fins, completed;

#pragma GCC visibility push(default)
gni_return_t __real_GNI_PostFma(gni_ep_handle_t ep, gni_post_descriptor_t *descriptor);
gni_return_t __wrap_GNI_PostFma(gni_ep_handle_t ep, gni_post_descriptor_t *descriptor);
gni_return_t __real_GNI_PostRdma(gni_ep_handle_t ep, gni_post_descriptor_t *descriptor);
gni_return_t __wrap_GNI_PostRdma(gni_ep_handle_t ep, gni_post_descriptor_t *descriptor);
gni_return_t __real_GNI_GetCompleted(gni_cq_handle_t cq, gni_cq_entry_t event,
                                     gni_post_descriptor_t **descriptor);
gni_return_t __wrap_GNI_GetCompleted(gni_cq_handle_t cq, gni_cq_entry_t event,
                                     gni_post_descriptor_t **descriptor);
gni_return_t __real_GNI_SmsgSendWTag(gni_ep_handle_t ep, void *header, uint32_t header_length,
                                     void *data, uint32_t data_length, uint32_t id, uint8_t tag);
gni_return_t __wrap_GNI_SmsgSendWTag(gni_ep_handle_t ep, void *header, uint32_t header_length,
                                     void *data, uint32_t data_length, uint32_t id, uint8_t tag);
int __real_LNetMDAttach(struct lnet_handle_me entry, struct lnet_md md, enum lnet_unlink unlink,
                        struct lnet_handle_md *handle);
int __wrap_LNetMDAttach(struct lnet_handle_me entry, struct lnet_md md, enum lnet_unlink unlink,
                        struct lnet_handle_md *handle);
int __real_LNetMDBind(struct lnet_md md, enum lnet_unlink unlink, struct lnet_handle_md *handle);
int __wrap_LNetMDBind(struct lnet_md md, enum lnet_unlink unlink, struct lnet_handle_md *handle);
void __real_mad_lnet_callback(struct lnet_event *event);
void __wrap_mad_lnet_callback(struct lnet_event *event);

int __real_PMI2_KVS_Put(const char *key, const char *value);
int __wrap_PMI2_KVS_Put(const char *key, const char *value);
gni_return_t __real_GNI_EpPostData(gni_ep_handle_t ep, void *in, uint16_t in_bytes, void *out,
                                   uint16_t out_bytes);
gni_return_t __wrap_GNI_EpPostData(gni_ep_handle_t ep, void *in, uint16_t in_bytes, void *out,
                                   uint16_t out_bytes);
gni_return_t __real_GNI_EpPostDataWId(gni_ep_handle_t ep, void *in, uint16_t in_bytes, void *out,
                                      uint16_t out_bytes, uint64_t id);
gni_return_t __wrap_GNI_EpPostDataWId(gni_ep_handle_t ep, void *in, uint16_t in_bytes, void *out,
                                      uint16_t out_bytes, uint64_t id);

/* What was written into the store, and the ways around it. */
static struct {
    unsigned adapters, mailboxes; /* entries */
    char thresholds[80]; /* the last entry of them: a digest */
    unsigned datagrams;
} exchange;

int __wrap_PMI2_KVS_Put(const char *key, const char *value)
{
    exchange.adapters += strncmp(key, "mad.a.", 6) == 0 && strncmp(value, "gni:v1:", 7) == 0;
    exchange.mailboxes += strncmp(key, "mad.c.", 6) == 0;
    if (strncmp(key, "mad.v.", 6) == 0)
        snprintf(exchange.thresholds, sizeof(exchange.thresholds), "%s", value);
    return __real_PMI2_KVS_Put(key, value);
}

gni_return_t __wrap_GNI_EpPostData(gni_ep_handle_t ep, void *in, uint16_t in_bytes, void *out,
                                   uint16_t out_bytes)
{
    exchange.datagrams++;
    return __real_GNI_EpPostData(ep, in, in_bytes, out, out_bytes);
}

gni_return_t __wrap_GNI_EpPostDataWId(gni_ep_handle_t ep, void *in, uint16_t in_bytes, void *out,
                                      uint16_t out_bytes, uint64_t id)
{
    exchange.datagrams++;
    return __real_GNI_EpPostDataWId(ep, in, in_bytes, out, out_bytes, id);
}

/* Only the global event says that the data is there. */
static void note_put(gni_ep_handle_t ep, const gni_post_descriptor_t *descriptor)
{
    if (put_count < RECORDS_MAX && (descriptor->cq_mode & GNI_CQMODE_GLOBAL_EVENT) != 0 &&
        (descriptor->type == GNI_POST_FMA_PUT || descriptor->type == GNI_POST_RDMA_PUT))
        puts_posted[put_count++] = (struct put){ep, descriptor};
}

gni_return_t __wrap_GNI_PostFma(gni_ep_handle_t ep, gni_post_descriptor_t *descriptor)
{
    gni_return_t rc = __real_GNI_PostFma(ep, descriptor);

    if (rc == GNI_RC_SUCCESS)
        note_put(ep, descriptor);
    return rc;
}

gni_return_t __wrap_GNI_PostRdma(gni_ep_handle_t ep, gni_post_descriptor_t *descriptor)
{
    gni_return_t rc = __real_GNI_PostRdma(ep, descriptor);

    if (rc == GNI_RC_SUCCESS)
        note_put(ep, descriptor);
    return rc;
}

gni_return_t __wrap_GNI_GetCompleted(gni_cq_handle_t cq, gni_cq_entry_t event,
                                     gni_post_descriptor_t **descriptor)
{
    gni_return_t rc = __real_GNI_GetCompleted(cq, event, descriptor);

    for (unsigned i = 0; i < put_count && *descriptor != NULL; i++)
        if (puts_posted[i].ep != NULL && puts_posted[i].descriptor == *descriptor) {
            puts_posted[i].ep = NULL;
            completed++;
        }
    return rc;
}

gni_return_t __wrap_GNI_SmsgSendWTag(gni_ep_handle_t ep, void *header, uint32_t header_length,
                                     void *data, uint32_t data_length, uint32_t id, uint8_t tag)
{
    fins += tag == MGNI_FIN;
    for (unsigned i = 0; i < put_count && tag == MGNI_FIN; i++)
        early_fins += puts_posted[i].ep == ep;
    return __real_GNI_SmsgSendWTag(ep, header, header_length, data, data_length, id, tag);
}

/* ---- the calls of the LNet driver ------------------------------------------------------------ */

static struct descriptor {
    const char *start; /* NULL: it is unlinked */
    size_t length;
    const void *user;
} descriptors[RECORDS_MAX];
static unsigned descriptor_count, too_long, fragmented, longest_ones;

static void note_descriptor(const struct lnet_md *md)
{
    if (descriptor_count == RECORDS_MAX)
        return;
    too_long += md->length > MIB;
    longest_ones += md->length == MIB;
    fragmented += (md->options & (LNET_MD_IOVEC | LNET_MD_KIOV)) != 0;
    descriptors[descriptor_count++] = (struct descriptor){md->start, md->length, md->user_ptr};
}

static void forget_descriptor(const void *user)
{
    for (unsigned i = 0; i < descriptor_count; i++)
        if (descriptors[i].user == user)
            descriptors[i].start = NULL;
}

int __wrap_LNetMDAttach(struct lnet_handle_me entry, struct lnet_md md, enum lnet_unlink unlink,
                        struct lnet_handle_md *handle)
{
    note_descriptor(&md);
    return __real_LNetMDAttach(entry, md, unlink, handle);
}

int __wrap_LNetMDBind(struct lnet_md md, enum lnet_unlink unlink, struct lnet_handle_md *handle)
{
    note_descriptor(&md);
    return __real_LNetMDBind(md, unlink, handle);
}

void __wrap_mad_lnet_callback(struct lnet_event *event)
{
    if (event->unlinked)
        forget_descriptor(event->md.user_ptr);
    __real_mad_lnet_callback(event);
}
#pragma GCC visibility pop

/* Descriptors that LNet has for a part of this memory. */
static unsigned linked(const char *memory, size_t bytes)
{
    unsigned count = 0;

    for (unsigned i = 0; i < descriptor_count; i++)
        count += descriptors[i].start != NULL && descriptors[i].start < memory + bytes &&
                 memory < descriptors[i].start + descriptors[i].length;
    return count;
}

/* ---- the traffic ----------------------------------------------------------------------------- */

static const size_t lengths[] = {2000, 9000, 70000, 300000, MIB, 3 * MIB + 5};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
static unsigned in_use; /* memory that the caller has back */

static void fill(char *bytes, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(i % 251 + (size_t)seed);
}

static bool is_filled(const char *bytes, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != (char)(i % 251 + (size_t)seed))
            return false;
    return true;
}

static int send_one(struct rank *rank, p_mad_channel_t channel, char *bytes, int number)
{
    size_t length = lengths[number % LENGTHS];
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    fill(bytes, length, number);
    mad_pack(out, bytes, length / 2, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_pack(out, bytes + length / 2, length - length / 2, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
    in_use += linked(bytes, length);
    memset(bytes, 0x55, length); /* it is the caller's again */
    return SAYS(rank, mad_connection_error(out) == MAD_OK);
}

static int receive_one(struct rank *rank, p_mad_channel_t channel, char *bytes, int number)
{
    size_t length = lengths[number % LENGTHS];
    p_mad_connection_t in = mad_begin_unpacking(channel);

    mad_unpack(in, bytes, length / 2, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_unpack(in, bytes + length / 2, length - length / 2, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
    in_use += linked(bytes, length);
    return SAYS(rank, mad_connection_error(in) == MAD_OK) +
           SAYS(rank, is_filled(bytes, length, number));
}

static int traffic_main(struct rank *rank)
{
    p_mad_madeleine_t session = mad_init(NULL, NULL, NULL, NULL);
    p_mad_channel_t channel = mad_open_channel(session, 0);
    char *bytes = malloc(lengths[LENGTHS - 1]);
    int failures = 0;

    for (int i = 0; i < ROUNDS * LENGTHS && failures == 0; i++)
        failures += rank_id(rank) == 0 ? send_one(rank, channel, bytes, i)
                                       : receive_one(rank, channel, bytes, i);
    mad_exit(session);
    free(bytes);
    return failures;
}

static void run(const char *scenario, uint64_t seed)
{
    program_main *const mains[] = {traffic_main};

    put_count = fins = early_fins = completed = 0;
    descriptor_count = too_long = fragmented = longest_ones = in_use = 0;
    assert_int_equal(programs_exit(programs_result(scenario, mains, seed)), EXIT_HOLDS);
    assert_true(put_count < RECORDS_MAX && descriptor_count < RECORDS_MAX);
}

/* Data is late by a random time, and the messages of mailboxes are not: they overtake it. */
static void mad_70_fin_after_the_last_global_event(void **state)
{
    static const char *const methods[] = {"MAD_GNI_BTE_MIN: '8192'", "MAD_GNI_BTE_MIN: '1000000'"};
    char scenario[700];

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        snprintf(scenario, sizeof(scenario),
                 FABRIC "jobs: [{name: a, nodes: 0-1, workload: mad_ping,\n"
                        "        env: {MAD_ADAPTERS: gni, MAD_GNI_SMSG_MAX: '1024', %s}}]\n"
                        "faults: [{label: late, at: net.packet, do: delay, kind: request,\n"
                        "          delay: 50us, probability: 0.3}]\n"
                        "expect: [{ledger: balanced}, {fault: fired}]\n",
                 methods[seed % 2]);
        run(scenario, seed);
        assert_true(fins >= ROUNDS * LENGTHS);
        assert_true(completed >= fins);
        assert_int_equal(early_fins, 0);
    }
}

static void exchange_with(const char *variables, char *thresholds)
{
    char scenario[400];

    memset(&exchange, 0, sizeof(exchange));
    snprintf(scenario, sizeof(scenario),
             FABRIC
             "jobs: [{name: a, nodes: 0-1, workload: mad_ping, env: {MAD_ADAPTERS: gni%s}}]\n"
             "expect: [{ledger: balanced}]\n",
             variables);
    run(scenario, 1);
    assert_int_equal(exchange.adapters, 2);
    assert_int_equal(exchange.mailboxes, 2);
    assert_int_equal(exchange.datagrams, 0);
    memcpy(thresholds, exchange.thresholds, sizeof(exchange.thresholds));
}

/* Each process writes its adapter, its mailboxes and its thresholds; no datagram of GNI is used. */
static void mad_73_the_store_alone(void **state)
{
    char usual[sizeof(exchange.thresholds)], other[sizeof(usual)];

    (void)state;
    exchange_with("", usual);
    exchange_with(", MAD_GNI_BTE_MIN: '9000'", other);
    assert_true(usual[0] != '\0' && strcmp(usual, other) != 0);
}

/* The requests that end descriptors are late. */
static void mad_75_memory_waits_for_unlink(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        run("limits: {no_progress: 1000s}\n"
            "networks: [{name: net, topology: single-switch, nodes: 64}]\n"
            "lnet: {nodes: [{nodes: 0-1, networks: o2ib(net)}],\n"
            "       rules: [{name: late, do: delay, nodes: 0-1, rate: 3, latency: 1,\n"
            "                message: [GET]}]}\n"
            "jobs: [{name: a, nodes: 0-1, workload: mad_ping, env: {MAD_ADAPTERS: lnet}}]\n"
            "expect: [{ledger: balanced}]\n",
            seed);
        assert_true(longest_ones >= ROUNDS * 2); /* pieces of 3 MiB blocks */
        assert_int_equal(too_long, 0);
        assert_int_equal(fragmented, 0); /* each is one fragment of at most 256 */
        assert_int_equal(in_use, 0);
        assert_int_equal(linked(NULL, SIZE_MAX), 0); /* all have ended */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_70_fin_after_the_last_global_event),
        cmocka_unit_test(mad_73_the_store_alone),
        cmocka_unit_test(mad_75_memory_waits_for_unlink),
    };

    return cmocka_run_group_tests_name("the order of calls", tests, NULL, NULL);
}
