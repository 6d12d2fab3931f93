/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomic memory operations: checklist items 81 to 86. */
#include "fixture.h"

#include <math.h>
#include <string.h>
#include "commands.h"

#define COMMANDS (sizeof amo_commands / sizeof amo_commands[0])
#define UNTOUCHED 0x7777777777777777u

static uint64_t memory[MACHINE_RANKS][64];

struct cells {
    struct domain domain;
    gni_mem_handle_t handle, peer_handle;
    uint64_t *memory;
    uint64_t peer_address;
    gni_ep_handle_t ep;
};

static void open_side(struct rank *rank, struct cells *side, uint32_t peer, uint32_t modes)
{
    side->memory = memory[rank->id];
    memset(side->memory, 0, sizeof memory[0]);
    domain_open(rank, &side->domain, modes);
    side->handle = domain_register(&side->domain, side->memory, sizeof memory[0], NULL, 0);
    publish(rank, side->handle, side->memory);
    side->ep = domain_connect(rank, &side->domain, peer);
    side->peer_handle = published_handle(rank, peer);
    side->peer_address = published_address(rank, peer);
}

static void apply(const struct cells *side, gni_post_descriptor_t *descr)
{
    assert_ok(post(side->ep, descr));
    complete(side->domain.source, descr);
}

/* ---- a second opinion on what each command means, from its name ------------------------------ */

struct meaning {
    bool fetches, cached;
    unsigned width;
    char operation[8];
};

static struct meaning meaning_of(const char *name)
{
    static const char prefix[] = "GNI_FMA_ATOMIC";
    bool first_generation = name[sizeof prefix - 1] == '_';
    struct meaning meaning = {.width = 8};
    const char *word = strchr(name + sizeof prefix - 1, '_') + 1, *suffix = strchr(word, '_');
    size_t length;

    meaning.fetches = strncmp(word, "FFP", 3) == 0 || (word[0] == 'F' && word[1] != 'P');
    if (meaning.fetches)
        word++;
    if (first_generation && strncmp(word, "CSWAP", 5) == 0)
        meaning.fetches = true; /* although its name has no F */
    if (suffix != NULL) {
        meaning.width = strchr(suffix, 'S') != NULL ? 4 : 8;
        meaning.cached = strchr(suffix, 'C') != NULL;
    }
    length = suffix != NULL ? (size_t)(suffix - word) : strlen(word);
    memcpy(meaning.operation, word, length);
    return meaning;
}

static double minimum(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

static double maximum(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static double real_result(const char *operation, double t, double a)
{
    if (strcmp(operation, "FPMIN") == 0)
        return minimum(t, a);
    if (strcmp(operation, "FPMAX") == 0)
        return maximum(t, a);
    return t + a;
}

static uint64_t real_bits(const char *operation, unsigned width, uint64_t t, uint64_t a)
{
    uint64_t bits = 0;

    if (width == 4) {
        float x, y, z;

        memcpy(&x, &t, 4);
        memcpy(&y, &a, 4);
        z = (float)real_result(operation, x, y);
        memcpy(&bits, &z, 4);
    } else {
        double x, y, z;

        memcpy(&x, &t, 8);
        memcpy(&y, &a, 8);
        z = real_result(operation, x, y);
        memcpy(&bits, &z, 8);
    }
    return bits;
}

static int64_t as_signed(unsigned width, uint64_t value)
{
    return width == 4 ? (int32_t)value : (int64_t)value;
}

static uint64_t result_of(const struct meaning *meaning, uint64_t t, uint64_t a, uint64_t b)
{
    const char *operation = meaning->operation;
    int64_t st = as_signed(meaning->width, t), sa = as_signed(meaning->width, a);
    uint64_t mask = meaning->width == 4 ? UINT32_MAX : UINT64_MAX;

    if (strcmp(operation, "ADD") == 0 || strcmp(operation, "IADD") == 0)
        return (t + a) & mask;
    if (strcmp(operation, "AND") == 0)
        return t & a & mask;
    if (strcmp(operation, "OR") == 0)
        return (t | a) & mask;
    if (strcmp(operation, "XOR") == 0)
        return (t ^ a) & mask;
    if (strcmp(operation, "AX") == 0)
        return ((t & a) ^ b) & mask;
    if (strcmp(operation, "SWAP") == 0)
        return a & mask;
    if (strcmp(operation, "CSWAP") == 0)
        return (t & mask) == (a & mask) ? b & mask : t & mask;
    if (strcmp(operation, "IMIN") == 0)
        return (st < sa ? t : a) & mask;
    if (strcmp(operation, "IMAX") == 0)
        return (st > sa ? t : a) & mask;
    return real_bits(operation, meaning->width, t, a);
}

/* ---- items 81, 82, 85, 86 -------------------------------------------------------------------- */

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, 8);
    return bits;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, 4);
    return bits;
}

