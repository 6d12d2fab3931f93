/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The scenario language: every field, once. docs/scenario-reference.md is generated from these
 * tables. */
#include "fields.h"

/* ---- fabric ---------------------------------------------------------------------------------- */

#define F struct scenario_network
#define NETWORK_FIELDS                                                                               \
    {"kind", CHOICE(F, kind), .choices = NETWORK_KINDS, .fallback = "none",                          \
     .meaning = "a small network of the Madeleine II paper: a single switch whose devices and "      \
                "times are those of the kind's model"},                                              \
        {"topology", CHOICE(F, topology), .choices = "dragonfly|single-switch|fat-tree",             \
         .fallback = "dragonfly",                                                                    \
         .meaning = "a Cray XC dragonfly with Aries NICs, or a switched network (Ethernet or "       \
                    "InfiniBand class) without; default: dragonfly, with a kind single-switch"},     \
        {"preset", STRING(F, preset), .syntax = "a name of `sim-run --list-presets`",                \
         .meaning = "dragonfly: a known machine; excludes groups, chassis, slots, cables"},          \
        {"groups", COUNT(F, groups), .minimum = "1", .maximum = "241",                               \
         .meaning = "dragonfly: electrical groups"},                                                 \
        {"chassis", COUNT(F, chassis), .minimum = "1", .maximum = "6",                               \
         .meaning = "dragonfly: chassis of a group"},                                                \
        {"slots", COUNT(F, slots), .minimum = "1", .maximum = "16",                                  \
         .meaning = "dragonfly: blades (Aries routers) of a chassis"},                               \
        {"cables", COUNT(F, cables), .minimum = "0", .maximum = "240",                               \
         .meaning = "dragonfly: optical cables between two groups"},                                 \
        {"nodes",          COUNT(F, nodes),                                                          \
         .minimum = "2",   .maximum = "65536",                                                       \
         .fallback = "16", .meaning = "switched: endpoints"},                                        \
        {"radix",          COUNT(F, radix),                                                          \
         .minimum = "2",   .maximum = "1024",                                                        \
         .fallback = "32", .meaning = "fat-tree: ports of a switch, half of them to endpoints"},     \
        {"link_rate_GBps",   REAL(F, link_rate_GBps),                                                \
         .minimum = "0.001", .maximum = "1000",                                                      \
         .fallback = "12.5", .meaning = "switched: rate of a link in GB/s (12.5 is 100 Gb/s)"},      \
        {"link_latency",  TIME(F, link_latency), .minimum = "1ps",                                   \
         .maximum = "1s", .fallback = "100ns",   .meaning = "switched: propagation time of a link"}, \
        {"switch_latency",    TIME(F, switch_latency),                                               \
         .minimum = "0",      .maximum = "1s",                                                       \
         .fallback = "200ns", .meaning = "switched: port to port in a switch"},                      \
        {"fidelity", CHOICE(F, fidelity), .choices = "F0|F1|F2", .fallback = "F1",                   \
         .meaning =                                                                                  \
             "F0: closed form, no contention; F1: messages in chunks that reserve links; F2: "       \
             "packets, virtual channels, credits (dragonfly)"},                                      \
        {"profile", STRING(F, profile), .syntax = "xc40_hsw, xc30_snb, xc40_knl",                    \
         .meaning = "dragonfly: the hosts; default is the preset's own, else xc40_hsw"},             \
    {                                                                                                \
        "params", FREE(F, params),                                                                   \
            .syntax = "a mapping; names of `sim-run --list-params`, flat (`aries.nic.tx_ns: 40`) "   \
                      "or nested",                                                                   \
            .json = JSON_MAPPING("true"),                                                            \
            .meaning =                                                                               \
                "dragonfly: values of the model that differ from the profile's; with a kind: "       \
                "from the model's"                                                                   \
    }

