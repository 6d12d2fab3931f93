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
#include "client_common.h"

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
    assert_int_equal(PMI2_KVS_Put("k;0", "v"), PMI2_ERR_INVALID_KEY); /* nothing is sent */
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

static void pmi2_78_pmi2_79_as_hydra(void **state)
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

static void pmi2_78_pmi2_80_as_slurm(void **state)
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
        cmocka_unit_test(pmi2_78_pmi2_79_as_hydra),
        cmocka_unit_test(pmi2_78_pmi2_80_as_slurm),
        cmocka_unit_test(pmi2_44_strict_fence_is_known),
        cmocka_unit_test(pmi2_35_pmi2_36_pmi2_37_truncation),
        cmocka_unit_test(pmi2_26_refused_here),
        cmocka_unit_test(pmi2_25_longest),
        cmocka_unit_test(pmi2_51_int_arrays),
    };
    clear_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
