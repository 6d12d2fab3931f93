/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The client library against servers that speak as Hydra, as Slurm and as ours; and without one. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "pmi2.h"
#include "script.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int spawned, size, rank, appnum;

static int join(void)
{
    spawned = size = rank = appnum = -7;
    return PMI2_Init(&spawned, &size, &rank, &appnum);
}

static void start(const struct step *steps, size_t count, bool left)
{
    script_start(steps, count, left);
    assert_int_equal(join(), PMI2_SUCCESS);
}

static void end(void)
{
    assert_int_equal(PMI2_Finalize(), PMI2_SUCCESS);
    script_end();
}

/* ---- without a server -------------------------------------------------------------------------
 */

static void pmi2_5_codes(void **state)
{
    static const int codes[] = {PMI2_SUCCESS,
                                PMI2_ERR_INIT,
                                PMI2_ERR_NOMEM,
                                PMI2_ERR_INVALID_ARG,
                                PMI2_ERR_INVALID_KEY,
                                PMI2_ERR_INVALID_KEY_LENGTH,
                                PMI2_ERR_INVALID_VAL,
                                PMI2_ERR_INVALID_VAL_LENGTH,
                                PMI2_ERR_INVALID_LENGTH,
                                PMI2_ERR_INVALID_NUM_ARGS,
                                PMI2_ERR_INVALID_ARGS,
                                PMI2_ERR_INVALID_NUM_PARSED,
                                PMI2_ERR_INVALID_KEYVALP,
                                PMI2_ERR_INVALID_SIZE,
                                PMI2_ERR_OTHER};
    size_t i;

    for (i = 0; i < COUNT(codes); i++)
        assert_int_equal(codes[i], i);
    assert_int_equal(PMI2_FAIL, -1);
    assert_int_equal(PMI2_MAX_KEYLEN, 64);
    assert_int_equal(PMI2_MAX_VALLEN, 1024);
    assert_int_equal(PMI2_MAX_ATTRVALUE, 1024);
    assert_int_equal(COUNT(codes), 15); /* and PMI2_FAIL: 16 */
    assert_int_equal(PMI2_ID_NULL, -1);
    assert_int_equal(PMI_VERSION, 2);
    assert_int_equal(PMI_SUBVERSION, 0);
    assert_int_equal(PMI2X_VERSION, 2);
    assert_int_equal(PMI2X_SUBVERSION, 0);
    assert_int_equal(PMI_MAX_MSG_STRING, 1024);
    assert_int_equal(PMII_COMMANDLEN_SIZE, 6);
    assert_int_equal(PMII_MAX_COMMAND_LEN, 65536);
    assert_int_equal(HAVE_PMIX_RING, 1);
}

static void pmi2_4_layout(void **state)
{
    assert_int_equal(sizeof(PMI2_Connect_comm_t), 32);
    assert_int_equal(offsetof(PMI2_Connect_comm_t, write), 8);
    assert_int_equal(offsetof(PMI2_Connect_comm_t, ctx), 16);
    assert_int_equal(offsetof(PMI2_Connect_comm_t, isMaster), 24);
    assert_int_equal(offsetof(PMI2_Connect_comm_t, isMain), 24);
    assert_int_equal(sizeof(MPID_Info), 40);
    assert_int_equal(offsetof(MPID_Info, pobj_mutex), 4);
    assert_int_equal(offsetof(MPID_Info, ref_count), 8);
    assert_int_equal(offsetof(MPID_Info, next), 16);
    assert_int_equal(offsetof(MPID_Info, key), 24);
    assert_int_equal(offsetof(MPID_Info, value), 32);
}

static void pmi2_14_initialized(void **state)
{
    static const struct step steps[] = {HYDRA_INIT, FINALIZE};

    assert_int_equal(PMI2_Initialized(), 0);
    start(steps, COUNT(steps), false);
    assert_int_equal(PMI2_Initialized(), 1);
    end();
    assert_int_equal(PMI2_Initialized(), 0);
}

/* The script refuses what comes behind the first message before that has been answered. */
static void pmi2_18_init_goes_alone(void **state)
{
    static const struct step hydra[] = {HYDRA_INIT, FINALIZE}, slurm[] = {SLURM_INIT, FINALIZE};

    start(hydra, COUNT(hydra), false);
    end();
    start(slurm, COUNT(slurm), true);
    end();
}

static void pmi2_6_error_strings(void **state)
{
    int code;

    for (code = -3; code < 30; code++) {
        assert_non_null(PMI2X_Error_string(code));
        assert_true(PMI2X_Error_string(code)[0] != '\0');
    }
    assert_string_equal(PMI2X_Error_string(-2), PMI2X_Error_string(29));
}

