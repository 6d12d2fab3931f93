/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cluster is the running form of a scenario. There is one at a time in a process, because there
 * is one simulation core.
 *
 *   cluster_create ──▶ cluster_run ──▶ (verdict, report) ──▶ cluster_destroy
 */
#ifndef JACQUARD_RUN_INTERNAL_H
#define JACQUARD_RUN_INTERNAL_H

#include <glib.h>
#include <jansson.h>
#include "aries/aries.h"
#include "cray/host.h"
#include "engine/fault.h"
#include "engine/ledger.h"
#include "engine/metrics.h"
#include "engine/random.h"
#include "engine/sim.h"
#include "legacy/network.h"
#include "net/net.h"
#include "run/workload.h"
#include "scenario/scenario.h"

#define FAILURE_TEXTS_MAX 32 /* kept per job */
#define OUT_OF_BAND_PS \
    (10 * SIM_US) /* duration of a barrier or an exchange after the last rank has arrived */
#define FOREIGN_STACK_BYTES (512u << 10) /* when the scenario does not say */
#define FOREIGN_STACKS_BYTES \
    (8ull << 40) /* address space for the stacks of all threads of all ranks */
#define EXIT_KILLED 137 /* the code that a shell reports for SIGKILL */
#define RANK_PID(id) (1000u + (id)) /* the process id that a rank sees */

struct cluster;
struct cluster_lnet;
struct foreign_process;
struct job;
struct oob;
struct pmi_rank;
struct port_process;
struct rank_variable;
struct sim_trace_sink;

/* Operations of a program with a main() of its own (foreign/). The program sets them in its rank
 * when it starts. */
struct program_operations {
    void (*end)(struct rank *rank); /* the rank has ended or was killed: stops its threads */
    void (*free)(struct rank *rank); /* called when nothing can reach the rank's memory any more */
    const char *(*getenv)(const struct rank *rank, const char *name); /* NULL: not set */
};

enum rank_state { RANK_WAITING, RANK_RUNNING, RANK_ENDED, RANK_KILLED };

struct rank {
    struct job *job;
    struct app *app;
    struct sim_fiber *fiber;
    struct aries_process *process; /* NULL on switched networks and after the end */
    struct sim_event reap; /* ends a killed rank, in an event of its own */
    struct sim_random random;
    struct sim_timer alarm;
    struct cray_process cray; /* the process as sim/cray sees it */
    struct pmi_rank *pmi; /* NULL until it uses PMI */
    const struct program_operations *operations; /* NULL: it executes a workload */
    struct foreign_process *foreign; /* it executes a foreign program; NULL: a workload */
    struct port_process *port; /* state of the stacks; NULL until the rank calls one */
    struct rank_variable *variables; /* variables of its environment that it has read */
    struct rank_thread *threads; /* besides the first one */
    uint32_t threads_started;
    struct sim_fiber *gatherer; /* the thread that is in a barrier or exchange */
    bool rang;
    uint32_t id, node, on_node;
    uint32_t trace_index; /* of its track on the node */
    int exit_code;
    enum rank_state state;
    bool gathering; /* inside a barrier or exchange */
    struct sim_fiber *freezer; /* of a process that ends: has the kernel's locks; NULL: none */
    bool released; /* the kernel released what it had left: its memory stays */
    const char *killed; /* why, interned */
    sim_time_t killed_at, left_at;
};

/* A metric by the name that a workload uses; found by pointer first. */
struct job_metric {
    const char *name;
    struct sim_metric *metric;
};

/* The barrier and the exchange of a job. There are two buffers, because a fast rank may enter the
 * next exchange before a slow one has left this one. */
struct gather {
    struct sim_event release;
    uint64_t generation;
    uint32_t arrived;
    bool releasing;
    uint8_t *buffers[2];
    size_t bytes[2]; /* of one rank's part */
    bool filled[2]; /* all parts have been written */
    bool kept[2]; /* belongs to the cluster's memory, not to be freed here */
};

