/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fields of faults: one schema for each place where a fault is injected. */
#include "fields.h"

#define X struct scenario_fault
#define WHERE                                                                    \
    {                                                                            \
        "at", STRING(X, where), .required = true, .syntax = "as in the heading", \
                                .meaning = "where the fault is injected"         \
    }
#define LABEL                                                                          \
    {                                                                                  \
        "label", STRING(X, label), .syntax = "a word",                                 \
                                   .meaning = "its name in the report and in `expect`" \
    }
#define WHEN                                                           \
    {                                                                  \
        "time", TIME(X, time), .maximum = "1000000s", .fallback = "0", \
                               .meaning = "virtual time of the fault"  \
    }
#define RULE_FIELDS                                                                               \
    {"probability",  REAL(X, probability), .minimum = "0",                                        \
     .maximum = "1", .fallback = "1",      .meaning = "of each subject that matches"},            \
        {"count", COUNT(X, count), .fallback = "0",                                               \
         .meaning = "inject it at most so often; 0: no limit"},                                   \
        {"skip", COUNT(X, skip), .fallback = "0",                                                 \
         .meaning = "leave the first so many that match alone; packets, if several go together"}, \
        {"only", FREE(X, only), .syntax = "a number or a list of numbers: 11, [3, 11]",           \
         .json = JSON_ONE_OR_MORE,                                                                \
         .meaning = "of the faults that it would inject, numbered from 1 as the report shows "    \
                    "them, inject only these"},                                                   \
        {"from", TIME(X, from), .fallback = "0", .meaning = "active from this virtual time"},     \
        {"until", TIME(X, until), .meaning = "and before this one; default: the end"},            \
        {"source", COUNT(X, source), .meaning = "only from this node"},                           \
        {"target", COUNT(X, target), .meaning = "only to this node"},                             \
    {                                                                                             \
        "between", PAIR(X, between), .syntax = "two groups: [g0, g1]",                            \
                                     .meaning = "only between these groups, in either direction"  \
    }
#define NETWORK                                                               \
    {                                                                         \
        "network", STRING(X, network), .syntax = "a name of `networks`",      \
                                       .meaning = "which; default: the first" \
    }
#define KIND(words)                                                                              \
    {                                                                                            \
        "kind", CHOICE(X, kind), .choices = words, .meaning = "only of this kind; default: both" \
    }
#define DELAY                                                               \
    {                                                                       \
        "delay", TIME(X, delay), .maximum = "1000s", .fallback = "1us",     \
                                 .meaning = "with `do: delay`: by how much" \
    }

static const struct field aries_packet_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = ARIES_PACKET_ACTIONS,
     .meaning = "drop: lost in the network; corrupt: arrives poisoned (DATA_ERR); fail: refused "
                "with `status`, a request by the target, a response by the source"},
    LABEL,
    {"status", STRING(X, status), .fallback = "DATA_ERR",
     .syntax = "a completion status of aries/misc/exceptions.h without A_STATUS_",
     .meaning = "fail: what the completion says"},
    RULE_FIELDS,
    KIND("request|response"),
    {NULL}};
static const struct field net_packet_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = NET_PACKET_ACTIONS,
     .meaning =
         "to a packet in the network, at F0 and F1 to the chunk of a message that it travels in"},
    NETWORK,
    LABEL,
    RULE_FIELDS,
    KIND("request|response"),
    DELAY,
    {NULL}};
static const struct field aries_cq_fields[] = {WHERE,
                                               {"do", CHOICE(X, action), .required = true,
                                                .choices = ARIES_CQ_ACTIONS,
                                                .meaning = "the event finds its queue full"},
                                               LABEL,
                                               RULE_FIELDS,
                                               KIND("source|destination"),
                                               {NULL}};
static const struct field aries_datagram_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = ARIES_DATAGRAM_ACTIONS,
     .meaning = "to a datagram of a connection set-up"},
    LABEL,
    RULE_FIELDS,
    DELAY,
    {NULL}};
static const struct field oob_message_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = OOB_MESSAGE_ACTIONS,
     .meaning = "to a datagram between two servers of PMI; they repeat what is lost"},
    LABEL,
    RULE_FIELDS,
    KIND("up|down"),
    DELAY,
    {NULL}};
static const struct field oob_server_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = OOB_SERVER_ACTIONS,
     .meaning = "the server of PMI on node `target` takes so much longer with each message"},
    LABEL,
    RULE_FIELDS,
    DELAY,
    {NULL}};
static const struct field link_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = LINK_ACTIONS,
     .meaning = "both directions change; link_error: micropackets come bad and are sent again"},
    NETWORK,
    LABEL,
    WHEN,
    {"routers", PAIR(X, routers), .required = true,
     .syntax = "two routers, numbers or names: [0, 5] or [g0c0s0, g0c0s5]", .meaning = "its ends"},
    {"which", COUNT(X, which), .maximum = "255", .fallback = "0",
     .meaning = "of parallel links, from 0"},
    {"lanes", COUNT(X, lanes), .minimum = "1", .maximum = "3", .fallback = "2",
     .meaning = "lane_loss: lanes left of 3"},
    {"rate", REAL(X, rate), .minimum = "0", .maximum = "1", .fallback = "0.001",
     .meaning = "link_error: share of bad micropackets (9 phits); 0 ends it"},
    {NULL}};