static void pmi2_7_before_init(void **state)
{
    const char *commands[] = {"x"};
    int one[] = {1}, found, length;
    char text[16];

    assert_int_equal(PMI2_Initialized(), 0);
    assert_int_equal(PMI2_Finalize(), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Abort(0, "x"), PMI2_ERR_INIT);
    assert_int_equal(
        PMI2_Job_Spawn(1, commands, NULL, NULL, one, NULL, NULL, 0, NULL, text, 16, NULL),
        PMI2_ERR_INIT);
    assert_int_equal(PMI2_Job_GetId(text, 16), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Job_GetRank(&found), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Info_GetSize(&found), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Job_Connect("1.0", NULL), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Job_Disconnect("1.0"), PMI2_ERR_INIT);
    assert_int_equal(PMI2_KVS_Put("k", "v"), PMI2_ERR_INIT);
    assert_int_equal(PMI2_KVS_Fence(), PMI2_ERR_INIT);
    assert_int_equal(PMI2X_KVS_Fence_survivors(), PMI2_ERR_INIT);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 16, &length), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Info_GetNodeAttr("a", text, 16, &found, 0), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Info_GetNodeAttrIntArray("a", one, 1, &length, &found), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Info_PutNodeAttr("a", "b"), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Info_GetJobAttr("a", text, 16, &found), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Info_GetJobAttrIntArray("a", one, 1, &length, &found), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Nameserv_publish("s", NULL, "p"), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Nameserv_lookup("s", NULL, text, 16), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Nameserv_unpublish("s", NULL), PMI2_ERR_INIT);
    assert_int_equal(PMIX_Ring("v", &found, &length, text, text, 16), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Init(NULL, &size, &rank, &appnum), PMI2_ERR_INVALID_ARG);
}

static void pmi2_11_singleton(void **state)
{
    char text[64], left[16], right[16], expected[64];
    int length, found, ranks, array[2], code;
    struct rlimit limit, none;

    /* Not even one descriptor more can be had: no file, no socket. */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    code = join();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(code, PMI2_SUCCESS);
    assert_int_equal(spawned, 0);
    assert_int_equal(size, 1);
    assert_int_equal(rank, 0);
    assert_int_equal(appnum, 0);
    assert_int_equal(PMI2_Initialized(), 1); /* 14 */
    assert_int_equal(join(), PMI2_SUCCESS); /* the same again */
    assert_int_equal(size, 1);
    snprintf(expected, sizeof(expected), "singinit_%d_0", (int)getpid());
    assert_int_equal(PMI2_Job_GetId(text, sizeof(text)), PMI2_SUCCESS);
    assert_string_equal(text, expected);
    assert_int_equal(PMI2_Job_GetId(text, 5), PMI2_ERR_NOMEM);
    assert_string_equal(text, "sing");
    assert_int_equal(PMI2_KVS_Put("k", "value"), PMI2_SUCCESS);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 64, &length), PMI2_ERR_OTHER); /* 32 */
    assert_int_equal(length, 0);
    assert_int_equal(PMI2_KVS_Put("k", "seven!!"), PMI2_SUCCESS);
    assert_int_equal(PMI2_KVS_Fence(), PMI2_SUCCESS);
    assert_int_equal(PMI2_KVS_Get(expected, 0, "k", text, 64, &length), PMI2_SUCCESS);
    assert_string_equal(text, "seven!!");
    assert_int_equal(PMI2_KVS_Get("1.0", 0, "k", text, 64, &length), PMI2_FAIL);
    assert_int_equal(PMIX_Ring("me", &rank, &ranks, left, right, 16), PMI2_SUCCESS);
    assert_true(rank == 0 && ranks == 1 && strcmp(left, "me") == 0 && strcmp(right, "me") == 0);
    assert_int_equal(PMI2_Info_GetJobAttr("physTopology", text, 64, &found), PMI2_SUCCESS);
    assert_int_equal(found, 0);
    assert_int_equal(PMI2_Info_GetNodeAttr("later", text, 64, &found, 1), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Info_GetNodeAttrIntArray("localRanks", array, 2, &length, &found), 0);
    assert_true(found && length == 1 && array[0] == 0);
    assert_int_equal(PMI2_Nameserv_publish("s", NULL, "p"), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Finalize(), PMI2_SUCCESS);
    assert_int_equal(PMI2_Initialized(), 0);
    assert_int_equal(PMI2_KVS_Put("k", "v"), PMI2_ERR_INIT);
}

/* ---- the requests, byte by byte, and replies in both orders ------------------------------------
 */

static void all_calls(bool slurm)
{
    int length, found, array[4], ranks;
    char text[64], left[16], right[16];

    assert_int_equal(PMI2_Job_GetId(text, sizeof(text)), 0);
    assert_string_equal(text, "1.0");
    assert_int_equal(PMI2_Info_GetJobAttr("universeSize", text, 64, &found), 0);
    assert_true(found && strcmp(text, "12") == 0);
    assert_int_equal(PMI2_Info_GetJobAttr("nothing", text, 64, &found), 0);
    assert_false(found);
    assert_int_equal(PMI2_Info_GetNodeAttr("na", text, 64, &found, 1), 0);
    assert_true(found && strcmp(text, "x;y") == 0);
    assert_int_equal(PMI2_Info_PutNodeAttr("na", "x;y"), 0);
    assert_int_equal(PMI2_KVS_Put("k0", "a;b=c d"), 0);
    assert_int_equal(PMI2_KVS_Fence(), 0);
    assert_int_equal(PMI2_KVS_Get(NULL, 0, "k0", text, 64, &length), 0);
    assert_true(length == 1 && strcmp(text, "v") == 0);
    assert_int_equal(PMI2_KVS_Get("1.0", PMI2_ID_NULL, "k1", text, 64, &length), PMI2_ERR_OTHER);
    assert_true(length == 0 && text[0] == '\0');
    assert_int_equal(PMI2_Nameserv_publish("svc", NULL, "port;1"), 0);
    assert_int_equal(PMI2_Nameserv_lookup("svc", NULL, text, 64), 0);
    assert_string_equal(text, "port;1");
    assert_int_equal(PMI2_Nameserv_unpublish("svc", NULL), slurm ? 0 : PMI2_FAIL);
    assert_int_equal(PMI2X_Last_errmsg(text, 64), slurm ? 0 : 21);
    assert_string_equal(text, slurm ? "" : "service_svc_not_found");
    assert_int_equal(PMI2_Info_GetNodeAttrIntArray("list", array, 4, &length, &found), 0);
    assert_true(found && length == 3 && array[0] == 4 && array[1] == -5 && array[2] == 6);
    assert_int_equal(PMIX_Ring("me", &rank, &ranks, left, right, 16), 0);
    assert_true(rank == 2 && ranks == 3 && strcmp(left, "L") == 0 && strcmp(right, "R") == 0);
}