static const struct field fabric_fields[] = {
    {"name", STRING(F, name), .syntax = "letters, digits, - and _, starting with a letter",
     .meaning = "of the network; default aries, or switched"},
    NETWORK_FIELDS,
    {NULL},
};
static const struct field network_fields[] = {
    {"name", STRING(F, name), .required = true,
     .syntax = "letters, digits, - and _, starting with a letter; unique",
     .meaning = "what jobs, faults and metrics call it"},
    {"attached", NODES(F, attached),
     .meaning =
         "the nodes with a port, in the order of the ports; default: from node 0 on, as many "
         "as `nodes` says. The first network has all nodes"},
    NETWORK_FIELDS,
    {NULL},
};
#undef F
static const struct schema fabric_schema = {.name = "fabric",
                                            .meaning = "The machine.",
                                            .size = sizeof(struct scenario_network),
                                            .fields = fabric_fields};
static const struct schema network_schema = {
    .name = "network",
    .meaning = "One of several networks. The first one numbers the nodes, and only that can be a "
               "dragonfly. A node has a device on each network that it is attached to.",
    .size = sizeof(struct scenario_network),
    .fields = network_fields};

#define L struct scenario_limits
static const struct field limits_fields[] = {
    {"virtual_time", TIME(L, virtual_time), .maximum = "1000000s", .fallback = "0",
     .meaning = "end the run at this virtual time; 0: never"},
    {"no_progress", TIME(L, no_progress), .maximum = "1000000s", .fallback = "100s",
     .meaning =
         "end the run after so much virtual time in which no rank achieved anything; 0: never"},
    {"no_progress_events", COUNT(L, no_progress_events), .fallback = "0",
     .meaning = "the same in events; 0: 1,000,000,000"},
    {"compute", TIME(L, compute), .minimum = "100ms", .maximum = "1000000s", .fallback = "10s",
     .meaning = "kill a rank that makes no call for this time of the host's clock (exit code 1)"},
    {"stack", BYTES(L, stack), .minimum = "16KiB", .maximum = "8MiB", .fallback = "64KiB",
     .meaning = "stack of a rank (address space; memory is used as it is touched)"},
    {"threads", COUNT(L, threads), .minimum = "1", .maximum = "1000000", .fallback = "4096",
     .meaning = "a program's rank may have so many at a time, with its first one; pthread_create() "
                "fails with EAGAIN for more. Compiled-in workloads together: four for each rank, "
                "and twice this number"},
    {"parking", CHOICE(L, parking), .choices = "own|all|off", .fallback = "own",
     .meaning = "whose idle polls are left out while they repeat themselves; own: those of the "
                "workloads; all: of programs, too, which must not count them; off: each is "
                "simulated, which takes longer"},
    {NULL},
};
#undef L
static const struct schema limits_schema = {
    .name = "limits",
    .meaning = "What ends a run that does not end by itself (exit code 3).",
    .size = sizeof(struct scenario_limits),
    .fields = limits_fields};

/* ---- out of band ----------------------------------------------------------------------------- */

#define O struct scenario_oob
static const struct field oob_fields[] = {
    {"fan_out", COUNT(O, fan_out), .minimum = "1", .maximum = "1024", .fallback = "16",
     .meaning = "servers below each server of PMI, and below the launcher"},
    {"local_latency", TIME(O, local_latency), .maximum = "1s", .fallback = "10us",
     .meaning = "from a rank to the server of its node, or back"},
    {"hop_latency", TIME(O, hop_latency), .maximum = "1s", .fallback = "30us",
     .meaning = "from a server to the one above or below"},
    {"rate_GBps", REAL(O, rate_GBps), .minimum = "0", .maximum = "1000", .fallback = "0.125",
     .meaning = "at which a server sends to others, in GB/s (0.125 is 1 Gb/s); 0: without limit"},
    {"frame_time", TIME(O, frame_time), .maximum = "1s", .fallback = "2us",
     .meaning = "a server is busy with each message that comes, and with each that goes"},
    {"exec_time", TIME(O, exec_time), .maximum = "100s", .fallback = "1ms",
     .meaning = "spawned ranks: fork and exec; those of a node start one after the other"},
    {NULL},
};
#undef O
static const struct schema oob_schema = {
    .name = "oob",
    .meaning = "The network that start-up and PMI use instead of the fabric: one server on each "
               "node with ranks, the launcher above them.",
    .size = sizeof(struct scenario_oob),
    .fields = oob_fields};

/* ---- live ------------------------------------------------------------------------------------ */

