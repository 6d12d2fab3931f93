/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/report.h"

#include <stdio.h>

#define QUIET_US 1000000 /* shorter runs show nothing */
#define REDRAW_US 200000
#define BAR_WIDTH 24

void report_progress_begin(struct progress *progress, bool on)
{
    *progress = (struct progress){.on = on, .started_us = g_get_monotonic_time()};
}

static bool due(struct progress *progress)
{
    int64_t now = g_get_monotonic_time();

    if (!progress->on || now - progress->started_us < QUIET_US ||
        now - progress->last_us < REDRAW_US)
        return false;
    progress->last_us = now;
    progress->drawn = true;
    return true;
}

static void draw(const struct progress *progress, double fraction, const char *what)
{
    double elapsed = (double)(progress->last_us - progress->started_us) * 1e-6;
    char bar[BAR_WIDTH + 1], eta[32] = "";
    int i;

    for (i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < (int)(fraction * BAR_WIDTH) ? '#' : '-';
    bar[BAR_WIDTH] = '\0';
    if (fraction > 0.005)
        snprintf(eta, sizeof(eta), "  ETA %.0f s", elapsed * (1 - fraction) / fraction);
    fprintf(stderr, "\r[%s] %3.0f %%  %s%s\033[K", bar, fraction * 100, what, eta);
    fflush(stderr);
}

/* Estimates progress by the calls of rank_progress() if the arguments give their number, otherwise
 * by the ranks that have ended. */
static double fraction_done(const struct cluster *cluster)
{
    double done = 0, goal = 0;
    bool known = true;
    size_t i;

    for (i = 0; i < cluster->job_count; i++) {
        known = known && cluster->jobs[i].progress_goal != 0;
        done += (double)cluster->jobs[i].progress;
        goal += (double)cluster->jobs[i].progress_goal;
    }
    if (!known || done == 0) {
        done = cluster->rank_count - cluster->ranks_running;
        goal = cluster->rank_count;
    }
    return done < goal * 0.99 ? done / goal : 0.99;
}

void report_progress_tick(void *arg, const struct cluster *cluster)
{
    struct progress *progress = arg;
    char what[96], now[32], rate[32];

    if (!due(progress))
        return;
    scenario_format_ps(now, sizeof(now), (double)sim_now());
    scenario_format_count(rate, sizeof(rate),
                          (double)sim_core.events_fired * 1e6 /
                              (double)(progress->last_us - progress->started_us));
    snprintf(what, sizeof(what), "%s virtual  %s events/s", now, rate);
    draw(progress, fraction_done(cluster), what);
}

void report_progress_runs(struct progress *progress, size_t done, size_t total)
{
    char what[64];

    if (!due(progress))
        return;
    snprintf(what, sizeof(what), "%zu of %zu runs", done, total);
    draw(progress, (double)done / (double)total, what);
}

void report_progress_end(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
}