static void pmi2_79_as_hydra(void **state)
{
    static const struct step steps[] = {
        HYDRA_INIT,
        {"cmd=job-getid;", "cmd=job-getid-response;jobid=1.0;rc=0;"},
        {"cmd=info-getjobattr;key=universeSize;",
         "cmd=info-getjobattr-response;found=TRUE;value=12;rc=0;"},
        {"cmd=info-getjobattr;key=nothing;", "cmd=info-getjobattr-response;found=FALSE;rc=0;"},
        {"cmd=info-getnodeattr;key=na;wait=TRUE;",
         "cmd=info-getnodeattr-response;found=TRUE;value=x;;y;rc=0;"},
        {"cmd=info-putnodeattr;key=na;value=x;;y;", "cmd=info-putnodeattr-response;rc=0;"},
        {"cmd=kvs-put;key=k0;value=a;;b=c d;", "cmd=kvs-put-response;rc=0;"},
        {"cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;"},
        {"cmd=kvs-get;srcid=0;key=-NONEXIST-KEY;", "cmd=kvs-get-response;found=FALSE;rc=0;"},
        {"cmd=kvs-get;srcid=0;key=k0;", "cmd=kvs-get-response;found=TRUE;value=v;rc=0;"},
        {"cmd=kvs-get;jobid=1.0;srcid=-1;key=k1;", "cmd=kvs-get-response;found=FALSE;rc=0;"},
        {"cmd=name-publish;name=svc;port=port;;1;infokeycount=0;",
         "cmd=name-publish-response;rc=0;"},
        {"cmd=name-lookup;name=svc;infokeycount=0;",
         "cmd=name-lookup-response;port=port;;1;found=TRUE;rc=0;"},
        {"cmd=name-unpublish;name=svc;infokeycount=0;",
         "cmd=name-unpublish-response;rc=1;errmsg=service_svc_not_found;"},
        {"cmd=info-getnodeattr;key=list;wait=FALSE;",
         "cmd=info-getnodeattr-response;found=TRUE;value=4,-5,6;rc=0;"},
        {"cmd=ring;ring-count=1;ring-left=me;ring-right=me;",
         "cmd=ring-response;ring-count=2;ring-left=L;ring-right=R;rc=0;"},
        FINALIZE,
    };

    start(steps, COUNT(steps), false);
    assert_true(spawned == 0 && size == 3 && rank == 1 && appnum == 0); /* 12 */
    all_calls(false);
    end();
    assert_int_equal(PMI2_Initialized(), 0);
}

static void pmi2_80_as_slurm(void **state)
{
    static const struct step steps[] = {
        SLURM_INIT,
        {"cmd=job-getid;", "cmd=job-getid-response;rc=0;jobid=1.0;"},
        {"cmd=info-getjobattr;key=universeSize;",
         "cmd=info-getjobattr-response;rc=0;found=TRUE;value=12;"},
        {"cmd=info-getjobattr;key=nothing;", "cmd=info-getjobattr-response;rc=0;found=FALSE;"},
        {"cmd=info-getnodeattr;key=na;wait=TRUE;",
         "cmd=info-getnodeattr-response;rc=0;found=true;value=x;;y;"}, /* 81 */
        {"cmd=info-putnodeattr;key=na;value=x;;y;", "cmd=info-putnodeattr-response;rc=0;"},
        {"cmd=kvs-put;key=k0;value=a;;b=c d;", "cmd=kvs-put-response;rc=0;"},
        {"cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;"},
        {"cmd=kvs-get;srcid=0;key=-NONEXIST-KEY;", "cmd=kvs-get-response;rc=0;found=FALSE;"},
        {"cmd=kvs-get;srcid=0;key=k0;", "cmd=kvs-get-response;rc=0;found=TRUE;value=v;"},
        {"cmd=kvs-get;jobid=1.0;srcid=-1;key=k1;", "cmd=kvs-get-response;rc=0;flag=false;"},
        {"cmd=name-publish;name=svc;port=port;;1;infokeycount=0;",
         "cmd=name-publish-response;rc=0;"},
        {"cmd=name-lookup;name=svc;infokeycount=0;",
         "cmd=name-lookup-response;rc=0;found=TRUE;value=port;;1;"}, /* 61 */
        {"cmd=name-unpublish;name=svc;infokeycount=0;", "cmd=name-unpublish-response;rc=0;"},
        {"cmd=info-getnodeattr;key=list;wait=FALSE;",
         "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=4,-5,6;"},
        {"cmd=ring;ring-count=1;ring-left=me;ring-right=me;",
         "cmd=ring-response;rc=0;ring-count=2;ring-left=L;ring-right=R;"},
        FINALIZE,
    };

    start(steps, COUNT(steps), true);
    assert_true(spawned == 0 && size == 3 && rank == 1 && appnum == -1); /* 13 */
    all_calls(true);
    end();
}