#define L struct scenario_live
static const struct field live_fields[] = {
    {"latency", CHOICE(L, latency), .choices = "machine|model", .fallback = "machine",
     .meaning = "machine: as fast as this one can; model: a transaction takes at least the time of "
                "the model without contention"},
    {NULL},
};
#undef L
static const struct schema live_schema = {
    .name = "live",
    .meaning = "What only fabrics for real processes read (live.md).",
    .size = sizeof(struct scenario_live),
    .fields = live_fields};

/* ---- jobs ------------------------------------------------------------------------------------ */

#define P struct scenario_placement
static const struct field placement_fields[] = {
    {"policy", CHOICE(P, policy), .choices = "linear|random|per-group", .fallback = "linear",
     .meaning = "consecutive nodes; distinct random nodes; or one node of each group in turn"},
    {"count", COUNT(P, count), .required = true, .minimum = "1", .maximum = "262143",
     .meaning = "number of nodes"},
    {"first", COUNT(P, first), .maximum = "262143", .fallback = "0",
     .meaning = "linear: the first node"},
    {"seed", COUNT(P, seed), .maximum = SEED_MAX_TEXT, .fallback = "0",
     .meaning = "random: changes the choice; the scenario's own seed does not"},
    {NULL},
};
#undef P
static const struct schema placement_schema = {.name = "placement",
                                               .meaning = "Chooses the nodes of a job.",
                                               .size = sizeof(struct scenario_placement),
                                               .fields = placement_fields};

#define J struct scenario_job
static const struct field job_fields[] = {
    {"name", STRING(J, name), .required = true,
     .syntax = "letters, digits, - and _, starting with a letter; unique",
     .meaning = "its metrics are called `<name>.<metric>`"},
    {"nodes", NODES(J, nodes),
     .meaning = "the nodes, in the order of the ranks; this or `placement`"},
    {"placement", RECORD(scenario_placement, J, placement), .of = &placement_schema,
     .meaning = "a rule that chooses the nodes"},
    {"network", STRING(J, network), .syntax = "a name of `networks`",
     .meaning = "which one raw_messages uses; default: the first"},
    {"ranks_per_node", COUNT(J, ranks_per_node), .minimum = "1", .maximum = "256", .fallback = "1",
     .meaning = "consecutive ranks share a node"},
    {"ranks", COUNT(J, ranks_cap), .minimum = "1", .maximum = "131072",
     .meaning = "start only so many ranks"},
    {"workload", STRING(J, workload_name), .syntax = "a name of `sim-run --list-workloads`",
     .meaning = "the program; this or `program`"},
    {"program", STRING(J, program), .syntax = "a path, relative to the scenario file",
     .meaning = "a shared object with a workload of your own, or a program with main() "
                "(foreign-programs.md)"},
    {"args", FREE(J, args), .syntax = "a mapping; the arguments of the workload",
     .json = JSON_MAPPING(JSON_SCALAR), .meaning = "see `sim-run --list-workloads`"},
    {"argv", FREE(J, argv), .syntax = "a list of texts", .json = JSON_SCALARS,
     .meaning = "arguments of a program with main(), after its name"},
    {"env", FREE(J, env), .syntax = "a mapping: variable to text",
     .json = JSON_MAPPING(JSON_SCALAR),
     .meaning = "its environment, besides what a launcher exports; of a workload, what its "
                "libraries see"},
    {"start", TIME(J, start), .maximum = "1000000s", .fallback = "0",
     .meaning = "virtual time at which the ranks start"},
    {"spawnable", BOOL(J, spawnable), .fallback = "false",
     .meaning =
         "does not start by itself: PMI2_Job_Spawn with its name as command starts ranks of "
         "it on its nodes, any number of times, as many at a time as `ranks` says (pmi2.md)"},
    {"privileged", BOOL(J, privileged), .fallback = "false",
     .meaning = "its processes run as root: GNI_ConfigureJob, GNI_SuspendJob, GNI_SetBIConfig and "
                "the like are allowed"},
    {NULL},
};
#undef J
static const struct schema job_schema = {.name = "job",
                                         .meaning = "Ranks that execute one program.",
                                         .size = sizeof(struct scenario_job),
                                         .fields = job_fields};

/* ---- expectations ---------------------------------------------------------------------------- */

