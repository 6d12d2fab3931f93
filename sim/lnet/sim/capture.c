/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Captures of simulated nodes: each message is written once, by its sender, in virtual time. */
#include "lnd/tcp/capture.h"

static struct lnet_capture capture;

bool lnet_sim_capture(const char *path, char **error)
{
    assert(capture.pcap == NULL);
    capture.pcap = lnet_pcap_open(path, 0, error);
    if (capture.pcap == NULL)
        return false;
    lnet_capture = &capture;
    return true;
}

bool lnet_sim_capture_end(char **error)
{
    struct lnet_pcap *pcap = capture.pcap;

    lnet_capture = NULL;
    capture.pcap = NULL;
    return pcap == NULL || lnet_pcap_close(pcap, error);
}