/* Our own server: no second request behind a fence, and more than the shipped functions. */
static void pmi2_44_strict_fence_is_known(void **state)
{
    static const struct step steps[] = {
        OUR_INIT,
        {"cmd=kvs-fence;thrid=1;", "cmd=kvs-fence-response;thrid=1;rc=0;"},
        {"cmd=kvs-put;key=k;value=v;readonly=TRUE;", "cmd=kvs-put-response;rc=0;"},
        {"cmd=job-connect;thrid=2;jobid=2.0;",
         "cmd=job-connect-response;thrid=2;kvscopy=FALSE;rc=0;"},
        {"cmd=job-disconnect;jobid=2.0;", "cmd=job-disconnect-response;rc=3;errmsg=not_connected;"},
        {"cmd=kvs-get;jobid=9.9;srcid=-1;key=k;",
         "cmd=kvs-get-response;rc=3;errmsg=unknown_jobid;"},
        FINALIZE,
    };
    char text[32];
    int length, version, subversion;

    start(steps, COUNT(steps), false);
    assert_true(spawned == 1 && appnum == 2);
    assert_int_equal(PMI2_KVS_Fence(), 0);
    assert_int_equal(PMI2X_KVS_Put_hint("k", "v", PMI2X_PUT_READ_ONLY), 0);
    assert_int_equal(PMI2X_KVS_Put_hint("k", "v", 2), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Job_Connect("2.0", NULL), 0);
    assert_int_equal(PMI2_Job_Disconnect("2.0"), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_KVS_Get("9.9", -1, "k", text, 32, &length), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2X_Last_errmsg(text, 8), 13);
    assert_string_equal(text, "unknown");
    assert_int_equal(PMI2X_Server_version(&version, &subversion), 0);
    assert_true(version == 2 && subversion == 0);
    end();
}

/* ---- values -----------------------------------------------------------------------------------
 */

static void pmi2_35_pmi2_36_pmi2_37_truncation(void **state)
{
#define GET(key, value)                                             \
    {                                                               \
        "cmd=kvs-get;srcid=-1;key=" key ";",                        \
            "cmd=kvs-get-response;found=TRUE;value=" value ";rc=0;" \
    }
    static const struct step steps[] = {
        HYDRA_INIT,
        GET("k", "a;;b=c d"),
        GET("k", "a;;b=c d"),
        GET("k", "1234567"),
        GET("k", "1234567"),
        GET("k", "1234567"),
        GET("k", "a\xe2\x82\xac"),
        GET("k", ""),
        FINALIZE,
    };
    char text[16];
    int length;

    start(steps, COUNT(steps), false);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 4, &length), 0);
    assert_int_equal(length, -8);
    assert_string_equal(text, "a;b");
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, -length, &length), 0); /* 36: ends */
    assert_int_equal(length, 7);
    assert_string_equal(text, "a;b=c d");
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 8, &length), 0); /* 37 */
    assert_int_equal(length, 7);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 7, &length), 0);
    assert_int_equal(length, -8);
    assert_string_equal(text, "123456");
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", NULL, 0, &length), 0);
    assert_int_equal(length, -8);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 4, &length),
                     0); /* not inside of a character */
    assert_int_equal(length, -5);
    assert_string_equal(text, "a");
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 1, &length), 0);
    assert_int_equal(length, 0);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, -1, &length), PMI2_ERR_INVALID_LENGTH);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", NULL, 4, &length), PMI2_ERR_INVALID_ARG);
    end();
}

/* Not a byte is sent. */
static void pmi2_26_refused_here(void **state)
{
    static const struct step steps[] = {HYDRA_INIT, FINALIZE};
    char key[PMI2_MAX_KEYLEN + 2], value[PMI2_MAX_VALLEN + 2];
    int length;

    memset(key, 'k', sizeof(key));
    memset(value, 'v', sizeof(value));
    key[PMI2_MAX_KEYLEN + 1] = value[PMI2_MAX_VALLEN + 1] = '\0';
    start(steps, COUNT(steps), false);
    assert_int_equal(PMI2_KVS_Put(key, "v"), PMI2_ERR_INVALID_KEY_LENGTH);
    assert_int_equal(PMI2_KVS_Put("k", value), PMI2_ERR_INVALID_VAL_LENGTH);
    assert_int_equal(PMI2_KVS_Put("", "v"), PMI2_ERR_INVALID_KEY);
    assert_int_equal(PMI2_KVS_Put("a b", "v"), PMI2_ERR_INVALID_KEY);
    assert_int_equal(PMI2_KVS_Put("a;b", "v"), PMI2_ERR_INVALID_KEY); /* 78 */
    assert_int_equal(PMI2_KVS_Put(NULL, "v"), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_KVS_Get(NULL, 0, key, value, 8, &length), PMI2_ERR_INVALID_KEY_LENGTH);
    end();
}