#define E struct scenario_expectation
#define NUMBER_SYNTAX "a number, a time (40us) or a size (4KiB); bandwidths in B/s"
#define LIMIT_FIELDS                                                               \
    {"below", STRING(E, below), .syntax = NUMBER_SYNTAX,                           \
     .meaning = "holds when the value is less"},                                   \
        {"above", STRING(E, above), .syntax = NUMBER_SYNTAX,                       \
         .meaning = "holds when the value is more"},                               \
    {                                                                              \
        "equals", STRING(E, equals), .syntax = NUMBER_SYNTAX,                      \
                                     .meaning = "holds when the value is the same" \
    }
#define W struct scenario_within
static const struct field within_fields[] = {
    {"value", REAL(W, value), .required = true,
     .meaning = "in the metric's unit (ps, B/s, 1/s, count)"},
    {"percent", REAL(W, percent), .required = true, .minimum = "0", .maximum = "1000",
     .meaning = "of the value"},
    {NULL}};
#undef W
static const struct schema within_schema = {.name = "within",
                                            .meaning = "A value and how far one may be from it.",
                                            .size = sizeof(struct scenario_within),
                                            .fields = within_fields};
static const struct field expect_ledger_fields[] = {
    {"ledger", CHOICE(E, ledger), .required = true, .choices = "balanced|broken",
     .meaning = "without this line, a run that ends must be balanced"},
    {NULL}};
static const struct field expect_metric_fields[] = {
    {"metric", STRING(E, metric), .required = true,
     .syntax = "`<job>.<metric>.<field>`, or one of `net.`, `aries.`, `lnet.`, `pmi.`, `engine.`",
     .meaning = "fields of a histogram: count min max mean sum p50 p90 p99 p999"},
    LIMIT_FIELDS,
    {"within", RECORD(scenario_within, E, within), .of = &within_schema,
     .meaning = "holds when the value is near"},
    {NULL}};
static const struct field expect_outcome_fields[] = {
    {"outcome", CHOICE(E, outcome), .required = true, .choices = OUTCOMES,
     .meaning = "how the run ends; failed: all ranks ended and a job failed"},
    {NULL}};
static const struct field expect_fault_fields[] = {
    {"fault", STRING(E, fault), .required = true,
     .syntax = "`fired` (all of them), a label, or faults.0",
     .meaning = "it was injected at least once, or as often as the limits say"},
    LIMIT_FIELDS,
    {NULL}};
static const struct field expect_job_fields[] = {
    {"job", STRING(E, job), .required = true, .syntax = "a job's name", .meaning = "the job"},
    {"exit", STRING(E, exit), .required = true, .syntax = "0 to 255, any, or failed",
     .meaning = "exit code of the job (that of its first rank that failed; 137: killed); without "
                "this line 0 is expected"},
    {NULL}};
static const struct field expect_finding_fields[] = {
    {"finding", STRING(E, finding), .required = true, .syntax = "a rule of docs/findings.md",
     .meaning = "the rule was broken at least once, or as often as the limits say"},
    LIMIT_FIELDS,
    {NULL}};
static const struct field expect_findings_fields[] = {
    {"findings", FREE(E, findings), .required = true,
     .syntax = "a list of rules of docs/findings.md", .json = JSON_SCALARS,
     .meaning = "findings of these rules are allowed; without this line an error fails the run"},
    {NULL}};
#define VARIANT(id, key, text)                                                         \
    static const struct schema expect_##id##_schema = {.name = "expectation",          \
                                                       .meaning = text,                \
                                                       .size = sizeof(E),              \
                                                       .fields = expect_##id##_fields, \
                                                       .when = key}
VARIANT(ledger, "ledger", "The ledger's verdict.");
VARIANT(metric, "metric", "A measured value.");
VARIANT(outcome, "outcome", "How the run ends.");
VARIANT(fault, "fault", "How often a fault was injected.");
VARIANT(job, "job", "How a job ends.");
VARIANT(finding, "finding", "A mistake of a program that must be found.");
VARIANT(findings, "findings", "Mistakes of programs that are allowed.");
#undef VARIANT
static const struct schema *const expectation_variants[] = {
    &expect_ledger_schema, &expect_metric_schema,  &expect_outcome_schema,  &expect_fault_schema,
    &expect_job_schema,    &expect_finding_schema, &expect_findings_schema, NULL};