/* One command on one target, and what lies around it. */
static void try_command(const struct cells *side, const struct command *command, uint64_t t,
                        uint64_t a, uint64_t b, unsigned slot)
{
    struct meaning meaning = meaning_of(command->name);
    uint64_t *target = (uint64_t *)(uintptr_t)side->peer_address, expected = 0, found = 0;
    uint64_t around[3] = {0x1122334455667788, 0x99aabbccddeeff00, 0x0123456789abcdef};
    uint64_t mask = meaning.width == 4 ? UINT32_MAX : UINT64_MAX;
    gni_post_descriptor_t descr;

    memcpy((char *)&around[1] + slot, &t, meaning.width);
    memcpy(target, around, sizeof around);
    side->memory[0] = side->memory[1] = UNTOUCHED;
    descr = describe_amo((gni_fma_cmd_type_t)command->value, a, b, &side->memory[0], side->handle,
                         side->peer_address + 8 + slot, side->peer_handle);
    if (!meaning.fetches) /* need not be aligned, nor registered */
        descr.local_addr = (uintptr_t)&side->memory[0] + 1;
    apply(side, &descr);
    expected = result_of(&meaning, t & mask, a, b);
    memcpy(&found, (char *)&target[1] + slot, meaning.width);
    if (found != expected)
        fail_msg("%s: %#lx, %#lx, %#lx gave %#lx, not %#lx", command->name, (unsigned long)t,
                 (unsigned long)a, (unsigned long)b, (unsigned long)found, (unsigned long)expected);
    memcpy((char *)&around[1] + slot, &expected, meaning.width);
    assert_memory_equal(target, around, sizeof around);
    expected = UNTOUCHED;
    if (meaning.fetches)
        memcpy(&expected, &t, meaning.width);
    if (side->memory[0] != expected)
        fail_msg("%s fetched %#lx, not %#lx", command->name, (unsigned long)side->memory[0],
                 (unsigned long)expected);
    assert_true(side->memory[1] == UNTOUCHED);
}

static void try_values(const struct cells *side, const struct command *command, unsigned slot)
{
    static const uint64_t integers[] = {0,
                                        1,
                                        5,
                                        UINT64_MAX,
                                        0x8000000000000000,
                                        0x7fffffffffffffff,
                                        0x80000000,
                                        0x7fffffff,
                                        0x00000001ffffffff,
                                        0xfedcba9876543210};
    struct meaning meaning = meaning_of(command->name);
    bool real = meaning.operation[0] == 'F';
    double reals[] = {0, 1.5, -2.25, 1e30, INFINITY, -INFINITY, NAN};
    unsigned i, k;

    for (i = 0; !real && i < 10; i++)
        for (k = 0; k < 10; k++)
            try_command(side, command, integers[i], integers[k], integers[(i + k) % 10], slot);
    for (i = 0; real && i < 7; i++) {
        for (k = 0; k < 7; k++) {
            uint64_t t = bits_of(reals[i]), a = bits_of(reals[k]);

            if (meaning.width == 4) { /* the high half of the operand has no effect */
                t = bits_of_float((float)reals[i]);
                a = bits_of_float((float)reals[k]) | 0xdeadbeef00000000;
            }
            if (i == 6 && k == 6)
                continue; /* which of two NaN is not said */
            if (strcmp(meaning.operation, "FPADD") == 0 &&
                (isnan(reals[i]) || isnan(reals[k]) || (isinf(reals[i]) && reals[k] == -reals[i])))
                continue; /* a NaN; its bits are the host's */
            try_command(side, command, t, a, 0, slot);
        }
    }
}

static void commands_main(struct rank *rank)
{
    struct cells side;
    unsigned i;

    open_side(rank, &side, 1, GNI_CDM_MODE_CACHED_AMO_ENABLED);
    assert_int_equal(COMMANDS, 118);
    for (i = 0; rank->id == 0 && i < COMMANDS; i++) {
        try_values(&side, &amo_commands[i], 0);
        if (meaning_of(amo_commands[i].name).width == 4)
            try_values(&side, &amo_commands[i], 4);
    }
    machine_barrier(rank);
}