static void pmi2_25_longest(void **state)
{
    static char put[1200], got[1200];
    const struct step steps[] = {HYDRA_INIT,
                                 {put, "cmd=kvs-put-response;rc=0;"},
                                 {"cmd=kvs-get;srcid=-1;key=k;", got},
                                 FINALIZE};
    char key[PMI2_MAX_KEYLEN + 1], value[PMI2_MAX_VALLEN + 1], back[PMI2_MAX_VALLEN + 1];
    int length;

    memset(key, 'k', PMI2_MAX_KEYLEN);
    memset(value, 'v', PMI2_MAX_VALLEN);
    key[PMI2_MAX_KEYLEN] = value[PMI2_MAX_VALLEN] = '\0';
    snprintf(put, sizeof(put), "cmd=kvs-put;key=%s;value=%s;", key, value);
    snprintf(got, sizeof(got), "cmd=kvs-get-response;found=TRUE;value=%s;rc=0;", value);
    start(steps, COUNT(steps), false);
    assert_int_equal(PMI2_KVS_Put(key, value), 0);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", back, sizeof(back), &length), 0);
    assert_int_equal(length, PMI2_MAX_VALLEN);
    assert_string_equal(back, value);
    end();
}

static void pmi2_51_int_arrays(void **state)
{
    static const struct step steps[] = {
        HYDRA_INIT,
        {"cmd=info-getnodeattr;key=a;wait=FALSE;",
         "cmd=info-getnodeattr-response;found=TRUE;value=4,5,x;rc=0;"},
        {"cmd=info-getjobattr;key=a;", "cmd=info-getjobattr-response;found=TRUE;value=1,2,3;rc=0;"},
        {"cmd=info-getjobattr;key=a;", "cmd=info-getjobattr-response;found=FALSE;rc=0;"},
        FINALIZE,
    };
    int array[3] = {0}, length = -1, found = -1;

    start(steps, COUNT(steps), false);
    assert_int_equal(PMI2_Info_GetNodeAttrIntArray("a", array, 3, &length, &found),
                     PMI2_ERR_INVALID_NUM_PARSED);
    assert_true(length == 2 && array[0] == 4 && array[1] == 5);
    assert_int_equal(PMI2_Info_GetJobAttrIntArray("a", array, 2, &length, &found), 0);
    assert_true(found && length == 2 && array[0] == 1 && array[1] == 2);
    assert_int_equal(PMI2_Info_GetJobAttrIntArray("a", array, 2, &length, &found), 0);
    assert_true(!found && length == 0);
    end();
}

/* ---- spawn ------------------------------------------------------------------------------------
 */

static int do_spawn(char *id, int id_size, int *errors)
{
    const char *commands[] = {"prog", "prog2"}, *first[] = {"a1", "a 2", NULL},
               **arguments[] = {first, NULL};
    int counts[] = {2, 0}, processes[] = {1, 2}, infos[] = {1, 0};
    struct MPID_Info wdir = {.key = (char *)"wdir", .value = (char *)"/t"};
    struct MPID_Info pair = {.key = (char *)"P", .value = (char *)"tag#0"};
    const struct MPID_Info *vectors[] = {&wdir, NULL}, *preput[] = {&pair};

    return PMI2_Job_Spawn(2, commands, counts, arguments, processes, infos, vectors, 1, preput, id,
                          id_size, errors);
}

#define SPAWN                                                                             \
    "ncmds=2;preputcount=1;ppkey0=P;ppval0=tag#0;subcmd=prog;maxprocs=1;argc=2;argv0=a1;" \
    "argv1=a 2;infokeycount=1;infokey0=wdir;infoval0=/t;subcmd=prog2;maxprocs=2;argc=0;"  \
    "infokeycount=0;"

static void pmi2_70_spawn(void **state)
{
    static const struct step steps[] = {
        HYDRA_INIT,
        {"cmd=spawn;" SPAWN, "cmd=spawn-response;rc=0;jobid=1.1;nerrs=0;"},
        {"cmd=spawn;" SPAWN, "cmd=spawn-response;rc=0;jobid=1.2;errcodes=0,0,0;"},
        {"cmd=spawn;" SPAWN, "cmd=spawn-response;rc=1;nerrs=3;err0=0;err1=2;err2=2;"},
        {"cmd=spawn;" SPAWN, "cmd=spawn-response;rc=0;jobid=1.3;errcodes=0,5,0;"},
        FINALIZE,
    };
    int errors[3] = {9, 9, 9};
    char id[16];

    start(steps, COUNT(steps), false);
    assert_int_equal(do_spawn(id, 16, errors), 0);
    assert_string_equal(id, "1.1");
    assert_true(errors[0] == 0 && errors[1] == 0 && errors[2] == 0);
    assert_int_equal(do_spawn(id, 3, errors), PMI2_ERR_NOMEM);
    assert_string_equal(id, "1.");
    assert_int_equal(do_spawn(id, 16, errors), PMI2_FAIL); /* 68 */
    assert_true(errors[0] == 0 && errors[1] == 2 && errors[2] == 2);
    assert_int_equal(do_spawn(id, 16, errors), PMI2_FAIL);
    assert_int_equal(errors[1], 5);
    assert_int_equal(do_spawn(id, 0, errors), PMI2_ERR_INVALID_LENGTH);
    end();
}

