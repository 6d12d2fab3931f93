/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The client library: spawns, overlapping calls, versions, authentication, and the end of a
 * session. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_common.h"

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

    clear_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