static void ugni_81_ugni_82_ugni_85_ugni_86_every_command(void **state)
{
    machine_run(&(struct machine){.main = commands_main});
}

static void cached_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;
    unsigned i, command;

    open_side(rank, &side, 0, 0);
    for (i = 0; i < COMMANDS; i++) {
        descr = describe_amo((gni_fma_cmd_type_t)amo_commands[i].value, 1, 1, &side.memory[8],
                             side.handle, side.peer_address, side.peer_handle);
        if (meaning_of(amo_commands[i].name).cached)
            assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
        else
            apply(&side, &descr);
    }
    /* Everything that is no command. */
    for (command = 0; command < 0x800; command++) {
        for (i = 0; i < COMMANDS && amo_commands[i].value != command; i++)
            ;
        descr = describe_amo((gni_fma_cmd_type_t)command, 1, 1, &side.memory[8], side.handle,
                             side.peer_address, side.peer_handle);
        if (i == COMMANDS)
            assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    }
}

static void ugni_86_cached_commands_need_the_mode(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = cached_main});
}

/* Open MPI expects CSWAP_S to fetch; the hardware does not. */
static void cswap_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;

    open_side(rank, &side, 0, 0);
    side.memory[0] = 5;
    side.memory[8] = UNTOUCHED;
    descr = describe_amo((gni_fma_cmd_type_t)0x34a, 5, 9, &side.memory[8], side.handle,
                         side.peer_address, side.peer_handle);
    apply(&side, &descr);
    assert_int_equal(side.memory[0], 9);
    assert_true(side.memory[8] == UNTOUCHED);
}

static void ugni_82_cswap_s_does_not_fetch(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = cswap_main});
}

/* ---- item 83 --------------------------------------------------------------------------------- */

#define ROUNDS 200

static void atomic_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;
    uint32_t i;

    open_side(rank, &side, 0, 0);
    for (i = 0; i < ROUNDS; i++) {
        descr = describe_amo(i % 2 ? GNI_FMA_ATOMIC_ADD : GNI_FMA_ATOMIC2_FIADD, 1, 0,
                             &side.memory[8], side.handle, side.peer_address, side.peer_handle);
        apply(&side, &descr);
    }
    machine_barrier(rank);
    if (rank->id == 0)
        assert_int_equal(side.memory[0], ROUNDS * rank->machine->ranks);
}

static void ugni_83_concurrent_adds(void **state)
{
    machine_run(&(struct machine){.ranks = 8, .main = atomic_main});
}

/* A lock at rank 0 guards an unprotected counter next to it. */
static void lock_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;
    uint32_t i;

    open_side(rank, &side, 0, 0);
    for (i = 0; i < 20; i++) {
        do {
            descr = describe_amo(GNI_FMA_ATOMIC_CSWAP, 0, rank->id + 1, &side.memory[8],
                                 side.handle, side.peer_address, side.peer_handle);
            apply(&side, &descr);
        } while (side.memory[8] != 0);
        descr = describe_put(GNI_POST_FMA_GET, &side.memory[9], side.handle, side.peer_address + 8,
                             side.peer_handle, 8);
        apply(&side, &descr);
        side.memory[9]++;
        descr = describe_put(GNI_POST_FMA_PUT, &side.memory[9], side.handle, side.peer_address + 8,
                             side.peer_handle, 8);
        apply(&side, &descr);
        descr = describe_amo(GNI_FMA_ATOMIC2_SWAP, 0, 0, NULL, side.handle, side.peer_address,
                             side.peer_handle);
        apply(&side, &descr);
    }
    machine_barrier(rank);
    if (rank->id == 0)
        assert_int_equal(side.memory[1], 20 * rank->machine->ranks);
}

static void ugni_83_lock(void **state)
{
    machine_run(&(struct machine){.ranks = 6, .main = lock_main});
}

/* ---- item 84 --------------------------------------------------------------------------------- */

