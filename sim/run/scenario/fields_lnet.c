/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fields of `lnet`: which nodes have it, with what parameters, and its rules for faults. */
#include "fields.h"

#define N struct scenario_lnet_nodes
static const struct field nodes_fields[] = {
    {"name", STRING(N, name), .syntax = "letters, digits, - and _, starting with a letter",
     .meaning = "its counters are metrics `lnet.<name>.<counter>`, besides the sums of all nodes"},
    {"nodes", NODES(N, nodes), .required = true, .meaning = "the nodes"},
    {"networks", STRING(N, networks), .fallback = "",
     .syntax = "as the module parameter: `tcp(ethernet),o2ib(ib)`",
     .meaning = "networks of LNet, with interfaces. An interface has the name of a network of the "
                "machine; without one, the first that suits. Default: tcp"},
    {"ip2nets", STRING(N, ip2nets), .fallback = "", .syntax = "as the module parameter",
     .meaning = "the same by patterns of addresses"},
    {"routes", STRING(N, routes), .fallback = "",
     .syntax = "as the module parameter: `o2ib 1 10.0.0.9@tcp:0`",
     .meaning = "routes; an own NID as the gateway makes the node a router"},
    {"forwarding", STRING(N, forwarding), .fallback = "", .syntax = "enabled or disabled",
     .meaning = "whether the nodes are routers"},
    {"export", STRING(N, export_file), .syntax = "a file, relative to this one",
     .meaning = "what `lnetctl export` wrote on a real node, instead of `networks`, `routes` and "
                "`forwarding`. NIDs of the node itself are skipped, and interfaces that are no "
                "networks of this machine"},
    {"parameters", FREE(N, parameters),
     .syntax = "a mapping; names of module parameters: `lnet_retry_count: 3`, "
               "`ksocklnd.credits: 64`",
     .json = JSON_MAPPING("true"),
     .meaning = "values that differ from the defaults of Lustre 2.12"},
    {"start", BOOL(N, start), .fallback = "false",
     .meaning = "LNet is up from the beginning, without a program: routers. Otherwise the first "
                "LNetNIInit on a node starts it"},
    {NULL},
};
#undef N
static const struct schema nodes_schema = {.name = "lnet node",
                                           .meaning = "LNet on some nodes.",
                                           .size = sizeof(struct scenario_lnet_nodes),
                                           .fields = nodes_fields};

#define R struct scenario_lnet_rule
static const struct field rule_fields[] = {
    {"do", CHOICE(R, action), .required = true, .choices = LNET_ACTIONS,
     .meaning = "as net_drop_add and net_delay_add of lctl; fail-nid: LNetPut and LNetGet to "
                "`target` fail, and messages from it are dropped"},
    {"name", STRING(R, name), .syntax = "a word",
     .meaning = "dropped messages are counted as `lnet.dropped.<name>`"},
    {"nodes", NODES(R, nodes), .required = true,
     .meaning = "where the rule is: at the receiver, or with `error` or fail-nid at the sender"},
    {"source", STRING(R, source), .fallback = "*", .syntax = "a NID, `*`, or `*@tcp`",
     .meaning = "of the messages"},
    {"target", STRING(R, target), .fallback = "*", .syntax = "the same",
     .meaning = "of the messages"},
    {"rate", COUNT(R, rate), .maximum = "4294967295", .fallback = "0",
     .meaning = "one of so many; this or `interval`"},
    {"interval", COUNT(R, interval), .maximum = "4294967295", .fallback = "0",
     .meaning = "one in so many seconds"},
    {"random", BOOL(R, random), .fallback = "false",
     .meaning = "drop: each with a probability of one half; `interval` is the modulus"},
    {"latency", COUNT(R, latency), .maximum = "4294967295", .fallback = "0",
     .meaning = "delay: by so many seconds; this or `hold`"},
    {"hold", TIME(R, hold), .fallback = "0s",
     .meaning = "delay: by this time, which LNet itself does not have"},
    {"from", TIME(R, from), .fallback = "0s",
     .meaning = "drop and delay: the rule acts from then on"},
    {"until", TIME(R, until), .fallback = "0s",
     .meaning = "drop and delay: it ends then; 0: with the run"},
    {"seed", COUNT(R, seed), .maximum = "18446744073709551615", .fallback = "0",
     .meaning = "drop and delay: its random choices depend on this number, and not on the seed of "
                "the run"},
    {"portal", FREE(R, portal), .syntax = "a number or a list of numbers from 0 to 63",
     .json = JSON_ONE_OR_MORE, .meaning = "only PUT and GET to these"},
    {"message", FREE(R, message), .syntax = "PUT, GET, ACK, REPLY, or a list of these",
     .json = JSON_ONE_OR_MORE, .meaning = "only messages of these types"},
    {"error", FREE(R, error),
     .syntax = "local_interrupt, local_dropped, local_aborted, local_no_route, local_error, "
               "local_timeout, remote_error, remote_dropped, remote_timeout, network_timeout, "
               "random, or a list of these",
     .json = JSON_ONE_OR_MORE,
     .meaning = "drop: the message fails with this status instead of being sent"},
    {"count", COUNT(R, count), .maximum = "2147483647", .fallback = "0",
     .meaning = "so many operations fail, or so many messages are dropped or delayed, on each "
                "node; 0: all"},
    {NULL},
};
#undef R
static const struct schema rule_schema = {.name = "lnet rule",
                                          .meaning = "A fault rule of LNet.",
                                          .size = sizeof(struct scenario_lnet_rule),
                                          .fields = rule_fields};

