/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A misbehaving client and two witnesses: a rank of its job and one of another job. */
#ifndef JACQUARD_TESTS_PMI_SERVER_SCENE_H
#define JACQUARD_TESTS_PMI_SERVER_SCENE_H

#include "server_common.h"

#define GET(key) "cmd=kvs-get;jobid=;srcid=-1;key=" key ";"
#define MISSING "cmd=kvs-get-response;found=FALSE;rc=0;"

struct scene {
    struct driver *driver;
    const char *job, *other_job;
    struct peer *bad, *same, *other;
};

static inline struct scene scene_new(const struct driver_options *options)
{
    struct scene scene = {.driver = driver_new(options)};

    scene.job = driver_job(scene.driver, 2);
    scene.other_job = driver_job(scene.driver, 1);
    scene.same = client2(scene.driver, scene.job, 1, 0);
    scene.other = client1(scene.driver, scene.other_job, 0, 0);
    return scene;
}

static inline struct scene begin(void)
{
    struct scene scene = scene_new(&(struct driver_options){.nodes = 1, .seed = 9});

    scene.bad = client2(scene.driver, scene.job, 0, 0);
    return scene;
}

/* The witnesses are served as ever; `fence`: the fence of the same job, too. */
static inline void end(struct scene *scene, const char *fence)
{
    ask(scene->same, "cmd=kvs-put;key=w;value=1;", "cmd=kvs-put-response;rc=0;");
    ask(scene->same, GET("w"), MISSING);
    if (fence != NULL)
        ask(scene->same, "cmd=kvs-fence;", fence);
    ask_line(scene->other, "cmd=barrier_in", "cmd=barrier_out");
    ask_line(scene->other, "cmd=get_appnum", "cmd=appnum appnum=0");
    assert_false(scene->same->closed);
    assert_false(scene->other->closed);
    driver_free(scene->driver);
}

static inline void end_working(struct scene *scene)
{
    expect_nothing(scene->bad);
    assert_false(scene->bad->closed);
    driver_frame(scene->bad, "cmd=kvs-fence;");
    end(scene, "cmd=kvs-fence-response;rc=0;");
}

static inline void end_closed(struct scene *scene)
{
    assert_true(scene->bad->closed);
    assert_int_equal(pmi2_server_rank_state(scene->driver->servers[0], scene->job, 0),
                     PMI2_RANK_FAILED);
    end(scene, "cmd=kvs-fence-response;rc=14;errmsg=rank_0_dead;");
}

#endif