/* Consecutive ranks of a job that execute one program. */
struct app {
    const struct scenario_job *scenario;
    const struct workload *workload;
    const struct value *values; /* of the workload's arguments */
    char **argv; /* spawned with these; NULL: as the scenario says */
    struct value *own_values; /* `values`, made from argv; NULL: the scenario's */
    uint32_t rank_count;
    uint32_t place; /* index of its first rank in the scenario's job; ranks of the same spawn come
                       before */
    struct job_metric metrics[64];
    size_t metric_count;
};

struct job {
    struct cluster *cluster;
    char *name; /* the scenario's; spawned: "<name>#<n>" */
    char pmi_id[16]; /* what PMI calls it */
    struct app *apps; /* one, unless spawned */
    uint32_t app_count;
    const struct job *spawner; /* NULL: the scenario's own */
    bool launched; /* spawned: a rank of it has run */
    bool not_started; /* not all ranks could be started; the spawner has got an error, and the job
                         does not exist */
    struct rank *ranks;
    uint32_t rank_count, running, killed;
    uint32_t first; /* ranks of the cluster before those of this job */
    uint32_t ends_reported; /* of its ranks, to the servers of their nodes */
    uint8_t ptag;
    uint32_t cookie;
    struct cray_job cray;
    struct gather gather;
    char *failures[FAILURE_TEXTS_MAX];
    struct {
        uint32_t rank;
        sim_time_t at; /* on the rank's clock */
    } failed[FAILURE_TEXTS_MAX]; /* of each text in `failures` */
    uint64_t failure_count;
    uint64_t progress; /* calls of rank_progress */
    uint64_t progress_goal; /* an estimate from the arguments; 0: unknown */
    sim_time_t started, ended;
    int exit_code; /* of its first rank that failed */
};

/* A fault at a time. Disarmed when the last rank ends. */
struct timed_fault {
    struct sim_timer timer;
    struct cluster *cluster;
    const struct scenario_fault *scenario;
    struct sim_timer boot; /* reboot: when the node is back */
    bool injected;
};

struct waiter {
    char *name, *why;
    sim_time_t since;
};

/* A rank that crashed, or that computed without a call for too long (crash.c). */
struct cluster_crash {
    char *rank; /* its name */
    uint32_t node;
    sim_time_t time;
    const char *call; /* static: the API call in progress, or the last one; NULL: none */
    char *text;
    GPtrArray *backtrace; /* of char *, innermost first */
};

struct cluster_options {
    uint64_t seed;
    const char *trace; /* file to write; NULL: none */
    const char *trace_shown; /* its name in the report and in messages; NULL: trace */
    const struct sim_trace_sink *sink; /* gets each point of the trace; NULL: none */
    const char *tables; /* folder that gets links.csv and histograms.csv; NULL: none */
    void (*tick)(
        void *arg,
        const struct cluster *cluster); /* called now and then during the run; NULL: none */
    void *tick_arg;
};

/* A network, by the name that the scenario gives it. */
struct cluster_network {
    const struct scenario_network *scenario;
    const char *name;
    struct net *net;
    struct aries_fabric *aries; /* its NICs; NULL: switched networks have none */
    struct legacy_network *legacy; /* the devices of its kind; NULL: it is of none */
    struct sim_fault_point packet_point; /* unused by the first network, which has "net.packet" */
    char *packet_point_name;
    uint32_t first_router; /* number of its router 0 in the trace */
};

/* What attaches a node to a network: an Aries NIC, or a port of a switch. */
struct cluster_device {
    struct cluster_network *network;
    uint32_t endpoint; /* of the network */
};

enum { CLUSTER_KERNEL_SLOTS = 1, CLUSTER_KERNEL_BOOKS = 2, CLUSTER_BOOKS = 9 };