static const struct schema expectation_schema = {
    .name = "expectation",
    .meaning = "What must hold at the end (exit code 1 when it does not).",
    .size = sizeof(E),
    .variants = expectation_variants};
#undef E

/* ---- the document ---------------------------------------------------------------------------- */

#define S struct scenario
static const struct field scenario_fields[] = {
    {"name", STRING(S, name), .fallback = "unnamed", .meaning = "shown in reports"},
    {"description", STRING(S, description), .fallback = "",
     .meaning = "one line, shown in reports"},
    {"trace", STRING(S, trace), .fallback = "",
     .meaning = "file that a run on the screen (no `--json`, `--quiet`, `--out`, nor many runs) "
                "leaves its trace in; `--trace` names another"},
    {"seed", COUNT(S, seed), .maximum = SEED_MAX_TEXT, .fallback = "1",
     .meaning = "of all random numbers; `--seed` overrides it"},
    {"checks", CHOICE(S, checks), .choices = "on|off", .fallback = "on",
     .meaning = "whether programs are watched for the mistakes of docs/findings.md; off: faster, "
                "for measurements of this simulator"},
    {"fabric", RECORD(scenario_network, S, fabric), .of = &fabric_schema,
     .meaning = "the machine: one network"},
    {"networks", LIST(S, networks), .of = &network_schema,
     .meaning = "instead of `fabric`: any number of networks up to 16"},
    {"limits", RECORD(scenario_limits, S, limits), .of = &limits_schema,
     .meaning = "what ends a runaway"},
    {"oob", RECORD(scenario_oob, S, oob), .of = &oob_schema, .meaning = "the out-of-band network"},
    {"live", RECORD(scenario_live, S, live), .of = &live_schema,
     .meaning = "what only a live fabric reads"},
    {"lnet", RECORD(scenario_lnet, S, lnet), .of = &scenario_lnet_schema,
     .meaning = "Lustre's network on nodes"},
    {"jobs", LIST(S, jobs), .of = &job_schema,
     .meaning = "what runs; only a live fabric needs none"},
    {"faults", LIST(S, faults), .of = &scenario_fault_schema, .meaning = "what goes wrong"},
    {"expect", LIST(S, expectations), .of = &expectation_schema, .meaning = "what must hold"},
    {"sweep", FREE(S, sweep), .syntax = "a mapping from a path as of `--set` to a list of values",
     .json = JSON_SWEEP, .meaning = "one run for each combination of values"},
    {NULL},
};
#undef S
const struct schema scenario_schema = {.name = "scenario",
                                       .meaning = "The document.",
                                       .size = sizeof(struct scenario),
                                       .fields = scenario_fields};

char *scenario_reference(void)
{
    GString *out = g_string_new(
        "<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->\n"
        "<!-- Generated by `sim-run --schema-markdown`; do not edit. -->\n"
        "# Scenario reference\n\n"
        "A scenario is one YAML document of at most 1 MiB. It is checked whole before anything "
        "starts. An error is one\n"
        "line, `file:line: field: what is wrong; what is allowed`, and exit code 2. Fields are "
        "named by paths with\n"
        "dots and, in lists, numbers from 0 or the item's `name` or `label`: `jobs.0.args.bytes`, "
        "`faults.loss.count`. The same\n"
        "paths serve `--set` and `sweep`. Anchors and aliases work.\n\n"
        "Counts are whole numbers. Sizes are bytes or carry kB, MB, GB (powers of 1000) or KiB, "
        "MiB, GiB (of 1024).\n"
        "Times carry ps, ns, us, ms or s. Both may have decimals (`1.5us`) and are exact.\n\n"
        "The reader is a table-driven walker over libyaml's documents. libcyaml would need the "
        "types of all fields when\n"
        "sim-run is compiled, but `args` depends on the workload, and it forgets the lines of "
        "values, which the checks\n"
        "that concern two fields (a node and the machine's size, say) must name.\n\n");

    scenario_schema_markdown(&scenario_schema, out);
    g_string_truncate(out, out->len - 1);
    return g_string_free(out, FALSE);
}
