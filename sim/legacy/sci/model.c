/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model of Dolphin's SCI cards: its numbers. */
#include "devices.h"

#include <glib.h>

static const struct legacy_param params[] = {
    LEGACY_STEP_PARAMS(0.6, 1.4, 0.6, 0.8, 1.4, 0.8, 0.4),
    {"sci.line_us", 64.0 / 82, "82 MB/s, the best figure of Madeleine II on SISCI; not verified"},
    {"sci.base_us", 1.52, "calibrated: with one line the 2.3 us of raw SISCI in the paper"},
    {"sci.barrier_us", 0.2, "assumed"},
    {"sci.hold_us", 5, "assumed"},
    {"sci.retry_us", 10, "assumed"},
    {"sci.dead_us", 10000, "assumed"},
    {"sci.dma_setup_us", 25, "assumed"},
    {"sci.dma_us", 1.0 / 75, "75 MB/s, assumed"},
    {"sci.connect_us", 200, "assumed"},
};
_Static_assert(G_N_ELEMENTS(params) == SCI_PARAMS, "a row for each number");

static void *create(struct legacy_network *network)
{
    struct sci_devices *devices = g_new0(struct sci_devices, 1);
    char *book = g_strconcat(network->config.name, ".lines", NULL);
    uint64_t seed = sim_hash_string(network->config.name, network->config.seed);
    uint32_t i;

    devices->network = network;
    devices->book_name = book;
    sim_ledger_book_register(&devices->book, book);
    devices->cards = g_new0(struct sci_card, network->endpoints);
    for (i = 0; i < network->endpoints; i++) {
        devices->cards[i].devices = devices;
        devices->cards[i].endpoint = i;
        devices->cards[i].random_seed = sim_mix(seed + i);
        devices->cards[i].waiters = g_ptr_array_new();
    }
    return devices;
}

static void destroy(void *state)
{
    struct sci_devices *devices = state;
    uint32_t i;

    sci_library_end();
    for (i = 0; i < devices->network->endpoints; i++)
        g_ptr_array_unref(devices->cards[i].waiters);
    g_free(devices->cards);
    g_free(devices->book_name);
    g_free(devices);
}

static void process_left(void *devices, uint32_t endpoint, uint64_t process)
{
    (void)devices, (void)endpoint;
    sci_process_left(process);
}

const struct legacy_model legacy_sci_model = {
    .name = "sci",
    .params = params,
    .param_count = SCI_PARAMS,
    .create = create,
    .destroy = destroy,
    .process_left = process_left,
};