#define S struct scenario_lnet_show
static const struct field show_fields[] = {
    {"at", TIME(S, time), .required = true, .meaning = "the virtual time"},
    {"nodes", NODES(S, nodes), .required = true, .meaning = "where"},
    {"command", STRING(S, command), .required = true,
     .syntax = "`net show`, `peer show`, `route show`, `routing show`, `stats show`, `global "
               "show`, with `-v` or `-v 2`, or `export`",
     .meaning = "what `lnetctl` prints for these words"},
    {NULL},
};
#undef S
static const struct schema show_schema = {.name = "lnet show",
                                          .meaning = "The state of LNet at a moment of the run, "
                                                     "as `lnetctl` prints it.",
                                          .size = sizeof(struct scenario_lnet_show),
                                          .fields = show_fields};

#define S struct scenario_lnet_show
static const struct field change_fields[] = {
    {"at", TIME(S, time), .required = true, .meaning = "the virtual time"},
    {"nodes", NODES(S, nodes), .required = true, .meaning = "where"},
    {"command", STRING(S, command), .required = true,
     .syntax = "`net add`, `net del`, `route add`, `route del`, `peer add` or `peer del`, with "
               "the options of `lnetctl`",
     .meaning = "what `lnetctl` does for these words, such as `net add --net tcp1 --if eth0`; a "
                "command that fails is a finding"},
    {NULL},
};
#undef S
static const struct schema change_schema = {.name = "lnet change",
                                            .meaning = "The configuration of LNet changes during "
                                                       "the run.",
                                            .size = sizeof(struct scenario_lnet_show),
                                            .fields = change_fields};

static const struct field lnet_fields[] = {
    {"nodes", LIST(struct scenario_lnet, nodes), .of = &nodes_schema,
     .meaning = "which nodes have LNet"},
    {"rules", LIST(struct scenario_lnet, rules), .of = &rule_schema,
     .meaning = "what goes wrong with its messages"},
    {"change", LIST(struct scenario_lnet, changes), .of = &change_schema,
     .meaning = "what changes during the run"},
    {"show", LIST(struct scenario_lnet, shows), .of = &show_schema,
     .meaning = "what the result prints of its state"},
    {NULL},
};
const struct schema scenario_lnet_schema = {
    .name = "lnet",
    .meaning = "Lustre's network. Node n has the address 10.0.0.0 + n + 1 on the first network of "
               "the machine, 10.4.0.0 + n + 1 on the second, 10.8.0.0 + n + 1 on the third.",
    .size = sizeof(struct scenario_lnet),
    .fields = lnet_fields};