struct cluster_node {
    struct cluster_device *devices; /* in the order of their networks; at most one for each */
    uint32_t device_count;
    bool down; /* it has crashed, and its kernel with it */
    void *kernel[CLUSTER_KERNEL_SLOTS]; /* port_host_slot() */
    struct libcfs_node *libcfs; /* of a node without LNet; NULL: not used yet */
    int32_t booked[CLUSTER_KERNEL_BOOKS]; /* port_book(): what the kernel has */
};

struct cluster {
    const struct scenario *scenario;
    struct cluster_network *networks; /* the first one numbers the nodes */
    size_t network_count;
    struct cluster_node *nodes;
    uint32_t node_count;
    struct cluster_device *devices; /* of all nodes */
    struct job *jobs;
    size_t job_count;
    uint32_t rank_count, ranks_running;
    uint32_t jobs_max, ranks_max; /* including those that can be spawned */
    struct timed_fault *timed;
    size_t timed_count;
    /* after cluster_run */
    enum sim_outcome outcome;
    sim_time_t ended; /* virtual time at which the last rank ended, or the run */
    uint64_t digest, events, switches;
    double wall_seconds;
    struct waiter *waiters;
    size_t waiter_count;
    GPtrArray *crashes; /* of struct cluster_crash, in order */
    int interrupted; /* the signal that ended the run; 0: none */
    bool balanced;
    char *trace_path; /* as the user named it; NULL: none */
    struct cluster_options options;
    GPtrArray *memory; /* of rank_alloc */
    struct sim_ledger_book raw_book;
    struct sim_ledger_book books[CLUSTER_BOOKS]; /* port_book(); without a name: not used yet */
    GHashTable *pieces; /* port_piece_sent(): those that have not arrived; NULL: none was sent */
    struct sim_fault_point oob_message_point, oob_server_point;
    struct cluster_lnet *lnet; /* NULL: no node has LNet */
    struct oob *oob; /* servers of PMI; NULL until a rank uses it */
};

/*
 * Builds machine, processes and fibers; starts a simulation (sim_init). NULL: *error (g_free) is a
 * line for people, and there is no simulation. The scenario must outlive the cluster.
 */
struct cluster *cluster_create(const struct scenario *scenario,
                               const struct cluster_options *options, char **error);
/* Runs to the end and closes the books. False: the trace could not be written; *error (g_free) is a
 * line. */
bool cluster_run(struct cluster *cluster, char **error);
void cluster_destroy(struct cluster *cluster); /* ends the simulation (sim_fini) */

/* The networks (network.c). False: *error (g_free) is a line; call cluster_networks_destroy() in
 * that case, too. */
bool cluster_networks_create(struct cluster *cluster, char **error);
void cluster_networks_destroy(struct cluster *cluster);
void cluster_networks_publish(const struct cluster *cluster); /* their counters, as metrics */
/* A node's device on the network of that number; NULL: it is not attached. */
const struct cluster_device *cluster_device(const struct cluster *cluster, uint32_t node,
                                            size_t network);
/* Takes the node's links to all networks but the first down, because the node has crashed, or up
 * again, because it has booted. */
void cluster_node_connect(struct cluster *cluster, uint32_t node, bool alive);

/* The network that numbers the nodes, and the Aries NICs on it; NULL: it is switched. */
static inline struct net *cluster_net(const struct cluster *cluster)
{
    return cluster->networks[0].net;
}
static inline struct aries_fabric *cluster_aries(const struct cluster *cluster)
{
    return cluster->networks[0].aries;
}

/* The jobs of the scenario (job.c). Spawnable ones are only made by cluster_job_spawn. */
void cluster_jobs_create(struct cluster *cluster);
void cluster_jobs_destroy(struct cluster *cluster); /* their code stops */
void cluster_jobs_free(
    struct cluster *cluster); /* when nothing can reach the memory of ranks any more */
