/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters of the queues, as numbers and as text. */
#include <inttypes.h>

#include "ping/pvt.h"

void m0_ping_counters(struct m0_ping *ping, uint64_t table[M0_PING_QUEUES][M0_PING_COLUMNS])
{
    struct m0_net_qstats stats[M0_NET_QT_NR];
    int i;

    M0_CASSERT((int)M0_PING_QUEUES == (int)M0_NET_QT_NR);
    m0_net_tm_stats_get(&ping->tm, M0_NET_QT_NR, stats, false);
    for (i = 0; i < M0_NET_QT_NR; i++) {
        table[i][M0_PING_ADDS] = stats[i].nqs_num_adds;
        table[i][M0_PING_DELS] = stats[i].nqs_num_dels;
        table[i][M0_PING_SUCCESSES] = stats[i].nqs_num_s_events;
        table[i][M0_PING_FAILURES] = stats[i].nqs_num_f_events;
        table[i][M0_PING_TIME] = stats[i].nqs_time_in_queue;
        table[i][M0_PING_BYTES] = stats[i].nqs_total_bytes;
        table[i][M0_PING_MAXIMUM] = stats[i].nqs_max_bytes;
    }
}

uint64_t m0_ping_errors(const struct m0_ping *ping)
{
    return __atomic_load_n(&ping->errors, __ATOMIC_RELAXED);
}

void m0_ping_print(struct m0_ping *ping, FILE *to)
{
    static const char *const names[] = {"mRECV", "mSEND", "pRECV", "pSEND", "aRECV", "aSEND"};
    uint64_t table[M0_PING_QUEUES][M0_PING_COLUMNS];
    int i;

    m0_ping_counters(ping, table);
    fprintf(to,
            "%s\nQueue     #Add   #Del  #Succ  #Fail   Time in Queue [s]        Total    "
            "Max Size\n",
            m0_ping_address(ping));
    for (i = 0; i < M0_PING_QUEUES; i++) {
        const uint64_t *row = table[i];

        fprintf(to,
                "%-6s %7" PRIu64 "%7" PRIu64 "%7" PRIu64 "%7" PRIu64 "  %8" PRIu64 ".%09" PRIu64
                "%13" PRIu64 "%12" PRIu64 "\n",
                names[i], row[M0_PING_ADDS], row[M0_PING_DELS], row[M0_PING_SUCCESSES],
                row[M0_PING_FAILURES], m0_time_seconds(row[M0_PING_TIME]),
                m0_time_nanoseconds(row[M0_PING_TIME]), row[M0_PING_BYTES], row[M0_PING_MAXIMUM]);
    }
}