static void pmi2_88_29_spawn_refused_here(void **state)
{
    static const struct step steps[] = {HYDRA_INIT, FINALIZE};
    const char *commands[] = {"prog"}, *list[] = {"a", NULL}, **arguments[] = {list};
    int counts[] = {2}, negative[] = {-1}, one[] = {1};
    const struct MPID_Info *none[] = {NULL};
    char id[16];

    start(steps, COUNT(steps), false);
#define JOB(argcs, processes, infos, preputs)                                                    \
    PMI2_Job_Spawn(1, commands, argcs, arguments, processes, infos, none, preputs, none, id, 16, \
                   NULL)
    assert_int_equal(JOB(counts, one, NULL, 0), PMI2_ERR_INVALID_ARGS);
    assert_int_equal(JOB(negative, one, NULL, 0), PMI2_ERR_INVALID_NUM_ARGS);
    assert_int_equal(JOB(one, negative, NULL, 0), PMI2_ERR_INVALID_SIZE);
    assert_int_equal(JOB(one, one, one, 0), PMI2_ERR_INVALID_KEYVALP);
    assert_int_equal(JOB(one, one, NULL, 1), PMI2_ERR_INVALID_KEYVALP);
    assert_int_equal(JOB(one, NULL, NULL, 0), PMI2_ERR_INVALID_ARG);
    end();
}

/* ---- two threads ------------------------------------------------------------------------------
 */

static void *spawn_thread(void *code)
{
    char id[16];

    *(int *)code = do_spawn(id, 16, NULL);
    return NULL;
}

/* What a script of that server makes of a spawn that waits while others go on. */
static void overlap(const struct step *steps, size_t count)
{
    int code = -1, i;
    pthread_t thread;

    start(steps, count, false);
    assert_int_equal(pthread_create(&thread, NULL, spawn_thread, &code), 0);
    script_wait(3); /* init, fullinit, and the spawn, which waits */
    for (i = 0; i < 2; i++)
        assert_int_equal(PMI2_KVS_Put("k", "v"), 0);
    pthread_join(thread, NULL);
    assert_int_equal(code, 0);
    end();
}

static void pmi2_69_spawn_waits_alone(void **state)
{
    static const struct step ours[] = {
        OUR_INIT,
        {"cmd=spawn;thrid=1;" SPAWN, NULL},
        {"cmd=kvs-put;thrid=2;key=k;value=v;", "cmd=kvs-put-response;thrid=2;rc=0;"},
        {"cmd=kvs-put;thrid=3;key=k;value=v;", "cmd=kvs-put-response;thrid=3;rc=0;"},
        {NULL, "cmd=spawn-response;thrid=1;rc=0;jobid=1.1;nerrs=0;"},
        FINALIZE,
    };
    static const struct step hydra[] = {
        HYDRA_INIT,
        {"cmd=spawn;" SPAWN, NULL},
        {"cmd=kvs-put;thrid=1;key=k;value=v;", "cmd=kvs-put-response;thrid=1;rc=0;"},
        {"cmd=kvs-put;thrid=2;key=k;value=v;", "cmd=kvs-put-response;thrid=2;rc=0;"},
        {NULL, "cmd=spawn-response;rc=0;jobid=1.1;nerrs=0;"},
        FINALIZE,
    };

    overlap(ours, COUNT(ours));
    overlap(hydra, COUNT(hydra));
}

/* Slurm does not repeat it: found out at the first put; the second waits for the spawn. */
static void pmi2_82_no_thrid(void **state)
{
    static const struct step slurm[] = {
        SLURM_INIT,
        {"cmd=spawn;" SPAWN, NULL},
        {"cmd=kvs-put;thrid=1;key=k;value=v;", "cmd=kvs-put-response;rc=0;"},
        {NULL, "cmd=spawn-response;rc=0;jobid=1.0-1;errcodes=0,0,0;"},
        {"cmd=kvs-put;key=k;value=v;", "cmd=kvs-put-response;rc=0;"},
        FINALIZE,
    };

    overlap(slurm, COUNT(slurm));
}

static void *wait_thread(void *code)
{
    char text[16];
    int found = 0;

    *(int *)code = PMI2_Info_GetNodeAttr("later", text, 16, &found, 1);
    if (*(int *)code == 0 && (!found || strcmp(text, "here") != 0))
        *(int *)code = -2;
    return NULL;
}

static void pmi2_53_waiting_get_delays_nobody(void **state)
{
    static const struct step steps[] = {
        OUR_INIT,
        {"cmd=info-getnodeattr;thrid=1;key=later;wait=TRUE;", NULL},
        {"cmd=kvs-put;thrid=2;key=k;value=v;", "cmd=kvs-put-response;thrid=2;rc=0;"},
        {"cmd=kvs-fence;thrid=3;", "cmd=kvs-fence-response;thrid=3;rc=0;"},
        {NULL, "cmd=info-getnodeattr-response;thrid=1;found=TRUE;value=here;rc=0;"},
        FINALIZE,
    };
    int code = -1;
    pthread_t thread;

    start(steps, COUNT(steps), false);
    assert_int_equal(pthread_create(&thread, NULL, wait_thread, &code), 0);
    script_wait(3); /* init, fullinit, and the get, which waits */
    assert_int_equal(PMI2_KVS_Put("k", "v"), 0);
    assert_int_equal(PMI2_KVS_Fence(), 0);
    pthread_join(thread, NULL);
    assert_int_equal(code, 0);
    end();
}

/* ---- versions, authentication, the end ----------------------------------------------------------
 */

