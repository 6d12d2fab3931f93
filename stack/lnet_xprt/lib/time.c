/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port's clock. */
#include "lib/time.h"
#include "lib/assert.h"
#include "lib/semaphore.h"
#include "port/port.h"

const m0_time_t M0_TIME_IMMEDIATELY = 0;
const m0_time_t M0_TIME_NEVER = ~0ull;

m0_time_t m0_time(uint64_t seconds, long nanoseconds)
{
    return M0_MKTIME(seconds, nanoseconds);
}

m0_time_t m0_time_now(void)
{
    return port_now();
}

m0_time_t m0_time_from_now(uint64_t seconds, long nanoseconds)
{
    return m0_time_add(m0_time_now(), m0_time(seconds, nanoseconds));
}

m0_time_t m0_time_add(m0_time_t a, m0_time_t b)
{
    m0_time_t sum = a + b;

    return a == M0_TIME_NEVER || b == M0_TIME_NEVER || sum < a ? M0_TIME_NEVER : sum;
}

m0_time_t m0_time_sub(m0_time_t later, m0_time_t earlier)
{
    M0_PRE(later >= earlier);
    return later == M0_TIME_NEVER ? later : later - earlier;
}

uint64_t m0_time_seconds(m0_time_t time)
{
    return time / M0_TIME_ONE_SECOND;
}

uint64_t m0_time_nanoseconds(m0_time_t time)
{
    return time % M0_TIME_ONE_SECOND;
}

m0_time_t m0_time_to_realtime(m0_time_t absolute)
{
    return absolute;
}

int m0_nanosleep(m0_time_t duration, m0_time_t *remaining)
{
    struct m0_semaphore never;

    m0_semaphore_init(&never, 0);
    m0_semaphore_timeddown(&never, m0_time_add(m0_time_now(), duration));
    m0_semaphore_fini(&never);
    if (remaining != NULL)
        *remaining = 0;
    return 0;
}