static void alignment_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;
    uint64_t i;

    open_side(rank, &side, 0, 0);
    for (i = 1; i < 8; i++) {
        descr = describe_amo(GNI_FMA_ATOMIC_FADD, 1, 0, &side.memory[8], side.handle,
                             side.peer_address + i, side.peer_handle);
        assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
        descr.remote_addr -= i;
        descr.local_addr += i;
        assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
        descr.amo_cmd = GNI_FMA_ATOMIC_ADD;
        apply(&side, &descr); /* nothing is fetched */
        descr.length = 8 + i;
        assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
        descr = describe_amo(GNI_FMA_ATOMIC2_FIADD_S, 1, 0, &side.memory[8], side.handle,
                             side.peer_address + i, side.peer_handle);
        if (i == 4)
            apply(&side, &descr);
        else
            assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
    }
    memset(side.memory, 0, sizeof memory[0]);
    side.memory[0] = 10;
    side.memory[1] = 20;
    side.memory[2] = 30;
    descr = describe_amo(GNI_FMA_ATOMIC_FADD, 5, 0, &side.memory[8], side.handle, side.peer_address,
                         side.peer_handle);
    descr.length = 16;
    apply(&side, &descr);
    assert_int_equal(side.memory[0], 15);
    assert_int_equal(side.memory[1], 25);
    assert_int_equal(side.memory[2], 30);
    assert_int_equal(side.memory[8], 10);
    assert_int_equal(side.memory[9], 20);
    assert_int_equal(side.memory[10], 0);
}

/* Commands that change one element whatever their length is: programs post AX_S with 8. */
static void single_main(struct rank *rank)
{
    static const gni_fma_cmd_type_t words[] = {
        GNI_FMA_ATOMIC_AX,     GNI_FMA_ATOMIC_FAX,      GNI_FMA_ATOMIC2_AX,
        GNI_FMA_ATOMIC2_FAX,   GNI_FMA_ATOMIC2_AX_S,    GNI_FMA_ATOMIC2_FAX_S,
        GNI_FMA_ATOMIC2_AND_S, GNI_FMA_ATOMIC2_FIADD_S, GNI_FMA_ATOMIC2_SWAP_S};
    const uint64_t before = 0x0123456789abcdef;
    gni_ct_amo_post_descriptor_t link = {0};
    gni_post_descriptor_t descr;
    struct cells side;
    unsigned i;

    open_side(rank, &side, 0, 0);
    for (i = 0; i < sizeof words / sizeof words[0]; i++) {
        uint32_t width = words[i] & 0x200 ? 4 : 8;
        uint64_t low = width == 4 ? UINT32_MAX : UINT64_MAX, slot;

        for (slot = 0; slot < 3; slot++) {
            side.memory[slot] = before;
            side.memory[8 + slot] = UNTOUCHED;
        }
        descr = describe_amo(words[i], 0, 0x55, &side.memory[8], side.handle, side.peer_address,
                             side.peer_handle);
        descr.length = 2 * width;
        apply(&side, &descr);
        if (words[i] != GNI_FMA_ATOMIC2_FIADD_S) /* it adds 0 */
            assert_true((side.memory[0] & low) != (before & low));
        assert_true((side.memory[0] & ~low) == (before & ~low));
        assert_true(side.memory[1] == before && side.memory[2] == before);
        assert_true((side.memory[8] & low) == ((words[i] & 0x100 ? UNTOUCHED : before) & low));
        assert_true((side.memory[8] & ~low) == (UNTOUCHED & ~low));
        assert_true(side.memory[9] == UNTOUCHED);
        descr.length = width + 2;
        assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
    }
    /* In a chain, too: head and link. */
    side.memory[0] = side.memory[1] = side.memory[2] = side.memory[3] = before;
    link.ep_hndl = side.ep;
    link.length = 16;
    link.amo_cmd = GNI_FMA_ATOMIC2_AX;
    link.remote_addr = side.peer_address + 16;
    link.remote_mem_hndl = side.peer_handle;
    descr = describe_amo(GNI_FMA_ATOMIC2_AX_S, 0, 0, NULL, side.handle, side.peer_address,
                         side.peer_handle);
    descr.length = 8;
    descr.next_descr = &link;
    assert_ok(GNI_CtPostFma(side.ep, &descr));
    complete(side.domain.source, &descr);
    assert_true(side.memory[0] == (before & ~(uint64_t)UINT32_MAX));
    assert_true(side.memory[1] == before);
    assert_true(side.memory[2] == 0);
    assert_true(side.memory[3] == before);
}

static void ugni_84_one_element_whatever_the_length(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = single_main});
}

static void ugni_84_alignment_and_length(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = alignment_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_81_ugni_82_ugni_85_ugni_86_every_command),
        cmocka_unit_test(ugni_82_cswap_s_does_not_fetch),
        cmocka_unit_test(ugni_83_concurrent_adds),
        cmocka_unit_test(ugni_83_lock),
        cmocka_unit_test(ugni_84_alignment_and_length),
        cmocka_unit_test(ugni_84_one_element_whatever_the_length),
        cmocka_unit_test(ugni_86_cached_commands_need_the_mode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
