/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which atomics the NIC has. */
#include "amo.h"

#include "gnip.h"
#include "onesided.h"

/* Commands for 32 and 64 bits; 0: not available. */
struct command {
    uint16_t narrow, wide;
};
#define SIZES(name)                                        \
    {                                                      \
        GNI_FMA_ATOMIC2_##name##_S, GNI_FMA_ATOMIC2_##name \
    }
#define NARROW(name)                  \
    {                                 \
        GNI_FMA_ATOMIC2_##name##_S, 0 \
    }

static const struct command plain[FI_ATOMIC_OP_LAST][GNIP_AMO_OPERANDS] = {
    [FI_MIN] = {[GNIP_AMO_SIGNED] = SIZES(IMIN), [GNIP_AMO_FLOATING] = SIZES(FPMIN)},
    [FI_MAX] = {[GNIP_AMO_SIGNED] = SIZES(IMAX), [GNIP_AMO_FLOATING] = SIZES(FPMAX)},
    /* Aries does not add doubles correctly. */
    [FI_SUM] = {SIZES(IADD), SIZES(IADD), NARROW(FPADD)},
    [FI_BOR] = {SIZES(OR), SIZES(OR)},
    [FI_BAND] = {SIZES(AND), SIZES(AND)},
    [FI_BXOR] = {SIZES(XOR), SIZES(XOR)},
    [FI_ATOMIC_WRITE] = {SIZES(SWAP), SIZES(SWAP), SIZES(SWAP)},
};

static const struct command fetching[FI_ATOMIC_OP_LAST][GNIP_AMO_OPERANDS] = {
    [FI_MIN] = {[GNIP_AMO_SIGNED] = SIZES(FIMIN), [GNIP_AMO_FLOATING] = SIZES(FFPMIN)},
    [FI_MAX] = {[GNIP_AMO_SIGNED] = SIZES(FIMAX), [GNIP_AMO_FLOATING] = SIZES(FFPMAX)},
    [FI_SUM] = {SIZES(FIADD), SIZES(FIADD), NARROW(FFPADD)},
    [FI_BOR] = {SIZES(FOR), SIZES(FOR)},
    [FI_BAND] = {SIZES(FAND), SIZES(FAND)},
    [FI_BXOR] = {SIZES(FXOR), SIZES(FXOR)},
    [FI_ATOMIC_READ] = {SIZES(FAND), SIZES(FAND), SIZES(FAND)}, /* the operand is all ones */
    [FI_ATOMIC_WRITE] = {SIZES(FSWAP), SIZES(FSWAP), SIZES(FSWAP)},
};

static const struct command comparing[FI_ATOMIC_OP_LAST][GNIP_AMO_OPERANDS] = {
    [FI_CSWAP] = {SIZES(FCSWAP), SIZES(FCSWAP), SIZES(FCSWAP)},
    [FI_MSWAP] = {SIZES(FAX), SIZES(FAX), SIZES(FAX)},
};

uint8_t gnip_amo_width(enum fi_datatype datatype, enum gnip_amo_operand *operand)
{
    switch (datatype) {
    case FI_INT32:
    case FI_INT64:
        *operand = GNIP_AMO_SIGNED;
        return datatype == FI_INT32 ? 4 : 8;
    case FI_UINT32:
    case FI_UINT64:
        *operand = GNIP_AMO_INTEGER;
        return datatype == FI_UINT32 ? 4 : 8;
    case FI_FLOAT:
    case FI_DOUBLE:
        *operand = GNIP_AMO_FLOATING;
        return datatype == FI_FLOAT ? 4 : 8;
    default:
        return 0;
    }
}

uint16_t gnip_amo_command(enum gnip_amo_form form, enum fi_datatype datatype, enum fi_op op,
                          uint8_t *width)
{
    static const struct command(*const tables[GNIP_AMO_FORMS])[GNIP_AMO_OPERANDS] = {
        plain, fetching, comparing};
    enum gnip_amo_operand operand = GNIP_AMO_INTEGER;
    const struct command *command;

    *width = gnip_amo_width(datatype, &operand);
    if (*width == 0 || (unsigned)op >= FI_ATOMIC_OP_LAST)
        return 0;
    command = &tables[form][op][operand];
    return *width == 4 ? command->narrow : command->wide;
}

static int valid(enum gnip_amo_form form, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
    uint8_t width;

    if (count == NULL)
        return -FI_EINVAL;
    if (gnip_amo_command(form, datatype, op, &width) == 0)
        return -FI_EOPNOTSUPP;
    *count = 1;
    return 0;
}

int gnip_amo_plain_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
    PORT_CALL("fi_atomicvalid");
    return valid(GNIP_AMO_PLAIN, datatype, op, count);
}

int gnip_amo_fetching_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
                            size_t *count)
{
    PORT_CALL("fi_fetch_atomicvalid");
    return valid(GNIP_AMO_FETCHING, datatype, op, count);
}

int gnip_amo_comparing_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
                             size_t *count)
{
    PORT_CALL("fi_compare_atomicvalid");
    return valid(GNIP_AMO_COMPARING, datatype, op, count);
}

int gnip_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
                      struct fi_atomic_attr *attr, uint64_t flags)
{
    PORT_CALL("fi_query_atomic");
    enum gnip_amo_form form = GNIP_AMO_PLAIN;
    uint8_t width;

    if (attr == NULL)
        return -FI_EINVAL;
    if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC))
        return -FI_EINVAL;
    if (flags == (FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC))
        return -FI_EINVAL;
    if (flags != 0)
        form = flags == FI_FETCH_ATOMIC ? GNIP_AMO_FETCHING : GNIP_AMO_COMPARING;
    if (gnip_amo_command(form, datatype, op, &width) == 0)
        return -FI_EOPNOTSUPP;
    attr->count = 1;
    attr->size = width;
    return 0;
}