static void pmi2_22_old_server(void **state)
{
    static const struct step refuse[] = {
        {"cmd=init pmi_version=2 pmi_subversion=0\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"},
    };
    int version = -1, subversion = -1;

    script_start(refuse, 1, false);
    assert_int_equal(join(), PMI2_FAIL);
    assert_true(size == -7 && rank == -7); /* only the version is told */
    assert_int_equal(PMI2X_Server_version(&version, &subversion), 0);
    assert_true(version == 1 && subversion == 1);
    assert_int_equal(PMI2_Initialized(), 0);
    script_end();
}

/* D-25; and T-9: values with spaces. */
static void pmi2_107_on_pmi1(void **state)
{
    static const struct step steps[] = {
        {"cmd=init pmi_version=2 pmi_subversion=0\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=1\n"},
        {"cmd=init pmi_version=1 pmi_subversion=1\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
        {"cmd=get_appnum\n", "cmd=appnum appnum=4\n"},
        {"cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_1\n"},
        {"cmd=put kvsname=kvs_1 key=k value=plain%20\n", "cmd=put_result rc=0 msg=success\n"},
        {"cmd=put kvsname=kvs_1 key=k value=%!a%20b%25-\n", "cmd=put_result rc=0 msg=success\n"},
        {"cmd=barrier_in\n", "cmd=barrier_out\n"},
        {"cmd=get kvsname=kvs_1 key=k\n", "cmd=get_result rc=0 msg=success value=%!a%20b%25-\n"},
        {"cmd=get kvsname=kvs_1 key=x\n",
         "cmd=get_result rc=-1 msg=key_x_not_found value=unknown\n"},
        {"cmd=get_universe_size\n", "cmd=universe_size size=-1\n"},
        {"cmd=publish_name service=s port=p\n",
         "cmd=publish_result info=ok rc=1 msg=key_already_present\n"},
        {"cmd=lookup_name service=s\n", "cmd=lookup_result info=fail\n"},
        {"mcmd=spawn\nnprocs=1\nexecname=prog\ntotspawns=2\nspawnssofar=1\narg1=a1\narg2=a 2\n"
         "argcnt=2\npreput_num=1\npreput_key_0=P\npreput_val_0=tag#0\ninfo_num=1\n"
         "info_key_0=wdir\ninfo_val_0=/t\nendcmd\nmcmd=spawn\nnprocs=2\nexecname=prog2\n"
         "totspawns=2\nspawnssofar=2\nargcnt=0\npreput_num=1\npreput_key_0=P\n"
         "preput_val_0=tag#0\ninfo_num=0\nendcmd\n",
         "cmd=spawn_result rc=0\n"},
        {"cmd=finalize\n", "cmd=finalize_ack\n"},
    };
    int length, found, errors[3];
    char text[32];

    setenv("PMI2X_FALLBACK_V1", "1", 1);
    start(steps, COUNT(steps), false);
    unsetenv("PMI2X_FALLBACK_V1");
    assert_true(size == 3 && rank == 1 && appnum == 4);
    assert_int_equal(PMI2_Job_GetId(text, 32), 0);
    assert_string_equal(text, "kvs_1");
    assert_int_equal(PMI2_KVS_Put("k", "plain%20"), 0);
    assert_int_equal(PMI2_KVS_Put("k", "a b%-"), 0);
    assert_int_equal(PMI2_KVS_Fence(), 0);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 32, &length), 0);
    assert_string_equal(text, "a b%-");
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "x", text, 32, &length), PMI2_ERR_OTHER);
    assert_int_equal(PMI2_Info_GetJobAttr("universeSize", text, 32, &found), 0);
    assert_false(found);
    assert_int_equal(PMI2_Info_GetNodeAttr("a", text, 32, &found, 0), 0);
    assert_false(found);
    assert_int_equal(PMI2_Info_PutNodeAttr("a", "b"), PMI2_FAIL);
    assert_int_equal(PMI2_Nameserv_publish("s", NULL, "p"), PMI2_FAIL);
    assert_int_equal(PMI2_Nameserv_lookup("s", NULL, text, 32), PMI2_FAIL);
    assert_int_equal(do_spawn(text, 32, errors), 0);
    end();
}

/* HMAC-SHA-256("0123456789abcdef0123456789abcdef", "nonce-1" NUL "1.0" NUL "1"), by openssl dgst.
 */
static void pmi2_111_challenge(void **state)
{
    static const struct step steps[] = {
        {"cmd=init pmi_version=2 pmi_subversion=0\n",
         "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"},
        {"cmd=fullinit;pmijobid=1.0;pmirank=1;threaded=TRUE;authtype=challenge-hmac-sha256;"
         "cli-caps=strict-fence,thrid,escape,getall;",
         "cmd=auth-response;authinfo=nonce-1;"},
        {"cmd=auth-response-complete;authinfo="
         "1de2f8b006a867ba314e8bfd70494cb850fcec280c05873b67aaf22e3204defc;",
         "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=3;appnum=0;rc=0;"},
        FINALIZE,
    };
    char number[16];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "0123456789abcdef0123456789abcdef", 32), 32);
    close(ends[1]);
    snprintf(number, sizeof(number), "%d", ends[0]);
    setenv("PMI_KEY_FD", number, 1);
    setenv("PMI_JOBID", "1.0", 1);
    start(steps, COUNT(steps), false);
    unsetenv("PMI_KEY_FD");
    unsetenv("PMI_JOBID");
    end();
    assert_int_equal(close(ends[0]), -1); /* it was read and closed */
}