/* Computes the limits of the cluster, including all jobs that may be spawned. */
void cluster_jobs_limits(struct cluster *cluster);
/* Creates a job and takes ownership of `apps`. Each rank runs after rank_launch(); all count as
 * running at once. */
struct job *cluster_job_spawn(struct cluster *cluster, const struct job *spawner, struct app *apps,
                              uint32_t app_count);
bool rank_launch(struct rank *rank); /* false: no stack is left */
uint32_t cluster_app_node(const struct app *app, uint32_t index); /* of one of its ranks */
/* Ranks of a job on a node, ascending within each program. */
void cluster_job_for_each_rank_on(struct job *job, uint32_t node,
                                  void (*visit)(struct rank *rank, void *arg), void *arg);
uint32_t cluster_job_ranks_on(struct job *job, uint32_t node); /* how many */
void cluster_apps_free(struct app *apps, uint32_t count);

/* The rank of this name, such as "app.3"; NULL: none. */
struct rank *cluster_rank_called(const struct cluster *cluster, const char *name);
/* Ends a rank from outside: its node crashed, or the error policy killed its process. */
void rank_kill(struct rank *rank, const char *why);
/* The same for a rank whose running fiber has crashed; returns, and the fiber must not go on. */
void rank_crash(struct rank *rank, const char *why, int exit_code);
/* Ends the calling rank with this exit code, from any of its threads. */
_Noreturn void rank_exit(struct rank *rank, int code);
struct rank *rank_self(void); /* the rank of the running fiber; NULL: none */
void rank_bind(struct rank *rank, struct sim_fiber *fiber); /* it is a thread of that rank */
/* Called when a rank has returned or was killed. */
void rank_left(struct rank *rank);
void rank_start(struct rank *rank,
                sim_time_t at); /* rank->fiber is NULL afterwards if no stack is left */
void rank_wake(struct rank *rank); /* all its threads check what they wait for */
bool rank_runs_here(const struct rank *rank); /* one of its threads is the running fiber */
void rank_threads_kill(struct rank *rank); /* all but the first */
/* Before that: completes the system calls of its threads. True: this takes a while, and schedules
 * the rank's event `reap` then. */
bool rank_freeze(struct rank *rank);
void rank_gather_check(struct job *job); /* releases the ranks that wait for a killed rank */

/* The environment of a rank (environment.c): what a launcher exports, then `env:` of its job. */
void rank_for_each_variable(const struct rank *rank,
                            void (*visit)(void *arg, const char *name, const char *value),
                            void *arg);
const char *rank_variable(struct rank *rank, const char *name); /* NULL: not set */

/* Zeroed memory that lives as long as the cluster, because it may be used after the rank has ended.
 */
void *rank_alloc(struct rank *rank, size_t bytes);
struct sim_ledger_book *
rank_raw_book(struct rank *rank); /* the book of raw_messages; the first call registers it */

/* ALPS and its like answer for the ranks (cray_host.c). */
void cluster_cray_begin(struct cluster *cluster);
void cluster_cray_job(struct job *job);
void cluster_cray_rank(struct rank *rank);
void cluster_cray_end(struct cluster *cluster);

/* Registers the rules of all layers (engine/finding.h); before a scenario is loaded. */
void cluster_findings_register(void);

/* Between the two, a rank that crashes is killed and recorded, and the run goes on (crash.c). */
void cluster_crash_begin(struct cluster *cluster);
void cluster_crash_end(void);
GPtrArray *cluster_crashes_new(void);
void cluster_crash_register(void); /* its rules */
/* One line for each address, without the frames below the program's own (symbols.c); g_free().
 * `program` is the file of addresses in a private copy. */
void cluster_symbols(void *const *addresses, unsigned count, const char *program, GPtrArray *lines);

bool cluster_faults_create(struct cluster *cluster, char **error);
void cluster_faults_disarm(struct cluster *cluster);

#endif
