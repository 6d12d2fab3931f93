/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes pcapng files of TCP segments in Ethernet frames. Every call starts a new segment, which
 * Wireshark's dissector of LNet needs: see docs/lnet.md, "Captures".
 */
#ifndef JACQUARD_LNET_PCAP_H
#define JACQUARD_LNET_PCAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "stream.h"

struct lnet_pcap;

/* `epoch_ns`: nanoseconds since 1970 at time 0 of this process. NULL: *error is malloc'd text. */
struct lnet_pcap *lnet_pcap_open(const char *path, uint64_t epoch_ns, char **error);
/* Pieces of one message; `sequence` and `acknowledged` are positions in both directions, from 0. */
void lnet_pcap_write(struct lnet_pcap *pcap, sim_time_t at, struct lnet_stream_address from,
                     struct lnet_stream_address to, uint32_t sequence, uint32_t acknowledged,
                     const struct iovec *pieces, uint32_t count);
/* False: something could not be written; *error is malloc'd text. */
bool lnet_pcap_close(struct lnet_pcap *pcap, char **error);

#endif