static void pmi2_114_lost_connection(void **state)
{
    static const struct step steps[] = {HYDRA_INIT, {"cmd=kvs-fence;", NULL}};
    char text[64];

    start(steps, COUNT(steps), false);
    assert_int_equal(PMI2_KVS_Fence(), PMI2_FAIL); /* the script has ended */
    assert_true(PMI2X_Last_errmsg(text, 64) > 0);
    assert_int_equal(PMI2_KVS_Put("k", "v"), PMI2_FAIL);
    assert_int_equal(PMI2_Finalize(), PMI2_FAIL);
    assert_int_equal(PMI2_Initialized(), 0);
    script_end();
}

static void pmi2_116_fork(void **state)
{
    static const struct step steps[] = {
        HYDRA_INIT, {"cmd=kvs-put;key=k;value=v;", "cmd=kvs-put-response;rc=0;"}, FINALIZE};
    int status;
    pid_t child;

    start(steps, COUNT(steps), false);
    child = fork();
    if (child == 0)
        _exit(PMI2_KVS_Put("k", "child") == PMI2_ERR_INIT && PMI2_Finalize() == PMI2_ERR_INIT &&
                      PMI2_Init(&spawned, &size, &rank, &appnum) == PMI2_ERR_INIT &&
                      !PMI2_Initialized()
                  ? 0
                  : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(PMI2_KVS_Put("k", "v"), 0);
    end();
}

/* In a child, as it does not return. */
static void pmi2_19_abort(void **state)
{
    static const struct step steps[] = {HYDRA_INIT, {"cmd=abort;isworld=TRUE;msg=a\nb;", NULL}};
    int status;
    pid_t child;

    script_start(steps, COUNT(steps), false);
    child = fork();
    if (child == 0) {
        join();
        _exit(PMI2_Abort(3, "a\nb"));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    script_end();
}

static int wrapped_code, wrapped_count;

static int wrap(int lastcode, int fatal, const char *function, int line, int code,
                const char *generic, const char *specific)
{
    wrapped_code = code;
    return 1000 + code;
}

static void count_line(const char *text, void *context)
{
    wrapped_count++;
}

static void host_services(void **state)
{
    static const int on = 1;
    PMI2X_host_t host = {.size = sizeof(host),
                         .version = 1,
                         .err_create = wrap,
                         .dbg_out = count_line,
                         .dbg_classes = &on,
                         .dbg_level = &on};
    static const struct step steps[] = {
        HYDRA_INIT, {"cmd=kvs-put;key=k;value=v;", "cmd=kvs-put-response;rc=2;"}, FINALIZE};
    const PMI2X_api_t *api = PMI2X_Get_api(1);

    assert_null(PMI2X_Get_api(2));
    assert_true(api->size == sizeof(*api) && api->kvs_put == PMI2_KVS_Put);
    assert_int_equal(PMI2X_Set_host(&host), 0);
    start(steps, COUNT(steps), false);
    assert_int_equal(PMI2X_Set_host(NULL), PMI2_ERR_OTHER);
    assert_int_equal(api->kvs_put("k", "v"), 1002);
    assert_int_equal(wrapped_code, 2);
    end();
    assert_int_equal(wrapped_count, 2);
    host.size = 8;
    assert_int_equal(PMI2X_Set_host(&host), PMI2_ERR_INVALID_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_5_codes),
        cmocka_unit_test(pmi2_4_layout),
        cmocka_unit_test(pmi2_6_error_strings),
        cmocka_unit_test(pmi2_14_initialized),
        cmocka_unit_test(pmi2_18_init_goes_alone),
        cmocka_unit_test(pmi2_7_before_init),
        cmocka_unit_test(pmi2_11_singleton),
        cmocka_unit_test(pmi2_79_as_hydra),
        cmocka_unit_test(pmi2_80_as_slurm),
        cmocka_unit_test(pmi2_44_strict_fence_is_known),
        cmocka_unit_test(pmi2_35_pmi2_36_pmi2_37_truncation),
        cmocka_unit_test(pmi2_26_refused_here),
        cmocka_unit_test(pmi2_25_longest),
        cmocka_unit_test(pmi2_51_int_arrays),
        cmocka_unit_test(pmi2_70_spawn),
        cmocka_unit_test(pmi2_88_29_spawn_refused_here),
        cmocka_unit_test(pmi2_69_spawn_waits_alone),
        cmocka_unit_test(pmi2_82_no_thrid),
        cmocka_unit_test(pmi2_53_waiting_get_delays_nobody),
        cmocka_unit_test(pmi2_22_old_server),
        cmocka_unit_test(pmi2_107_on_pmi1),
        cmocka_unit_test(pmi2_111_challenge),
        cmocka_unit_test(pmi2_114_lost_connection),
        cmocka_unit_test(pmi2_116_fork),
        cmocka_unit_test(pmi2_19_abort),
        cmocka_unit_test(host_services),
    };
    static const char *const names[] = {"PMI_FD",   "PMI_PORT", "PMI_ID",    "PMI_JOBID",
                                        "PMI_RANK", "PMI_SIZE", "PMI_KEY_FD"};
    size_t i;

    for (i = 0; i < COUNT(names); i++)
        unsetenv(names[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