static const struct field router_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = ROUTER_ACTIONS,
     .meaning = "down: cuts off its four nodes"},
    NETWORK,
    LABEL,
    WHEN,
    {"router", STRING(X, router), .required = true, .syntax = "a number, or a name such as g0c0s0",
     .meaning = "the router"},
    {NULL}};
static const struct field node_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = NODE_ACTIONS,
     .meaning = "crash: for ever; hang: the NIC accepts requests and answers none; pcie_stall: "
                "host memory does not answer; bi_set: its injection is limited to `orbs`; reboot: "
                "it crashes and boots again, for jobs whose `start` is not before that"},
    LABEL,
    WHEN,
    {"node", COUNT(X, node), .required = true, .meaning = "the node"},
    {"for", TIME(X, duration), .minimum = "1ps", .maximum = "1000s", .fallback = "1ms",
     .meaning = "hang, pcie_stall, reboot: how long"},
    {"orbs", COUNT(X, orbs), .maximum = "992", .fallback = "0",
     .meaning = "bi_set: request packets that may be in flight; 0: no limit"},
    {NULL}};
static const struct field memory_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = MEMORY_ACTIONS,
     .meaning = "the memory descriptor of a registration: AT_MDD_UNCORRECTABLE from then on"},
    LABEL,
    WHEN,
    {"node", COUNT(X, node), .required = true, .meaning = "the node"},
    {"region", COUNT(X, region),
     .meaning = "which of its registrations at that time, from 0; default: every one"},
    {NULL}};
static const struct field error_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = ERROR_ACTIONS,
     .meaning = "the NIC reports an error event; nothing else happens"},
    LABEL,
    WHEN,
    {"node", COUNT(X, node), .required = true, .meaning = "the node"},
    {"category", CHOICE(X, category),
     .choices = "correctable_memory|critical|transaction|address_translation|transient|"
                "informational|diag_only|unknown_transaction",
     .fallback = "informational",
     .meaning = "of the event; critical: processes die that did not ask for "
                "GNI_CDM_MODE_ERR_NO_KILL"},
    {"code", COUNT(X, code), .maximum = "65535", .fallback = "0", .meaning = "its error_code"},
    {NULL}};
static const struct field cq_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = CQ_ACTIONS,
     .meaning = "a completion queue of the node overruns"},
    LABEL,
    WHEN,
    {"node", COUNT(X, node), .required = true, .meaning = "the node"},
    {"queue", COUNT(X, queue),
     .meaning = "which one, in order of creation from 0; default: every one"},
    {NULL}};
static const struct field whole_fields[] = {
    WHERE,
    {"do", CHOICE(X, action), .required = true, .choices = FABRIC_ACTIONS,
     .meaning = "quiesce: nothing moves; throttle: injection limited to `percent`"},
    LABEL,
    WHEN,
    {"for", TIME(X, duration), .minimum = "1ps", .maximum = "1000s", .fallback = "1ms",
     .meaning = "how long"},
    {"percent", REAL(X, percent), .minimum = "0.1", .maximum = "100", .fallback = "50",
     .meaning = "throttle: of full rate"},
    {NULL}};

#define VARIANT(id, key, text)                 \
    static const struct schema id##_schema = { \
        .name = "fault", .meaning = text, .size = sizeof(X), .fields = id##_fields, .when = key}
VARIANT(aries_packet, "aries.packet",
        "A rule at the packets of Aries transactions (packet_drop, packet_poison, refusals).");
VARIANT(net_packet, "net.packet", "A rule at what the network carries, on any topology.");
VARIANT(aries_cq, "aries.cq",
        "A rule at the events that the NIC writes; `target` is the node of the queue.");
VARIANT(aries_datagram, "aries.datagram", "A rule at datagrams.");
VARIANT(oob_message, "oob.message",
        "A rule at what the servers of PMI send each other; with one, they send datagrams.");
VARIANT(oob_server, "oob.server", "A rule at the messages that a server of PMI works on.");
VARIANT(link, "link", "A link at a time (link_down, link_up, lane_loss, link_error).");
VARIANT(router, "router", "A router at a time (router_down).");
VARIANT(node, "node", "A node at a time (node_down, nic_hang, pcie_stall, bi_set).");
VARIANT(memory, "memory", "A memory descriptor of a NIC at a time (mdd_corrupt).");
VARIANT(error, "error", "An error event of a NIC at a time.");
VARIANT(cq, "cq", "Completion queues of a node at a time (cq_overrun).");
VARIANT(whole, "fabric", "The whole machine at a time (quiesce, throttle).");
#undef VARIANT
static const struct schema *const fault_variants[] = {&aries_packet_schema, &net_packet_schema,
                                                      &aries_cq_schema,     &aries_datagram_schema,
                                                      &link_schema,         &router_schema,
                                                      &node_schema,         &cq_schema,
                                                      &whole_schema,        &memory_schema,
                                                      &error_schema,        &oob_message_schema,
                                                      &oob_server_schema,   NULL};
const struct schema scenario_fault_schema = {
    .name = "fault",
    .meaning = "What goes wrong. Field `at` decides which other fields there are. A fault that "
               "was never injected is "
               "reported as a warning; `expect` can make it a failure.",
    .size = sizeof(X),
    .variants = fault_variants,
    .by = "at"};
#undef X
