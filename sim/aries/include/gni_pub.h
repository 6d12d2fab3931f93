/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gni_pub.h: the user-level Generic Network Interface (uGNI) of Cray XE and XC systems.
 *
 * Interface level 0x5d. Names, values and layouts are those that published programs compile against
 * (libfabric, Open MPI, Charm++, UCX, GASNet, LDMS, NNTI, foMPI), so the source of such a program
 * builds against this header or against Cray's and runs on either library. All texts are ours. The
 * Aries personality is described; Gemini is mentioned where values exist for it only.
 *
 * Rules that hold for every function and are therefore not repeated at each:
 *
 * Errors     Every GNI_ function returns gni_return_t. GNI_RC_INVALID_PARAM also means: a handle
 *            that is NULL or no longer alive, or NULL where a result is to be stored. A function
 *            that fails has changed nothing and stored nothing unless its comment says otherwise.
 *            errno is not part of the contract.
 * Units      Lengths and sizes are bytes, timeouts are milliseconds. A timeout with all bits set
 *            waits for ever.
 * Ownership  The caller owns all memory that it passes. Arrays and structures are read during the
 *            call only, with three exceptions: post descriptors (see GNI_PostRdma), output buffers
 *            of datagrams (see GNI_EpPostData), and registered memory, which the network may read
 *            and write as long as it is registered. A handle belongs to the program until the
 *            matching Destroy or Release function.
 * Threads    A NIC handle and all that was made from it (endpoints, queues, registrations) may be
 *            used by one thread at a time: the caller locks. Different NIC handles need no common
 *            lock. Functions marked [any thread] may run at any time, without the caller's lock,
 *            beside other calls on the same NIC handle.
 * Blocking   Functions marked [blocks] may suspend the caller; all others return promptly. A thread
 *            that is blocked in a wait may be cancelled asynchronously.
 */
#ifndef _GNI_PUB_H_
#define _GNI_PUB_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library hides its symbols by default; what is declared here is its interface. */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Direction of an argument, for the reader. Stay defined: programs in this style use them. */
#define IN
#define OUT
#define INOUT

/* Values and remarks stand in columns, down to the functions. */
/* clang-format off */

/* ---- version ------------------------------------------------------------------------------- */

#define GNI_MAJOR_REV 0x00
#define GNI_MINOR_REV 0x5d  /* changes with the interface */
#define GNI_CODE_REV 0x0102 /* changes with the library's code */

#define GNI_GET_MAJOR(value) (((value) >> 24) & 0xFF)
#define GNI_GET_MINOR(value) (((value) >> 16) & 0xFF)
#define GNI_GET_REV(value) ((value) & 0xFFFF)

/* major in bits 31:24, minor in 23:16, code in 15:0 */
#define GNI_VERSION_CHECK(maj, min, code) (((maj) << 24) | ((min) << 16) | (code))
#define GNI_VERSION GNI_VERSION_CHECK(GNI_MAJOR_REV, GNI_MINOR_REV, GNI_CODE_REV)

/* First versions with GNI_CDM_MODE_FMA_SHARED and with the chained transactions. */
#define GNI_VERSION_FMA_SHARING 0x5b0000
#define GNI_VERSION_FMA_CHAIN_TRANSACTIONS 0x5d0000

#define MAX_BUILD_STRING_LENGTH 80

/* ---- handles ------------------------------------------------------------------------------- */

typedef struct gni_cdm *gni_cdm_handle_t;             /* domain: an instance of a job */
typedef struct gni_nic *gni_nic_handle_t;             /* a domain attached to one NIC */
typedef struct gni_ep *gni_ep_handle_t;               /* endpoint: names a peer for transactions */
typedef struct gni_cq *gni_cq_handle_t;               /* completion queue */
typedef struct gni_err *gni_err_handle_t;             /* subscription to error events */
typedef struct gni_msgq *gni_msgq_handle_t;           /* message queue of a node's instances */
typedef struct gni_ce *gni_ce_handle_t;               /* collective engine channel (Aries) */
typedef struct gni_comp_chan *gni_comp_chan_handle_t; /* completion channel */

typedef uint32_t gni_cq_mode_t;
typedef uint64_t gni_cq_entry_t; /* opaque; read it with the GNI_CQ_ macros */
typedef uint8_t gni_error_mask_t;

/* ---- return codes -------------------------------------------------------------------------- */

typedef enum gni_return {
    GNI_RC_SUCCESS = 0,
    GNI_RC_NOT_DONE = 1,           /* nothing there, not allowed now, or no credit: try again */
    GNI_RC_INVALID_PARAM = 2,      /* bad handle or argument */
    GNI_RC_ERROR_RESOURCE = 3,     /* used up; a queue overran, or has the wrong mode */
    GNI_RC_TIMEOUT = 4,            /* the timeout expired */
    GNI_RC_PERMISSION_ERROR = 5,   /* the caller may not do this */
    GNI_RC_DESCRIPTOR_ERROR = 6,   /* the event does not belong to a post descriptor */
    GNI_RC_ALIGNMENT_ERROR = 7,    /* address or length is not aligned */
    GNI_RC_INVALID_STATE = 8,      /* the object is in the wrong state */
    GNI_RC_NO_MATCH = 9,           /* nothing found */
    GNI_RC_SIZE_ERROR = 10,        /* too long, or the buffer is too short */
    GNI_RC_TRANSACTION_ERROR = 11, /* the network failed the transaction */
    GNI_RC_ILLEGAL_OP = 12,        /* this NIC or library does not offer it */
    GNI_RC_ERROR_NOMEM = 13        /* out of host memory */
} gni_return_t;

/* Symbolic names, indexed by gni_return_t. Read-only. */
extern const char *gni_err_str[];

/* ---- protection: tags, keys, cookies ------------------------------------------------------- */

/* Protection tag: 8 bits that a registration and its user must have in common. */
enum {
    GNI_PTAG_LND = 1,
    GNI_PTAG_OFED = 2,
    GNI_PTAG_USER_START = 3,
    GNI_PTAG_LND_KNC = 128,
    GNI_PTAG_USER_END = 253,
    GNI_PTAG_HSNBOOT = 254,
    GNI_PTAG_MAX = 254,
    GNI_PTAG_LB = 255
};
/* Given instead of a tag: the driver finds or allocates the tag of the cookie. */
#define GNI_FIND_ALLOC_PTAG GNI_PTAG_LB

enum {
    GNI_PKEY_INVALID = 0,
    GNI_PKEY_LND = 1,
    GNI_PKEY_OFED = 2,
    GNI_PKEY_USER_START = 128,
    GNI_PKEY_USER_END = 65407,
    GNI_PKEY_HSNBOOT = 65408,
    GNI_PKEY_MAX = 65534,
    GNI_PKEY_LB = 65535
};

/* A cookie carries the protection key in bits 31:16. */
#define GNI_COOKIE_PKEY_MASK 0xFFFF
#define GNI_COOKIE_PKEY_SHIFT 16
#define GNI_COOKIE_CBPS_MDD_MASK 0x7
#define GNI_COOKIE_CBPS_MDD_SHIFT 3
#define GNI_JOB_CREATE_COOKIE(pkey, cbps_mdd)                                                      \
    (((uint32_t)(pkey) << GNI_COOKIE_PKEY_SHIFT) |                                                 \
     (((cbps_mdd) & GNI_COOKIE_CBPS_MDD_MASK) << GNI_COOKIE_CBPS_MDD_SHIFT))

/* ---- communication domain: modes ----------------------------------------------------------- */

/*
 * What a child gets of registered pages after fork: nothing, a copy, or a copy of partial pages
 * (default).
 */
#define GNI_CDM_MODE_FORK_NOCOPY 0x00000001
#define GNI_CDM_MODE_FORK_FULLCOPY 0x00000002
#define GNI_CDM_MODE_FORK_PARTCOPY 0x00000004
/*
 * Which network errors kill the process: none, or every transaction error. Default: critical ones
 * and those that cannot be reported through a queue.
 */
#define GNI_CDM_MODE_ERR_NO_KILL 0x00000008
#define GNI_CDM_MODE_ERR_ALL_KILL 0x00000010
#define GNI_CDM_MODE_FAST_DATAGRAM_POLL 0x00000020 /* datagram tests may miss intermediate states */
#define GNI_CDM_MODE_BTE_SINGLE_CHANNEL 0x00000040 /* required for GNI_RDMAMODE_FENCE */
#define GNI_CDM_MODE_USE_PCI_IOMMU 0x00000080      /* all registrations use it, or fail */
#define GNI_CDM_MODE_MDD_DEDICATED 0x00000100      /* a memory descriptor per registration */
#define GNI_CDM_MODE_MDD_SHARED 0x00000200         /* registrations share descriptors (default) */
#define GNI_CDM_MODE_DUAL_EVENTS 0x00001000        /* LOCAL and GLOBAL event of one post together */
#define GNI_CDM_MODE_DLA_ENABLE_FORWARDING 0x00004000
#define GNI_CDM_MODE_DLA_DISABLE_FORWARDING 0x00008000
#define GNI_CDM_MODE_FMA_DEDICATED 0x00010000         /* an FMA descriptor of its own (default) */
#define GNI_CDM_MODE_FMA_SHARED 0x00020000            /* one shared within the tag */
#define GNI_CDM_MODE_CACHED_AMO_ENABLED 0x00040000
#define GNI_CDM_MODE_CQ_NIC_LOCAL_PLACEMENT 0x00080000
#define GNI_CDM_MODE_FLBTE_DISABLE 0x00100000
#define GNI_CDM_MODE_FMA_SMALL_WINDOW 0x00200000
#define GNI_CDM_MODE_MASK 0x0FFFFFFF
#define GNI_CDM_MODE_PRIV_RESERVED_1 0x10000000
#define GNI_CDM_MODE_PRIV_RESERVED_2 0x20000000
#define GNI_CDM_MODE_PRIV_RESERVED_3 0x40000000
#define GNI_CDM_MODE_PRIV_RESERVED_4 0x80000000
#define GNI_CDM_MODE_PRIV_MASK 0xF0000000

/* ---- registered memory --------------------------------------------------------------------- */

/* A value: copy, compare and send it freely. All zero: no handle. */
typedef struct gni_mem_handle {
    uint64_t qword1;
    uint64_t qword2;
} gni_mem_handle_t;

typedef struct gni_mem_segment {
    uint64_t address;
    uint64_t length;
} gni_mem_segment_t;

/* Questions for GNI_MemHndlQueryAttr. */
typedef enum gni_mem_handle_attr {
    GNI_MEMHNDL_ATTR_READONLY = 1,
    GNI_MEMHNDL_ATTR_VMDH = 2,
    GNI_MEMHNDL_ATTR_MRT = 3,
    GNI_MEMHNDL_ATTR_GART = 4,
    GNI_MEMHNDL_ATTR_IOMMU = 5,
    GNI_MEMHNDL_ATTR_PCI_IOMMU = 6,
    GNI_MEMHNDL_ATTR_CLONE = 7
} gni_mem_handle_attr_t;

#define GNI_MEM_READWRITE 0x00000000
#define GNI_MEM_READ_ONLY 0x00000001          /* the network may not write */
#define GNI_MEM_USE_VMDH 0x00000002           /* in the block of GNI_SetMddResources */
#define GNI_MEM_USE_GART 0x00000004           /* Gemini */
#define GNI_MEM_PHYS_CONT 0x00000008          /* physically contiguous */
#define GNI_MEM_PHYS_SEGMENTS 0x00000010      /* 4 KiB physical pages; kernel only */
#define GNI_MEM_STRICT_PI_ORDERING 0x00000020 /* strict host interface order, wins over RELAXED */
#define GNI_MEM_PI_FLUSH 0x00000040           /* flush before the network response */
#define GNI_MEM_MDD_CLONE 0x00000080
#define GNI_MEM_RELAXED_PI_ORDERING 0x00000100
#define GNI_MEM_RESERVE_REGION 0x00000200 /* reserve the range, give no access yet */
#define GNI_MEM_UPDATE_REGION 0x00000400  /* make pages of a reserved range accessible */
#define GNI_MEM_MDD_SHARED 0x00000800
#define GNI_MEM_MDD_DEDICATED 0x00001000
#define GNI_MEM_PRIV_RESERVED_1 0x00100000
#define GNI_MEM_PRIV_RESERVED_2 0x00200000
#define GNI_MEM_PRIV_RESERVED_3 0x00400000
#define GNI_MEM_PRIV_RESERVED_4 0x00800000
#define GNI_MEM_PRIV_MASK 0x00F00000
#define GNI_MEM_CUDA 0x01000000 /* memory of a GPU */
#define GNI_EXMEM_FLAGS(flag) ((flag) >> 24)
#define GNI_MEM_IS_EXTERNAL(flag) (GNI_EXMEM_FLAGS(flag))

/* ---- completion queues: modes and entries -------------------------------------------------- */

#define GNI_CQ_NOBLOCK 0x00000000
#define GNI_CQ_BLOCKING 0x00000001 /* the waiting functions may be used */
#define GNI_CQ_EMULATED 0x00000002 /* internal */
#define GNI_CQ_EMULATED_INVALID (GNI_CQ_EMULATED | GNI_CQ_BLOCKING)
#define GNI_CQ_PHYS_PAGES 0x00000004
#define GNI_CQ_UNMANAGED 0x00000008 /* a sink: nobody reads it, it never overruns */
#define GNI_CQ_NOAUTOFILL 0x00000010

#define GNI_CQ_IS_NON_BLOCKING(modes) (((modes) & GNI_CQ_BLOCKING) == 0)
#define GNI_CQ_IS_BLOCKING(modes) (((modes) & GNI_CQ_BLOCKING) == GNI_CQ_BLOCKING)
#define GNI_CQ_IS_EMULATED(modes) (((modes) & GNI_CQ_EMULATED) == GNI_CQ_EMULATED)
#define GNI_CQ_IS_NOT_EMULATED(modes) (((modes) & GNI_CQ_EMULATED) == 0)
#define GNI_CQ_IS_INVALID_EMULATED(modes)                                                          \
    (((modes) & GNI_CQ_EMULATED_INVALID) == GNI_CQ_EMULATED_INVALID)
#define GNI_CQ_USE_PHYS_PAGES(modes) (((modes) & GNI_CQ_PHYS_PAGES) == GNI_CQ_PHYS_PAGES)

/* GNI_CQ_GET_TYPE of an entry of a source queue: what kind of request completed. */
#define GNI_CQ_EVENT_TYPE_POST 0x0ULL
#define GNI_CQ_EVENT_TYPE_SMSG 0x1ULL
#define GNI_CQ_EVENT_TYPE_DMAPP 0x2ULL
#define GNI_CQ_EVENT_TYPE_MSGQ 0x3ULL

/*
 * Entry accessors. Getters take the entry by value, setters a pointer. [any thread] Use the macros
 * below: interposers and inline builds may replace the functions.
 */
#ifndef GNI_INLINE_CQ_FUNCTIONS
uint64_t gni_cq_get_data(gni_cq_entry_t entry);
uint64_t gni_cq_get_source(gni_cq_entry_t entry);
uint64_t gni_cq_get_status(gni_cq_entry_t entry);
uint64_t gni_cq_get_info(gni_cq_entry_t entry);
uint64_t gni_cq_overrun(gni_cq_entry_t entry);
uint64_t gni_cq_rem_overrun(gni_cq_entry_t entry);
uint64_t gni_cq_get_inst_id(gni_cq_entry_t entry);
uint64_t gni_cq_get_rem_inst_id(gni_cq_entry_t entry);
uint64_t gni_cq_get_tid(gni_cq_entry_t entry);
uint64_t gni_cq_get_msg_id(gni_cq_entry_t entry);
uint64_t gni_cq_get_type(gni_cq_entry_t entry);
uint64_t gni_cq_get_block_id(gni_cq_entry_t entry);
uint64_t gni_cq_get_unsuccessful_cnt(gni_cq_entry_t entry);
uint64_t gni_cq_get_marker_id(gni_cq_entry_t entry);
uint64_t gni_cq_get_failed_enqueue_cnt(gni_cq_entry_t entry);
uint64_t gni_cq_get_ce_id(gni_cq_entry_t entry);
uint64_t gni_cq_get_reductn_id(gni_cq_entry_t entry);
uint64_t gni_cq_get_trans_type(gni_cq_entry_t entry);
void gni_cq_set_inst_id(gni_cq_entry_t *entry, uint64_t value);
void gni_cq_set_rem_inst_id(gni_cq_entry_t *entry, uint64_t value);
void gni_cq_set_tid(gni_cq_entry_t *entry, uint64_t value);
void gni_cq_set_msg_id(gni_cq_entry_t *entry, uint64_t value);
void gni_cq_set_type(gni_cq_entry_t *entry, uint64_t value);
void gni_cq_clr_status(gni_cq_entry_t *entry);
unsigned gni_cq_status_dla_overflow(gni_cq_entry_t entry);
unsigned gni_cq_bte_enq_status(gni_cq_entry_t entry);
#endif

#define GNI_CQ_GET_DATA gni_cq_get_data               /* payload; of a CQWRITE its 48-bit value */
#define GNI_CQ_GET_SOURCE gni_cq_get_source           /* unit of the NIC that wrote the entry */
#define GNI_CQ_GET_STATUS gni_cq_get_status           /* 0, or A_STATUS_ (exceptions.h) */
#define GNI_CQ_GET_INFO gni_cq_get_info               /* where in the unit */
#define GNI_CQ_OVERRUN gni_cq_overrun                 /* 1: events of this queue were lost */
#define GNI_CQ_REM_OVERRUN gni_cq_rem_overrun         /* 1: the peer's queue overran */
#define GNI_CQ_GET_INST_ID gni_cq_get_inst_id         /* event data of the endpoint, low 24 bits */
#define GNI_CQ_GET_REM_INST_ID gni_cq_get_rem_inst_id /* in a remote event: all 32 bits */
#define GNI_CQ_GET_TID gni_cq_get_tid                 /* request, for GNI_GetCompleted */
#define GNI_CQ_GET_MSG_ID gni_cq_get_msg_id           /* msg_id of the send that completed */
#define GNI_CQ_GET_TYPE gni_cq_get_type               /* GNI_CQ_EVENT_TYPE_ */
#define GNI_CQ_GET_BLOCK_ID gni_cq_get_block_id
#define GNI_CQ_GET_UNSUCCESSFUL_CNT gni_cq_get_unsuccessful_cnt
#define GNI_CQ_GET_MARKER_ID gni_cq_get_marker_id
#define GNI_CQ_GET_FAILED_ENQUEUE_CNT gni_cq_get_failed_enqueue_cnt
#define GNI_CQ_GET_CE_ID gni_cq_get_ce_id
#define GNI_CQ_GET_REDUCTN_ID gni_cq_get_reductn_id
#define GNI_CQ_GET_TRANS_TYPE gni_cq_get_trans_type
#define GNI_CQ_STATUS_OK(entry) (gni_cq_get_status(entry) == 0)
#define GNI_CQ_STATUS_DLA_OVERFLOW gni_cq_status_dla_overflow /* 1: the status is DLA_OVERFLOW */
#define GNI_CQ_BTE_ENQ_STATUS gni_cq_bte_enq_status           /* 1: source BTE, info ENQ_STATUS */
/* These change a variable. */
#define GNI_CQ_SET_INST_ID(entry, value) gni_cq_set_inst_id(&(entry), value)
#define GNI_CQ_SET_REM_INST_ID(entry, value) gni_cq_set_rem_inst_id(&(entry), value)
#define GNI_CQ_SET_TID(entry, value) gni_cq_set_tid(&(entry), value)
#define GNI_CQ_SET_MSG_ID(entry, value) gni_cq_set_msg_id(&(entry), value)
#define GNI_CQ_SET_TYPE(entry, value) gni_cq_set_type(&(entry), value)
#define GNI_CQ_CLR_STATUS(entry) gni_cq_clr_status(&(entry))

/* ---- transactions: what to do -------------------------------------------------------------- */

/* The values are part of the interface: programs test GNI_POST_RDMA_GET as a bit. */
typedef enum gni_post_type {
    GNI_POST_RDMA_PUT = 1,           /* GNI_PostRdma */
    GNI_POST_RDMA_GET = 2,           /* GNI_PostRdma */
    GNI_POST_FMA_PUT = 3,            /* GNI_PostFma, GNI_CtPostFma */
    GNI_POST_FMA_PUT_W_SYNCFLAG = 4, /* GNI_PostFma */
    GNI_POST_FMA_GET = 5,            /* GNI_PostFma, GNI_CtPostFma */
    GNI_POST_AMO = 6,                /* GNI_PostFma, GNI_CtPostFma */
    GNI_POST_CQWRITE = 7,            /* GNI_PostCqWrite, GNI_CtPostCqWrite */
    GNI_POST_CE = 8,                 /* GNI_PostFma */
    GNI_POST_FMA_GET_W_FLAG = 9,     /* GNI_PostFma */
    GNI_POST_AMO_W_FLAG = 10         /* GNI_PostFma */
} gni_post_type_t;

#define GNI_FMA_FLAGGED_RESPONSE_SIZE 4 /* the flag behind the data of the _W_FLAG types */

/*
 * Atomic memory operations on t, the element at the target, with a and b, the operands:
 *   ADD IADD t + a; AND OR XOR t op a; AX (t & a) ^ b; SWAP a; CSWAP (t == a ? b : t); IMIN IMAX
 *   signed; FPMIN FPMAX FPADD IEEE 754.
 * An F before the operation fetches: the old value is stored at local_addr. So does the CSWAP of
 * the first generation, which has no F. Suffixes: none 64 bit, _C 64 bit cached at the target's
 * NIC, _S 32 bit, _SC 32 bit cached. 32-bit forms use the low halves of the operands. In the value
 * 0x100 means no fetch, 0x200 means 32 bit, 0x040 second generation (Aries only).
 */
typedef enum gni_fma_cmd_type {
    /* first generation, fetching */
    GNI_FMA_ATOMIC_FADD = 0x008,
    GNI_FMA_ATOMIC_FADD_C = 0x018,
    GNI_FMA_ATOMIC_FAND = 0x009,
    GNI_FMA_ATOMIC_FAND_C = 0x019,
    GNI_FMA_ATOMIC_FOR = 0x00a,
    GNI_FMA_ATOMIC_FOR_C = 0x01a,
    GNI_FMA_ATOMIC_FXOR = 0x00b,
    GNI_FMA_ATOMIC_FXOR_C = 0x01b,
    GNI_FMA_ATOMIC_FAX = 0x00c,
    GNI_FMA_ATOMIC_FAX_C = 0x01c,
    GNI_FMA_ATOMIC_CSWAP = 0x00d,
    GNI_FMA_ATOMIC_CSWAP_C = 0x01d,
    /* second generation (Aries only), fetching */
    GNI_FMA_ATOMIC2_FAND = 0x041,
    GNI_FMA_ATOMIC2_FAND_C = 0x061,
    GNI_FMA_ATOMIC2_FAND_S = 0x240,
    GNI_FMA_ATOMIC2_FAND_SC = 0x260,
    GNI_FMA_ATOMIC2_FOR = 0x043,
    GNI_FMA_ATOMIC2_FOR_C = 0x063,
    GNI_FMA_ATOMIC2_FOR_S = 0x242,
    GNI_FMA_ATOMIC2_FOR_SC = 0x262,
    GNI_FMA_ATOMIC2_FXOR = 0x045,
    GNI_FMA_ATOMIC2_FXOR_C = 0x065,
    GNI_FMA_ATOMIC2_FXOR_S = 0x244,
    GNI_FMA_ATOMIC2_FXOR_SC = 0x264,
    GNI_FMA_ATOMIC2_FSWAP = 0x047,
    GNI_FMA_ATOMIC2_FSWAP_C = 0x067,
    GNI_FMA_ATOMIC2_FSWAP_S = 0x246,
    GNI_FMA_ATOMIC2_FSWAP_SC = 0x266,
    GNI_FMA_ATOMIC2_FAX = 0x049,
    GNI_FMA_ATOMIC2_FAX_C = 0x069,
    GNI_FMA_ATOMIC2_FAX_S = 0x248,
    GNI_FMA_ATOMIC2_FAX_SC = 0x268,
    GNI_FMA_ATOMIC2_FCSWAP = 0x04b,
    GNI_FMA_ATOMIC2_FCSWAP_C = 0x06b,
    GNI_FMA_ATOMIC2_FCSWAP_S = 0x24a,
    GNI_FMA_ATOMIC2_FCSWAP_SC = 0x26a,
    GNI_FMA_ATOMIC2_FIMIN = 0x051,
    GNI_FMA_ATOMIC2_FIMIN_C = 0x071,
    GNI_FMA_ATOMIC2_FIMIN_S = 0x250,
    GNI_FMA_ATOMIC2_FIMIN_SC = 0x270,
    GNI_FMA_ATOMIC2_FIMAX = 0x053,
    GNI_FMA_ATOMIC2_FIMAX_C = 0x073,
    GNI_FMA_ATOMIC2_FIMAX_S = 0x252,
    GNI_FMA_ATOMIC2_FIMAX_SC = 0x272,
    GNI_FMA_ATOMIC2_FIADD = 0x055,
    GNI_FMA_ATOMIC2_FIADD_C = 0x075,
    GNI_FMA_ATOMIC2_FIADD_S = 0x254,
    GNI_FMA_ATOMIC2_FIADD_SC = 0x274,
    GNI_FMA_ATOMIC2_FFPMIN = 0x059,
    GNI_FMA_ATOMIC2_FFPMIN_C = 0x079,
    GNI_FMA_ATOMIC2_FFPMIN_S = 0x258,
    GNI_FMA_ATOMIC2_FFPMIN_SC = 0x278,
    GNI_FMA_ATOMIC2_FFPMAX = 0x05b,
    GNI_FMA_ATOMIC2_FFPMAX_C = 0x07b,
    GNI_FMA_ATOMIC2_FFPMAX_S = 0x25a,
    GNI_FMA_ATOMIC2_FFPMAX_SC = 0x27a,
    GNI_FMA_ATOMIC2_FFPADD = 0x05d,
    GNI_FMA_ATOMIC2_FFPADD_C = 0x07d,
    GNI_FMA_ATOMIC2_FFPADD_S = 0x25c,
    GNI_FMA_ATOMIC2_FFPADD_SC = 0x27c,
    /* first generation, no fetch */
    GNI_FMA_ATOMIC_ADD = 0x108,
    GNI_FMA_ATOMIC_ADD_C = 0x118,
    GNI_FMA_ATOMIC_AND = 0x109,
    GNI_FMA_ATOMIC_AND_C = 0x119,
    GNI_FMA_ATOMIC_OR = 0x10a,
    GNI_FMA_ATOMIC_OR_C = 0x11a,
    GNI_FMA_ATOMIC_XOR = 0x10b,
    GNI_FMA_ATOMIC_XOR_C = 0x11b,
    GNI_FMA_ATOMIC_AX = 0x10c,
    GNI_FMA_ATOMIC_AX_C = 0x11c,
    /* second generation (Aries only), no fetch */
    GNI_FMA_ATOMIC2_AND = 0x141,
    GNI_FMA_ATOMIC2_AND_C = 0x161,
    GNI_FMA_ATOMIC2_AND_S = 0x340,
    GNI_FMA_ATOMIC2_AND_SC = 0x360,
    GNI_FMA_ATOMIC2_OR = 0x143,
    GNI_FMA_ATOMIC2_OR_C = 0x163,
    GNI_FMA_ATOMIC2_OR_S = 0x342,
    GNI_FMA_ATOMIC2_OR_SC = 0x362,
    GNI_FMA_ATOMIC2_XOR = 0x145,
    GNI_FMA_ATOMIC2_XOR_C = 0x165,
    GNI_FMA_ATOMIC2_XOR_S = 0x344,
    GNI_FMA_ATOMIC2_XOR_SC = 0x364,
    GNI_FMA_ATOMIC2_SWAP = 0x147,
    GNI_FMA_ATOMIC2_SWAP_C = 0x167,
    GNI_FMA_ATOMIC2_SWAP_S = 0x346,
    GNI_FMA_ATOMIC2_SWAP_SC = 0x366,
    GNI_FMA_ATOMIC2_AX = 0x149,
    GNI_FMA_ATOMIC2_AX_C = 0x169,
    GNI_FMA_ATOMIC2_AX_S = 0x348,
    GNI_FMA_ATOMIC2_AX_SC = 0x368,
    GNI_FMA_ATOMIC2_CSWAP = 0x14b,
    GNI_FMA_ATOMIC2_CSWAP_C = 0x16b,
    GNI_FMA_ATOMIC2_CSWAP_S = 0x34a,
    GNI_FMA_ATOMIC2_CSWAP_SC = 0x36a,
    GNI_FMA_ATOMIC2_IMIN = 0x151,
    GNI_FMA_ATOMIC2_IMIN_C = 0x171,
    GNI_FMA_ATOMIC2_IMIN_S = 0x350,
    GNI_FMA_ATOMIC2_IMIN_SC = 0x370,
    GNI_FMA_ATOMIC2_IMAX = 0x153,
    GNI_FMA_ATOMIC2_IMAX_C = 0x173,
    GNI_FMA_ATOMIC2_IMAX_S = 0x352,
    GNI_FMA_ATOMIC2_IMAX_SC = 0x372,
    GNI_FMA_ATOMIC2_IADD = 0x155,
    GNI_FMA_ATOMIC2_IADD_C = 0x175,
    GNI_FMA_ATOMIC2_IADD_S = 0x354,
    GNI_FMA_ATOMIC2_IADD_SC = 0x374,
    GNI_FMA_ATOMIC2_FPMIN = 0x159,
    GNI_FMA_ATOMIC2_FPMIN_C = 0x179,
    GNI_FMA_ATOMIC2_FPMIN_S = 0x358,
    GNI_FMA_ATOMIC2_FPMIN_SC = 0x378,
    GNI_FMA_ATOMIC2_FPMAX = 0x15b,
    GNI_FMA_ATOMIC2_FPMAX_C = 0x17b,
    GNI_FMA_ATOMIC2_FPMAX_S = 0x35a,
    GNI_FMA_ATOMIC2_FPMAX_SC = 0x37a,
    GNI_FMA_ATOMIC2_FPADD = 0x15d,
    GNI_FMA_ATOMIC2_FPADD_C = 0x17d,
    GNI_FMA_ATOMIC2_FPADD_S = 0x35c,
    GNI_FMA_ATOMIC2_FPADD_SC = 0x37c
} gni_fma_cmd_type_t;

/*
 * Commands of the collective engine. _S: 32-bit operands. MIN and MAX carry an index in the second
 * operand; of equal values the one with the lowest (LIDX) or greatest (GIDX) index wins.
 */
typedef enum gni_ce_cmd_type {
    GNI_FMA_CE_AND_S = 0x00,
    GNI_FMA_CE_AND = 0x01,
    GNI_FMA_CE_OR_S = 0x02,
    GNI_FMA_CE_OR = 0x03,
    GNI_FMA_CE_XOR_S = 0x04,
    GNI_FMA_CE_XOR = 0x05,
    GNI_FMA_CE_IMIN_LIDX_S = 0x10,
    GNI_FMA_CE_IMIN_LIDX = 0x11,
    GNI_FMA_CE_IMAX_LIDX_S = 0x12,
    GNI_FMA_CE_IMAX_LIDX = 0x13,
    GNI_FMA_CE_IADD_S = 0x14,
    GNI_FMA_CE_IADD = 0x15,
    GNI_FMA_CE_FPMIN_LIDX_S = 0x18,
    GNI_FMA_CE_FPMIN_LIDX = 0x19,
    GNI_FMA_CE_FPMAX_LIDX_S = 0x1a,
    GNI_FMA_CE_FPMAX_LIDX = 0x1b,
    GNI_FMA_CE_FPADD_S = 0x1c,
    GNI_FMA_CE_FPADD = 0x1d,
    GNI_FMA_CE_IMIN_GIDX_S = 0x30,
    GNI_FMA_CE_IMIN_GIDX = 0x31,
    GNI_FMA_CE_IMAX_GIDX_S = 0x32,
    GNI_FMA_CE_IMAX_GIDX = 0x33,
    GNI_FMA_CE_FPMIN_GIDX_S = 0x38,
    GNI_FMA_CE_FPMIN_GIDX = 0x39,
    GNI_FMA_CE_FPMAX_GIDX_S = 0x3a,
    GNI_FMA_CE_FPMAX_GIDX = 0x3b
} gni_ce_cmd_type_t;

/* cq_mode of a post: which events it shall cause. FMA, AMO and CQWRITE have no LOCAL event. */
#define GNI_CQMODE_SILENT 0x0000
#define GNI_CQMODE_LOCAL_EVENT 0x0001  /* the source buffer may be reused */
#define GNI_CQMODE_GLOBAL_EVENT 0x0002 /* the data is visible at the target */
#define GNI_CQMODE_REMOTE_EVENT 0x0004 /* in the queue of the target's registration */
#define GNI_CQMODE_DUAL_EVENTS (GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT)

/* dlvr_mode of a post: routing and order. PERFORMANCE promises no order at all. */
#define GNI_DLVMODE_PERFORMANCE 0x0000
#define GNI_DLVMODE_NO_ADAPT 0x0001
#define GNI_DLVMODE_NO_HASH 0x0002
#define GNI_DLVMODE_NO_RADAPT 0x0004
#define GNI_DLVMODE_IN_ORDER (GNI_DLVMODE_NO_ADAPT | GNI_DLVMODE_NO_HASH)
#define GNI_DLVMODE_MNON_HASH GNI_DLVMODE_IN_ORDER
#define GNI_DLVMODE_NMIN_HASH 0x0008
#define GNI_DLVMODE_MIN_HASH 0x0010
#define GNI_DLVMODE_ADAPTIVE0 GNI_DLVMODE_PERFORMANCE
#define GNI_DLVMODE_ADAPTIVE1 0x0020
#define GNI_DLVMODE_ADAPTIVE2 0x0040
#define GNI_DLVMODE_ADAPTIVE3 0x0080
#define GNI_DLVMODE_ORDERED_TAIL 0x0100

/* rdma_mode of GNI_PostRdma. */
#define GNI_RDMAMODE_PHYS_ADDR 0x0001 /* kernel only */
#define GNI_RDMAMODE_FENCE 0x0002     /* starts when all earlier ones of the channel are done */
#define GNI_RDMAMODE_GETWC_DIS 0x0004

/* ---- post descriptors ---------------------------------------------------------------------- */

typedef struct gni_post_descriptor {
    void *next_descr;                 /* GNI_Ct: first chained element; else the library's */
    void *prev_descr;                 /* the library's */
    uint64_t post_id;                 /* the caller's, returned unchanged */
    uint64_t status;                  /* out: gni_return_t; GNI_RC_NOT_DONE while posted */
    uint16_t cq_mode_complete;        /* out: events that were collected */
    gni_post_type_t type;             /* all */
    uint16_t cq_mode;                 /* all: GNI_CQMODE_ */
    uint16_t dlvr_mode;               /* all: GNI_DLVMODE_ */
    uint64_t local_addr;              /* source of PUT; destination of GET, fetch, CE */
    gni_mem_handle_t local_mem_hndl;  /* RDMA, GET, fetch, CE; an FMA PUT needs none */
    uint64_t remote_addr;             /* PUT, GET, AMO; offset if segmented */
    gni_mem_handle_t remote_mem_hndl; /* PUT, GET, AMO, CQWRITE */
    uint64_t length;                  /* PUT, GET, AMO: bytes */
    uint16_t rdma_mode;               /* RDMA: GNI_RDMAMODE_ */
    gni_cq_handle_t src_cq_hndl;      /* RDMA: queue of the events; NULL: the endpoint's */
    uint64_t sync_flag_value;         /* PUT_W_SYNCFLAG, _W_FLAG: stored after the data */
    uint64_t sync_flag_addr;          /* PUT_W_SYNCFLAG: where, in remote_mem_hndl */
    gni_fma_cmd_type_t amo_cmd;       /* AMO */
    uint64_t first_operand;           /* AMO, CE */
    uint64_t second_operand;          /* AMO, CE */
    uint64_t cqwrite_value;           /* CQWRITE: low 48 bits are delivered */
    gni_ce_cmd_type_t ce_cmd;         /* CE */
    uint32_t ce_mode;                 /* CE: GNI_CEMODE_ */
    uint64_t ce_red_id;               /* CE: reduction id */
} gni_post_descriptor_t;

/*
 * Elements of a chain. Each names its own peer; next_descr NULL ends the chain. PUT is a prefix of
 * GET, and GET of AMO, so one array type may serve all three.
 */
typedef struct gni_ct_put_post_descriptor {
    void *next_descr;
    gni_ep_handle_t ep_hndl;
    uint64_t length;
    uint64_t remote_addr;
    gni_mem_handle_t remote_mem_hndl;
    uint64_t local_addr;
} gni_ct_put_post_descriptor_t;

typedef struct gni_ct_get_post_descriptor {
    void *next_descr;
    gni_ep_handle_t ep_hndl;
    uint64_t length;
    uint64_t remote_addr;
    gni_mem_handle_t remote_mem_hndl;
    uint64_t local_addr;
    gni_mem_handle_t local_mem_hndl;
} gni_ct_get_post_descriptor_t;

typedef struct gni_ct_amo_post_descriptor {
    void *next_descr;
    gni_ep_handle_t ep_hndl;
    uint64_t length;
    uint64_t remote_addr;
    gni_mem_handle_t remote_mem_hndl;
    uint64_t local_addr;
    gni_mem_handle_t local_mem_hndl;
    gni_fma_cmd_type_t amo_cmd;
    uint64_t first_operand;
    uint64_t second_operand;
} gni_ct_amo_post_descriptor_t;

typedef struct gni_ct_cqw_post_descriptor {
    void *next_descr;
    gni_ep_handle_t ep_hndl;
    gni_mem_handle_t remote_mem_hndl;
    uint64_t cqwrite_value;
} gni_ct_cqw_post_descriptor_t;

typedef struct gni_ct_uni_post_descriptor {
    union {
        gni_ct_put_post_descriptor_t put;
        gni_ct_get_post_descriptor_t get;
        gni_ct_amo_post_descriptor_t amo;
        gni_ct_cqw_post_descriptor_t cqw;
    } u;
} gni_ct_uni_post_descriptor_t;

/* ---- datagrams ----------------------------------------------------------------------------- */

#define GNI_DATAGRAM_MAXSIZE 128

typedef enum gni_post_state {
    GNI_POST_PENDING = 0,
    GNI_POST_COMPLETED = 1,  /* final: data was exchanged */
    GNI_POST_ERROR = 2,      /* final */
    GNI_POST_TIMEOUT = 3,    /* final: the peer's node cannot be reached */
    GNI_POST_TERMINATED = 4, /* final: cancelled here or there */
    GNI_POST_REMOTE_DATA = 5 /* the peer posted, nothing was posted here */
} gni_post_state_t;

/* ---- short messages ------------------------------------------------------------------------ */

typedef enum gni_smsg_type {
    GNI_SMSG_TYPE_INVALID = 0,
    GNI_SMSG_TYPE_MBOX = 1,                /* the first failure of a send is reported */
    GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT = 2 /* recoverable failures are sent again */
} gni_smsg_type_t;

#define GNI_SMSG_ANY_TAG 0xFF
#define GNI_SMSG_MAX_SIZE 65535        /* header and data together */
#define FMA_SMSG_MAX_RETRANS_DEFAULT 10

/* A mailbox, described by its owner to the peer. */
typedef struct gni_smsg_attr {
    gni_smsg_type_t msg_type;
    void *msg_buffer;          /* owner's address of the buffer that holds the mailbox */
    uint32_t buff_size;        /* bytes of this mailbox */
    gni_mem_handle_t mem_hndl; /* registration that covers it; its queue gets the arrivals */
    uint32_t mbox_offset;      /* bytes from msg_buffer */
    uint16_t mbox_maxcredit;   /* messages in flight in one direction */
    uint32_t msg_maxsize;      /* bytes of header and data of one message */
} gni_smsg_attr_t;

/* ---- shared message queues ----------------------------------------------------------------- */

#define GNI_MSGQ_MSG_SZ_MAX 128
#define GNI_MSGQ_NODE_INSTS_MAX 128
#define GNI_MSGQ_MODE_BLOCKING 0x01

/*
 * Called by GNI_MsgqProgress for each message; msg is valid during the call only. Returns 0 to make
 * GNI_MsgqProgress return, anything else to go on with the next message.
 */
typedef int gni_msgq_rcv_cb_func(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag,
                                 void *cb_data);

typedef struct gni_msgq_attr {
    uint32_t max_msg_sz;   /* at most GNI_MSGQ_MSG_SZ_MAX */
    uint32_t smsg_q_sz;    /* credits of a connection: 1, or an even number */
    uint32_t rcv_pool_sz;  /* receive buffers of an instance */
    uint32_t num_msgq_eps; /* connections, that is remote nodes */
    uint32_t nloc_insts;   /* instances on this node */
    uint8_t modes;         /* GNI_MSGQ_MODE_ */
    uint32_t rcv_cq_sz;    /* entries of the private receive queue */
} gni_msgq_attr_t;

typedef struct gni_msgq_rem_inst {
    uint32_t id;          /* instance */
    gni_mem_handle_t mdh; /* its node's shared region */
    uint64_t mdh_off;     /* its mailbox in there */
} gni_msgq_rem_inst_t;

typedef struct gni_msgq_ep_attr {
    uint32_t pe_addr;
    uint32_t max_msg_sz;
    uint32_t smsg_q_sz;
    uint32_t num_insts;
    gni_msgq_rem_inst_t insts[GNI_MSGQ_NODE_INSTS_MAX];
} gni_msgq_ep_attr_t;

/* ---- collective engine --------------------------------------------------------------------- */

#define GNI_CE_MAX_CHILDREN 32

typedef enum { GNI_CE_CHILD_UNUSED = 0, GNI_CE_CHILD_VCE = 1, GNI_CE_CHILD_PE = 2 } gni_ce_child_t;

/* Modes of GNI_CeConfigure: one rounding mode, one event mode, one routing mode. */
#define GNI_CE_MODE_ROUND_UP 0x00000001
#define GNI_CE_MODE_ROUND_DOWN 0x00000002
#define GNI_CE_MODE_ROUND_NEAR 0x00000004
#define GNI_CE_MODE_ROUND_ZERO 0x00000008
#define GNI_CE_MODE_CQE_ONCOMP 0x00000010
#define GNI_CE_MODE_CQE_ONERR 0x00000040
#define GNI_CE_MODE_RC_NMIN_HASH 0x00000080
#define GNI_CE_MODE_RC_MIN_HASH 0x00000100
#define GNI_CE_MODE_RC_MNON_HASH 0x00000200
#define GNI_CE_MODE_RC_ADAPT 0x00000400

/* ce_mode of a post. */
#define GNI_CEMODE_TWO_OP (1 << 0)       /* AND, OR, XOR, ADD: reduce both operands */
#define GNI_CEMODE_FPE_OP_INVAL (1 << 1) /* the operands are a partial result with this exception */
#define GNI_CEMODE_FPE_OFLOW (1 << 2)
#define GNI_CEMODE_FPE_UFLOW (1 << 3)
#define GNI_CEMODE_FPE_PRECISION (1 << 4)

/* Where a reduction delivers; registered, 32-byte aligned, zeroed by the caller before the post. */
typedef struct gni_ce_result {
    uint64_t control; /* written last; 0: not delivered yet; read it with the macros below */
    uint64_t result1;
    uint64_t result2;
} gni_ce_result_t;

/* Floating-point exceptions in GNI_CE_RES_GET_FPE. */
#define GNI_CE_FPE_OP_INVAL 0x1
#define GNI_CE_FPE_OFLOW 0x2
#define GNI_CE_FPE_UFLOW 0x4
#define GNI_CE_FPE_PRECISION 0x8

/* [any thread] */
uint64_t gni_ce_res_get_status(gni_ce_result_t *result);
uint64_t gni_ce_res_status_ok(gni_ce_result_t *result);
uint64_t gni_ce_res_get_fpe(gni_ce_result_t *result);
uint64_t gni_ce_res_get_red_id(gni_ce_result_t *result);
#define GNI_CE_RES_GET_STATUS gni_ce_res_get_status /* 0, or the status code of the failure */
#define GNI_CE_RES_STATUS_OK gni_ce_res_status_ok   /* 1: status 0 */
#define GNI_CE_RES_GET_FPE gni_ce_res_get_fpe       /* GNI_CE_FPE_ */
#define GNI_CE_RES_GET_RED_ID gni_ce_res_get_red_id /* ce_red_id of the reduction */

/* ---- jobs and address translation ---------------------------------------------------------- */

#define GNI_JOB_INVALID_LIMIT (-1) /* leave this limit as it is */
#define GNI_JOB_CTRL_NTT_CLEANUP (0x01)
/* Names for the channels of the collective engine. No field takes them: ce_limit is a number. */
#define GNI_JOB_CTRL_CE0_MASK (1 << 0)
#define GNI_JOB_CTRL_CE1_MASK (1 << 1)
#define GNI_JOB_CTRL_CE2_MASK (1 << 2)
#define GNI_JOB_CTRL_CE3_MASK (1 << 3)
#define GNI_JOB_CTRL_ALL_CE_MASK                                                                   \
    (GNI_JOB_CTRL_CE0_MASK | GNI_JOB_CTRL_CE1_MASK | GNI_JOB_CTRL_CE2_MASK | GNI_JOB_CTRL_CE3_MASK)

typedef struct gni_job_limits {
    int32_t mdd_limit;
    union {
        int32_t mrt_limit; /* Gemini */
        struct {
            uint8_t ce_limit;    /* collective engine channels */
            uint8_t iommu_limit; /* address space, 2^N MiB */
            uint8_t res_byte2;
            uint8_t res_byte3;
        } m; /* Aries */
    } a;
    union {
        int32_t gart_limit; /* Gemini */
        int32_t dla_limit;  /* Aries */
    } b;
    int32_t fma_limit;
    int32_t bte_limit; /* outstanding descriptors */
    int32_t cq_limit;
    int32_t ntt_ctrl; /* GNI_JOB_CTRL_NTT_CLEANUP */
    int32_t ntt_base;
    int32_t ntt_size;
} gni_job_limits_t;

typedef struct gni_ntt_entry {
    uint32_t blck_addr;
    uint32_t rplc_addr;
    uint8_t rplc_size;
} gni_ntt_entry_t;

typedef struct gni_ntt_descriptor {
    uint32_t group_size;
    uint8_t granularity;
    union {
        uint32_t *table;           /* Gemini */
        gni_ntt_entry_t *table_v2; /* Aries */
    } u;
    uint8_t flags; /* unused */
} gni_ntt_descriptor_t;

/* ---- error events -------------------------------------------------------------------------- */

#define GNI_ERRMASK_CORRECTABLE_MEMORY (1 << 0)
#define GNI_ERRMASK_CRITICAL (1 << 1)
#define GNI_ERRMASK_TRANSACTION (1 << 2)
#define GNI_ERRMASK_ADDRESS_TRANSLATION (1 << 3)
#define GNI_ERRMASK_TRANSIENT (1 << 4)
#define GNI_ERRMASK_INFORMATIONAL (1 << 5)
#define GNI_ERRMASK_DIAG_ONLY (1 << 6)
#define GNI_ERRMASK_UNKNOWN_TRANSACTION (1 << 7)

typedef struct gni_error_event {
    uint16_t error_code;
    uint8_t error_category; /* GNI_ERRMASK_ */
    uint8_t ptag;           /* whom it concerns */
    uint32_t serial_number; /* counts per NIC */
    uint64_t timestamp;     /* ns */
    uint64_t info_mmrs[4];  /* registers of the NIC */
} gni_error_event_t;

/* ---- devices, resources, statistics -------------------------------------------------------- */

typedef enum gni_nic_device {
    GNI_DEVICE_GEMINI = 0,
    GNI_DEVICE_ARIES = 1,
    GNI_DEVICE_PISCES = 2,
    GNI_DEVICE_LAST = 3
} gni_nic_device_t;

typedef struct gni_version_info {
    uint32_t ugni_version; /* as GNI_VERSION */
    uint32_t ugni_svn_revision;
    char ugni_build_string[MAX_BUILD_STRING_LENGTH];
    uint32_t kgni_version; /* of the driver */
    uint32_t kgni_svn_revision;
    char kgni_build_string[MAX_BUILD_STRING_LENGTH];
} gni_version_info_t;

typedef enum gni_dev_res {
    GNI_DEV_RES_FIRST = 0,
    GNI_DEV_RES_MDD = 1,
    GNI_DEV_RES_MRT = 2,
    GNI_DEV_RES_CQ = 3,
    GNI_DEV_RES_FMA = 4,
    GNI_DEV_RES_CE = 5,
    GNI_DEV_RES_DLA = 6,
    GNI_DEV_RES_TCR = 7,
    GNI_DEV_RES_DVA = 8,
    GNI_DEV_RES_LAST = 9
} gni_dev_res_t;

typedef struct gni_dev_res_desc {
    uint64_t available;
    uint64_t reserved;
    uint64_t held;
    uint64_t total;
} gni_dev_res_desc_t;

typedef enum gni_job_res {
    GNI_JOB_RES_FIRST = 0,
    GNI_JOB_RES_MDD = 1,
    GNI_JOB_RES_MRT = 2,
    GNI_JOB_RES_IOMMU = 3,
    GNI_JOB_RES_GART = 4,
    GNI_JOB_RES_CQ = 5,
    GNI_JOB_RES_FMA = 6,
    GNI_JOB_RES_RDMA = 7,
    GNI_JOB_RES_RMDA = GNI_JOB_RES_RDMA, /* as release 0x5c spells it */
    GNI_JOB_RES_CE = 8,
    GNI_JOB_RES_DLA = 9,
    GNI_JOB_RES_SFMA = 10,
    GNI_JOB_RES_DIRECT = 11,
    GNI_JOB_RES_PCI_IOMMU = 12,
    GNI_JOB_RES_NONVMDH = 13,
    GNI_JOB_RES_LAST = 14
} gni_job_res_t;

typedef struct gni_job_res_desc {
    uint64_t used;
    uint64_t limit;
} gni_job_res_desc_t;

/*
 * 1 when the resource exists and this device has it, else 0. The name is never NULL: that of the
 * enumerator without its prefix, or "UNKNOWN"; static memory. [any thread]
 */
uint32_t gni_dev_res_valid(gni_dev_res_t res_type);
const char *gni_dev_res_to_str(gni_dev_res_t res_type);
uint32_t gni_job_res_valid(gni_job_res_t res_type);
const char *gni_job_res_to_str(gni_job_res_t res_type);

/*
 * Counters of a NIC handle. The library counts by the Aries numbering; a program that is compiled
 * without CRAY_CONFIG_GHAL_ARIES sees the first seven alike.
 */
typedef enum gni_statistic {
    GNI_STAT_SMSG_BUFF_CREDITS_STALL,
    GNI_STAT_SMSG_DLA_STALL,
    GNI_STAT_SMSG_MBOX_CREDITS_STALL,
    GNI_STAT_SMSG_REQ_STALL,
    GNI_STAT_SMSG_RETRANS_COUNT,
    GNI_STAT_SMSG_RETRANS_DLA_COUNT,
    GNI_STAT_SMSG_RETRANS_STALL,
#ifdef CRAY_CONFIG_GHAL_ARIES
    GNI_STAT_DLA_ALLOC_STATUS_STALL,
    GNI_STAT_DLA_ALLOC_STATUS_TIMEOUT,
    GNI_STAT_DLA_BLOCK_ORPHANED,
    GNI_STAT_DLA_BLOCK_RETRANS_COUNT,
    GNI_STAT_DLA_FREE_BLOCKS_STALL,
    GNI_STAT_DLA_FREE_FMAD_BLOCKS_STALL,
    GNI_STAT_DLA_HIGH_RETRANS_COUNT,
    GNI_STAT_DLA_OVERFLOW_RESEND,
    GNI_STAT_DLA_RETRANS_COUNT,
    GNI_STAT_DLA_TOTAL_RETRANS_COUNT,
    GNI_STAT_FLBTE_TXD_CORRUPT,
    GNI_STAT_FLBTE_TXD_NONE,
    GNI_STAT_FMA_LAUNCH_COUNT,
#endif
    GNI_STAT_MR_MULTI_PAGESIZE,
    GNI_NUM_STATS
} gni_statistic_t;

/* Names without GNI_STAT_, 21 in the Aries numbering. Read-only. */
extern const char *gni_statistic_str[];

/* ---- balanced injection -------------------------------------------------------------------- */

#define GNI_BI_FLAG_APPLY_NOW 0x1
#define GNI_BI_FLAG_APPLY_AFTER_THROTTLE 0x2
#define GNI_BI_FLAG_USE_DEFAULT_SETTINGS 0x4
#define GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES 0x8
#define GNI_BI_INJECT_BW_MIN 0 /* percent */
#define GNI_BI_INJECT_BW_MAX 100
#define GNI_BI_INJECT_BW_ORB_MIN 0 /* entries of the outstanding request buffer */
#define GNI_BI_INJECT_BW_ORB_MAX 992

typedef struct gni_bi_desc {
    uint16_t current_bw;
    uint16_t current_aot_bw;
    uint16_t current_norbs;
    uint16_t flags;
    uint16_t sys_def_bw;
    uint16_t sys_def_aot_bw;
    uint16_t cle_seqnum;
    uint16_t hss_seqnum;
} gni_bi_desc_t;

/* clang-format on */

/* ---- functions: communication domain and NIC ----------------------------------------------- */

/*
 * Makes a communication domain: instance inst_id of the job that (ptag, cookie) names, with
 * GNI_CDM_MODE_ modes. Nothing is checked against the NIC before GNI_CdmAttach.
 * ERROR_NOMEM.
 */
gni_return_t GNI_CdmCreate(IN uint32_t inst_id, IN uint8_t ptag, IN uint32_t cookie,
                           IN uint32_t modes, OUT gni_cdm_handle_t *cdm_hndl);

/*
 * Ends a domain, whatever state it is in: detaches its NICs and releases all endpoints, queues,
 * registrations, datagrams and subscriptions that were made from them. Threads blocked in them
 * return GNI_RC_INVALID_PARAM.
 */
gni_return_t GNI_CdmDestroy(IN gni_cdm_handle_t cdm_hndl);

/*
 * Network address of a NIC, and the first CPU connected to it. Needs no domain. [any thread]
 * NO_MATCH: no such device.
 */
gni_return_t GNI_CdmGetNicAddress(IN uint32_t device_id, OUT uint32_t *address,
                                  OUT uint32_t *cpu_id);

/*
 * Attaches a domain to NIC device_id (all bits set: the nearest) and returns the NIC handle and the
 * address by which peers bind to it.
 * NO_MATCH: no such device. PERMISSION_ERROR: (ptag, cookie) is not configured on the node, or for
 * another job. INVALID_STATE: an instance with the same ptag, cookie and inst_id is attached
 * already. ERROR_RESOURCE: no FMA descriptor left for a domain that wants its own, or a job limit.
 * ERROR_NOMEM. NOT_DONE: interrupted.
 */
gni_return_t GNI_CdmAttach(IN gni_cdm_handle_t cdm_hndl, IN uint32_t device_id,
                           OUT uint32_t *local_addr, OUT gni_nic_handle_t *nic_hndl);

/* ---- functions: jobs (privileged) ---------------------------------------------------------- */

/*
 * Stops the network traffic of a job. [blocks]
 * TIMEOUT. PERMISSION_ERROR. NOT_DONE: try again. INVALID_STATE: already asked for. ERROR_RESOURCE:
 * the job cannot be suspended.
 */
gni_return_t GNI_SuspendJob(IN uint32_t device_id, IN uint64_t job_id, IN uint8_t ptag,
                            IN uint32_t cookie, IN uint32_t timeout);

/* Lets a suspended job go on. PERMISSION_ERROR. INVALID_STATE: it is not suspended. */
gni_return_t GNI_ResumeJob(IN uint32_t device_id, IN uint64_t job_id, IN uint8_t ptag,
                           IN uint32_t cookie);

/*
 * Sets entries of the node translation table. *ntt_base: the wanted first entry, or -1; returns the
 * one given. A NULL table clears the range; base -1, group_size -1 and a NULL table clear all that
 * is unused.
 * PERMISSION_ERROR. ERROR_RESOURCE. ERROR_NOMEM. NO_MATCH: no such device.
 */
gni_return_t GNI_ConfigureNTT(IN int device_id, IN gni_ntt_descriptor_t *ntt_desc,
                              INOUT uint32_t *ntt_base);

/*
 * Makes (job_id, ptag, cookie) known on a NIC, which must precede GNI_CdmAttach, and stores every
 * limit that is not GNI_JOB_INVALID_LIMIT. Repeating it replaces the limits. limits NULL: none.
 * job_id 0: for any process.
 * PERMISSION_ERROR. NO_MATCH: no such device or translation range. INVALID_STATE: ptag belongs to
 * another job or cookie. ILLEGAL_OP: the translation range would be resized. ERROR_RESOURCE.
 * ERROR_NOMEM.
 */
gni_return_t GNI_ConfigureJob(IN uint32_t device_id, IN uint64_t job_id, IN uint8_t ptag,
                              IN uint32_t cookie, IN gni_job_limits_t *limits);

/* GNI_ConfigureNTT, then GNI_ConfigureJob; ntt_desc NULL: the latter only. Errors of both. */
gni_return_t GNI_ConfigureNTTandJob(IN int device_id, IN uint64_t job_id, IN uint8_t ptag,
                                    IN uint32_t cookie, IN gni_job_limits_t *limits,
                                    IN gni_ntt_descriptor_t *ntt_desc, INOUT uint32_t *ntt_base);

/* ---- functions: endpoints ------------------------------------------------------------------ */

/*
 * Makes an unbound endpoint whose transactions complete in src_cq_hndl. NULL: it can do datagrams
 * only.
 * ERROR_NOMEM.
 */
gni_return_t GNI_EpCreate(IN gni_nic_handle_t nic_hndl, IN gni_cq_handle_t src_cq_hndl,
                          OUT gni_ep_handle_t *ep_hndl);

/*
 * Sets what events tell: local_event in source events of this endpoint (low 24 bits on Aries),
 * remote_event in events at the peer. Taken when a transaction is posted: later changes do not
 * touch it. GNI_EpBind sets the defaults again.
 */
gni_return_t GNI_EpSetEventData(IN gni_ep_handle_t ep_hndl, IN uint32_t local_event,
                                IN uint32_t remote_event);

/*
 * Binds an endpoint to the NIC at remote_addr and, for datagrams, to the instance remote_id there.
 * Event data becomes local_event = remote_id, remote_event = own inst_id.
 * INVALID_PARAM: bound already; its queue is a destination queue. ERROR_RESOURCE. ERROR_NOMEM.
 */
gni_return_t GNI_EpBind(IN gni_ep_handle_t ep_hndl, IN uint32_t remote_addr, IN uint32_t remote_id);

/*
 * Undoes GNI_EpBind and GNI_SmsgInit. An unbound endpoint stays as it is.
 * NOT_DONE: transactions with events are not collected yet, or a datagram is not consumed.
 */
gni_return_t GNI_EpUnbind(IN gni_ep_handle_t ep_hndl);

/* Tells whether GNI_EpUnbind would succeed (SUCCESS) or not (NOT_DONE), and changes nothing. */
gni_return_t GNI_EpIdle(IN gni_ep_handle_t ep_hndl);

/* Ends an endpoint, whatever is outstanding: cancels its datagrams and forgets its transactions. */
gni_return_t GNI_EpDestroy(IN gni_ep_handle_t ep_hndl);

/* ---- functions: datagrams ------------------------------------------------------------------ */

/*
 * Offers data to the instance that the endpoint is bound to, in exchange for the data that it
 * offers: datagrams are symmetric, both sides post. in_data is copied (NULL: nothing); out_buf
 * belongs to the library until a Test or Wait function reports a final state, and is filled by that
 * call.
 * SIZE_ERROR: more than GNI_DATAGRAM_MAXSIZE. INVALID_PARAM: unbound. ERROR_RESOURCE: a datagram of
 * this endpoint is not consumed yet, or one with the same peer. ERROR_NOMEM. NO_MATCH: the address
 * cannot be translated.
 */
gni_return_t GNI_EpPostData(IN gni_ep_handle_t ep_hndl, IN void *in_data, IN uint16_t data_len,
                            IN void *out_buf, IN uint16_t buf_size);

/*
 * The same with an id of the caller's choice (not all bits set) by which it can be probed. On an
 * unbound endpoint it is a wildcard: it matches whoever posts to this instance and has no better
 * match, oldest wildcard first.
 */
gni_return_t GNI_EpPostDataWId(IN gni_ep_handle_t ep_hndl, IN void *in_data, IN uint16_t data_len,
                               IN void *out_buf, IN uint16_t buf_size, IN uint64_t datagram_id);

/*
 * State of the datagram with the endpoint's peer. A final state is reported once: the call fills
 * out_buf and frees the endpoint for the next one. remote_addr and remote_id tell the peer in final
 * states and REMOTE_DATA.
 * NO_MATCH: there is none. SIZE_ERROR: the peer sent more than buf_size; the datagram is consumed
 * all the same. INVALID_PARAM: unbound. ERROR_NOMEM.
 */
gni_return_t GNI_EpPostDataTest(IN gni_ep_handle_t ep_hndl, OUT gni_post_state_t *post_state,
                                OUT uint32_t *remote_addr, OUT uint32_t *remote_id);

/* The same for the datagram with this id; ep_hndl is the endpoint that posted it, bound or not. */
gni_return_t GNI_EpPostDataTestById(IN gni_ep_handle_t ep_hndl, IN uint64_t datagram_id,
                                    OUT gni_post_state_t *post_state, OUT uint32_t *remote_addr,
                                    OUT uint32_t *remote_id);

/*
 * GNI_EpPostDataTest that waits for a final state. [blocks]
 * TIMEOUT: also after a signal; the datagram stays pending. INVALID_PARAM: timeout 0.
 */
gni_return_t GNI_EpPostDataWait(IN gni_ep_handle_t ep_hndl, IN uint32_t timeout,
                                OUT gni_post_state_t *post_state, OUT uint32_t *remote_addr,
                                OUT uint32_t *remote_id);

/*
 * GNI_EpPostDataTestById that waits for a final state. [blocks]
 * TIMEOUT. INVALID_PARAM: timeout 0.
 */
gni_return_t GNI_EpPostDataWaitById(IN gni_ep_handle_t ep_hndl, IN uint64_t datagram_id,
                                    IN uint32_t timeout, OUT gni_post_state_t *post_state,
                                    OUT uint32_t *remote_addr, OUT uint32_t *remote_id);

/* Peer of the first datagram in a final state; does not consume it. NO_MATCH: there is none. */
gni_return_t GNI_PostDataProbe(IN gni_nic_handle_t nic_hndl, OUT uint32_t *remote_addr,
                               OUT uint32_t *remote_id);

/* Id of the first datagram that has one and is in a final state; does not consume it. NO_MATCH. */
gni_return_t GNI_PostDataProbeById(IN gni_nic_handle_t nic_hndl, OUT uint64_t *datagram_id);

/* GNI_PostDataProbeById that waits. [blocks] [any thread] TIMEOUT: also after a signal. */
gni_return_t GNI_PostdataProbeWaitById(IN gni_nic_handle_t nic_hndl, IN uint32_t timeout,
                                       OUT uint64_t *datagram_id);

/*
 * Cancels the datagram with the endpoint's peer; it ends as TERMINATED on both sides and must still
 * be consumed.
 * INVALID_PARAM: unbound. NO_MATCH: there is none.
 */
gni_return_t GNI_EpPostDataCancel(IN gni_ep_handle_t ep_hndl);

/*
 * On an unbound endpoint: cancels the wildcard with this id; unmatched, it is gone at once. On a
 * bound one: as GNI_EpPostDataCancel.
 * NO_MATCH.
 */
gni_return_t GNI_EpPostDataCancelById(IN gni_ep_handle_t ep_hndl, IN uint64_t datagram_id);

/* ---- functions: memory --------------------------------------------------------------------- */

/*
 * Opens memory of the caller to the network. dst_cq_hndl gets the remote events of the region
 * (NULL: none) and becomes a destination queue. flags: GNI_MEM_. vmdh_index: with GNI_MEM_USE_VMDH
 * the index in the block (-1: next free), otherwise ignored. mem_hndl is input with
 * GNI_MEM_UPDATE_REGION only. Any alignment; whole pages become accessible. Posts and mailboxes
 * name the region by virtual address; with a VMDH handle whose address is 0, by offset.
 * INVALID_PARAM: length 0, flags that exclude each other, a queue that is used as source.
 * ERROR_RESOURCE: no descriptor left, or the index is taken. PERMISSION_ERROR: the caller cannot
 * write there. INVALID_STATE: USE_VMDH before GNI_SetMddResources. ERROR_NOMEM.
 */
gni_return_t GNI_MemRegister(IN gni_nic_handle_t nic_hndl, IN uint64_t address, IN uint64_t length,
                             IN gni_cq_handle_t dst_cq_hndl, IN uint32_t flags,
                             IN uint32_t vmdh_index, INOUT gni_mem_handle_t *mem_hndl);

/*
 * One registration of several segments, addressed by offset from 0 across them. Errors of
 * GNI_MemRegister; INVALID_PARAM also: no segment, or one of length 0.
 */
gni_return_t GNI_MemRegisterSegments(IN gni_nic_handle_t nic_hndl,
                                     IN gni_mem_segment_t *mem_segments, IN uint32_t segments_cnt,
                                     IN gni_cq_handle_t dst_cq_hndl, IN uint32_t flags,
                                     IN uint32_t vmdh_index, INOUT gni_mem_handle_t *mem_hndl);

/*
 * Allocates the block for GNI_MEM_USE_VMDH, one per NIC and protection tag.
 * INVALID_STATE: the block has another size and is in use. ERROR_NOMEM.
 */
gni_return_t GNI_SetMddResources(IN gni_nic_handle_t nic_hndl, IN uint32_t num_entries);

/*
 * Closes a registration; transactions that still arrive fail with AT_MDD_INV. The memory may be
 * unmapped already.
 * INVALID_PARAM: not registered.
 */
gni_return_t GNI_MemDeregister(IN gni_nic_handle_t nic_hndl, IN gni_mem_handle_t *mem_hndl);

/*
 * One property of a handle, from the handle alone: *yesno 1 or 0. [any thread]
 * INVALID_PARAM: damaged handle.
 */
gni_return_t GNI_MemHndlQueryAttr(IN gni_mem_handle_t *mem_hndl, IN gni_mem_handle_attr_t attr,
                                  OUT int *yesno);

/*
 * Handle of a VMDH registration at another index of its block.
 * INVALID_PARAM: not a VMDH handle. INVALID_STATE: no page of it is accessible yet.
 */
gni_return_t GNI_RebuildMemHndl(IN gni_mem_handle_t *src_mem_hndl, IN uint32_t vmdh_index,
                                OUT gni_mem_handle_t *dst_mem_hndl);

/*
 * Walks the registrations of nic_hndl or of the open device fd (give one; fd 0 is none) in order of
 * registration. *mem_hndl all zero: first, otherwise the one after it. On errors *address and
 * *length are 0.
 * NO_MATCH: no more. INVALID_STATE: *mem_hndl is not registered.
 */
gni_return_t GNI_MemQueryHndls(IN gni_nic_handle_t nic_hndl, IN int fd,
                               INOUT gni_mem_handle_t *mem_hndl, OUT uint64_t *address,
                               OUT uint64_t *length);

/* ---- functions: completion queues ---------------------------------------------------------- */

/*
 * Makes a queue for at least entry_count entries. It becomes a source queue (of endpoints and
 * posts) or a destination queue (of registrations) by its first use, never both. delay_count:
 * events before waiters wake, BLOCKING only. handler (may be NULL) runs on the calling thread for
 * each entry that GNI_CqGetEvent or a wait returns, before it returns; it must not read the same
 * queue.
 * INVALID_PARAM: BLOCKING with EMULATED. ERROR_RESOURCE: no queue left on the NIC or for the job.
 * ERROR_NOMEM.
 */
gni_return_t GNI_CqCreate(IN gni_nic_handle_t nic_hndl, IN uint32_t entry_count,
                          IN uint32_t delay_count, IN gni_cq_mode_t mode,
                          IN void (*handler)(IN gni_cq_entry_t *, IN void *), IN void *context,
                          OUT gni_cq_handle_t *cq_hndl);

/*
 * Ends a queue and drops its entries. Registrations may still name it: their events are then lost.
 * ERROR_RESOURCE: an endpoint was made with it.
 */
gni_return_t GNI_CqDestroy(IN gni_cq_handle_t cq_hndl);

/*
 * Takes the next entry, and does pending work of the library (retransmission, credits): poll source
 * queues even when nothing is expected.
 * NOT_DONE: empty. TRANSACTION_ERROR: an entry was taken and reports a failure; of a post, collect
 * the descriptor all the same. ERROR_RESOURCE: an entry was taken and tells that others were lost
 * (GNI_CQ_OVERRUN), once.
 */
gni_return_t GNI_CqGetEvent(IN gni_cq_handle_t cq_hndl, OUT gni_cq_entry_t *event_data);

/*
 * GNI_CqGetEvent that waits; for GNI_CQ_BLOCKING queues. [blocks] [any thread, if no other reads
 * the queue]
 * TIMEOUT. ERROR_RESOURCE: not a BLOCKING queue, or an overrun. TRANSACTION_ERROR. NOT_DONE:
 * interrupted.
 */
gni_return_t GNI_CqWaitEvent(IN gni_cq_handle_t cq_hndl, IN uint64_t timeout,
                             OUT gni_cq_entry_t *event_data);

/*
 * The same for the first of several queues that has an entry; *which is its index. [blocks] [any
 * thread, if no other reads the queues] NOT_DONE also: interrupts of a queue are masked.
 * ERROR_NOMEM.
 */
gni_return_t GNI_CqVectorWaitEvent(IN gni_cq_handle_t *cq_hndls, IN uint32_t num_cqs,
                                   IN uint64_t timeout, OUT gni_cq_entry_t *event_data,
                                   OUT uint32_t *which);

/*
 * Waits until a queue has an entry and takes nothing; *which is its index. The entry may turn out
 * to be internal: poll again. [blocks] [any thread]
 * TIMEOUT. NOT_DONE: interrupts of a queue are masked. INVALID_STATE: interrupted by a signal.
 * ERROR_RESOURCE: not a BLOCKING queue. ERROR_NOMEM.
 */
gni_return_t GNI_CqVectorMonitor(IN gni_cq_handle_t *cq_hndls, IN uint32_t num_cqs,
                                 IN uint64_t timeout, OUT uint32_t *which);

/*
 * Keeps a BLOCKING queue from waking waiters; calls are counted.
 * INVALID_PARAM: not BLOCKING. NOT_DONE: the counter would overflow. ERROR_RESOURCE: no mask.
 */
gni_return_t GNI_CqInterruptMask(IN gni_cq_handle_t cq_hndl);

/* Undoes one GNI_CqInterruptMask. INVALID_PARAM: not BLOCKING. NOT_DONE: not masked. */
gni_return_t GNI_CqInterruptUnmask(IN gni_cq_handle_t cq_hndl);

/*
 * Tells whether an entry is there; takes nothing, does no work of the library. [any thread]
 * NOT_DONE: empty. ERROR_RESOURCE: the next entry reports an overrun.
 */
gni_return_t GNI_CqTestEvent(IN gni_cq_handle_t cq_hndl);

/*
 * Text for an entry, such as "SOURCE_SSID:AT_MDD_INV:CPLTN_DREQ": unit, status, place. [any thread]
 * SIZE_ERROR: with its final zero it is longer than len.
 */
gni_return_t GNI_CqErrorStr(IN gni_cq_entry_t entry, IN void *buffer, IN uint32_t len);

/*
 * Whether posting the failed transaction again may succeed: *recoverable 1 or 0. [any thread]
 * INVALID_STATE: the entry reports no failure.
 */
gni_return_t GNI_CqErrorRecoverable(IN gni_cq_entry_t entry, OUT uint32_t *recoverable);

/* ---- functions: transactions --------------------------------------------------------------- */

/*
 * Starts an RDMA PUT or GET in the block transfer engine. The NIC that the endpoint is bound to and
 * the remote handle select the target. The library owns the descriptor until GNI_GetCompleted has
 * returned its last event (SILENT: until this call returns), but reads nothing of it after this
 * call and writes status, cq_mode_complete and the links only. The local memory must stay until the
 * LOCAL or GLOBAL event. GET: remote address and length are multiples of 4.
 * INVALID_PARAM: wrong type or modes, length 0, damaged handle, no usable queue, unbound.
 * ALIGNMENT_ERROR. PERMISSION_ERROR: the destination is read-only. ERROR_RESOURCE: too many
 * outstanding; collect some and try again. NO_MATCH: the address cannot be translated. ERROR_NOMEM.
 * Failures in the network come as events.
 */
gni_return_t GNI_PostRdma(IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr);

/*
 * Starts a transaction through the FMA window: PUT, GET, AMO, CE. As GNI_PostRdma, but events go to
 * the endpoint's queue, there is no LOCAL event, source data is read before this returns, a PUT of
 * length 0 is legal, and the checksums of handles are not looked at. A 64-bit AMO other than
 * AND-XOR is applied to each element of the length, any other one to the first element.
 * INVALID_PARAM: also an unknown command, or a cached one without GNI_CDM_MODE_CACHED_AMO_ENABLED.
 * ALIGNMENT_ERROR: also a 64-bit AMO not on a multiple of 8. ERROR_RESOURCE: try again. ILLEGAL_OP:
 * CE on Gemini.
 */
gni_return_t GNI_PostFma(IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr);

/*
 * Starts a chain of FMA transactions of one type (PUT, GET or AMO): the descriptor, then the
 * gni_ct_ elements from its next_descr, which the library owns as long. One completion for all.
 * Nothing is started when an element is wrong. Errors of GNI_PostFma.
 * INVALID_PARAM: also ORDERED_TAIL, or an element without bound endpoint. SIZE_ERROR: more than 1
 * GB in all, or 1 MB with GNI_CDM_MODE_FMA_SHARED.
 */
gni_return_t GNI_CtPostFma(IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr);

/*
 * Sends the low 48 bits of cqwrite_value to the queue of the remote registration. No memory is
 * written.
 * INVALID_PARAM. ERROR_RESOURCE: try again. A region without queue fails with an event.
 */
gni_return_t GNI_PostCqWrite(IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr);

/*
 * A chain of those: the descriptor, then gni_ct_cqw elements; one completion for all. Same errors.
 */
gni_return_t GNI_CtPostCqWrite(IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr);

/*
 * Descriptor of the post that an entry of this queue completes; call it once per entry (twice per
 * descriptor with dual events). Gives the descriptor back with its last event.
 * TRANSACTION_ERROR: it failed; the descriptor is returned. DESCRIPTOR_ERROR: the entry is not of a
 * post; NULL is returned. INVALID_PARAM: unknown, or collected before.
 */
gni_return_t GNI_GetCompleted(IN gni_cq_handle_t cq_hndl, IN gni_cq_entry_t event_data,
                              OUT gni_post_descriptor_t **post_descr);

/* ---- functions: short messages ------------------------------------------------------------- */

/*
 * Bytes that a mailbox needs for msg_type, mbox_maxcredit and msg_maxsize; other fields are not
 * read. [any thread]
 * INVALID_PARAM: a bad value.
 */
gni_return_t GNI_SmsgBufferSizeNeeded(IN gni_smsg_attr_t *smsg_attr, OUT unsigned int *size);

/*
 * Connects a bound endpoint to its peer through two mailboxes. Purely local, the peer may already
 * have sent: zero the mailbox before its attributes go out, not here. Attributes are copied.
 * INVALID_PARAM: the two sides differ in type, credits or size; too small. INVALID_STATE: unbound.
 * ERROR_NOMEM.
 */
gni_return_t GNI_SmsgInit(IN gni_ep_handle_t ep_hndl, IN gni_smsg_attr_t *local_smsg_attr,
                          IN gni_smsg_attr_t *remote_smsg_attr);

/* GNI_DLVMODE_ of later sends of this NIC handle. INVALID_PARAM: no such mode. */
gni_return_t GNI_SmsgSetDeliveryMode(IN gni_nic_handle_t nic_handle, IN uint16_t dlvr_mode);

/*
 * Sends header and data as one message with tag 0. Both are copied. The source queue gets one entry
 * of type SMSG with msg_id when the message is in the peer's mailbox; the queue of that mailbox
 * gets one with this endpoint's remote_event. Messages of one pair are received in order.
 * NOT_DONE: no credit or room; try again. ERROR_RESOURCE: longer than msg_maxsize. INVALID_PARAM:
 * no GNI_SmsgInit. INVALID_STATE: the connection is broken.
 */
gni_return_t GNI_SmsgSend(IN gni_ep_handle_t ep_hndl, IN void *header, IN uint32_t header_length,
                          IN void *data, IN uint32_t data_length, IN uint32_t msg_id);

/*
 * The same with a tag, 0 to 254.
 * ERROR_RESOURCE: longer than the cache lines of a message of msg_maxsize bytes can hold.
 */
gni_return_t GNI_SmsgSendWTag(IN gni_ep_handle_t ep_hndl, IN void *header,
                              IN uint32_t header_length, IN void *data, IN uint32_t data_length,
                              IN uint32_t msg_id, IN uint8_t tag);

/*
 * Next message of this endpoint: *header points into the mailbox (8-byte aligned, header then
 * data), valid until GNI_SmsgRelease; until then the call returns the same message. Events may
 * overtake messages: read until NOT_DONE.
 * NOT_DONE: none. INVALID_PARAM: no GNI_SmsgInit. INVALID_STATE: the mailbox is damaged.
 */
gni_return_t GNI_SmsgGetNext(IN gni_ep_handle_t ep_hndl, OUT void **header);

/*
 * The same for a message with tag *tag, or GNI_SMSG_ANY_TAG; *tag becomes the message's.
 * NO_MATCH: another tag.
 */
gni_return_t GNI_SmsgGetNextWTag(IN gni_ep_handle_t ep_hndl, OUT void **header, INOUT uint8_t *tag);

/* Gives the current message back; its credit returns to the sender. NOT_DONE: there is none. */
gni_return_t GNI_SmsgRelease(IN gni_ep_handle_t ep_hndl);

/* ---- functions: shared message queues ------------------------------------------------------ */

/*
 * Joins the queue that the nloc_insts instances of this node share; returns when all have. snd_cq
 * gets the completions of sends. attrs must be the same everywhere. [blocks]
 * INVALID_PARAM: a bad attribute. INVALID_STATE: attributes differ, or an instance is missing.
 * PERMISSION_ERROR: no huge pages. ERROR_NOMEM.
 */
gni_return_t GNI_MsgqInit(IN gni_nic_handle_t nic_hndl, IN gni_msgq_rcv_cb_func *rcv_cb,
                          IN void *cb_data, IN gni_cq_handle_t snd_cq, IN gni_msgq_attr_t *attrs,
                          OUT gni_msgq_handle_t *msgq_hndl);

/* Leaves the queue; no instance can connect nodes any more. NOT_DONE: sends are outstanding. */
gni_return_t GNI_MsgqRelease(IN gni_msgq_handle_t msgq_hndl);

/* Tells whether GNI_MsgqRelease would succeed, and changes nothing. NOT_DONE. */
gni_return_t GNI_MsgqIdle(IN gni_msgq_handle_t msgq_hndl);

/*
 * Assigns mailboxes for node pe_addr and returns what its GNI_MsgqConnect needs, *attrs_size bytes
 * of attrs (may be NULL). One instance per pair of nodes does it.
 * INVALID_STATE: assigned already. ERROR_RESOURCE: num_msgq_eps are used up. PERMISSION_ERROR: not
 * initialised.
 */
gni_return_t GNI_MsgqGetConnAttrs(IN gni_msgq_handle_t msgq_hndl, IN uint32_t pe_addr,
                                  OUT gni_msgq_ep_attr_t *attrs, OUT uint32_t *attrs_size);

/*
 * Connects to node pe_addr with the attributes that it sent; then all instances of this node may
 * send there.
 * NO_MATCH: no GNI_MsgqGetConnAttrs before. INVALID_STATE: connected already. PERMISSION_ERROR: not
 * initialised.
 */
gni_return_t GNI_MsgqConnect(IN gni_msgq_handle_t msgq_hndl, IN uint32_t pe_addr,
                             IN gni_msgq_ep_attr_t *attrs);

/* Undoes GNI_MsgqConnect and GNI_MsgqGetConnAttrs. NO_MATCH. NOT_DONE: sends are outstanding. */
gni_return_t GNI_MsgqConnRelease(IN gni_msgq_handle_t msgq_hndl, IN uint32_t pe_addr);

/*
 * Sends to the instance that ep_hndl is bound to. Both parts are copied. The endpoint's queue gets
 * one entry of type MSGQ with msg_id.
 * NO_MATCH: its node is not connected. NOT_DONE: no credit; try again. SIZE_ERROR: longer than
 * max_msg_sz. INVALID_STATE: the connection is not active.
 */
gni_return_t GNI_MsgqSend(IN gni_msgq_handle_t msgq_hndl, IN gni_ep_handle_t ep_hndl, IN void *hdr,
                          IN uint32_t hdr_len, IN void *msg, IN uint32_t msg_len,
                          IN uint32_t msg_id, IN uint8_t msg_tag);

/*
 * Hands the messages of this instance to its callback, which may call uGNI itself. timeout (ms; not
 * 0 and not all-ones) waits so long for each message; needs GNI_MSGQ_MODE_BLOCKING. [blocks]
 * SUCCESS: no message is left, or none came in time. NOT_DONE: the callback said stop (0), or a
 * message of this node waits for room in another instance's pool. ERROR_RESOURCE: the send queue is
 * full. INVALID_STATE: a foreign entry in the queue. ERROR_NOMEM.
 */
gni_return_t GNI_MsgqProgress(IN gni_msgq_handle_t msgq_hndl, IN uint32_t timeout);

/* Bytes of the shared region for these attributes, whole huge pages. [any thread] */
gni_return_t GNI_MsgqSize(IN gni_msgq_attr_t *attrs, OUT uint32_t *size);

/* How often a message of an AUTO_RETRANSMIT mailbox is sent again before it fails. */
gni_return_t GNI_SmsgSetMaxRetrans(IN gni_nic_handle_t nic_handle, IN uint16_t max_retrans);

/* ---- functions: error events --------------------------------------------------------------- */

/*
 * Queues error events of the NIC whose category is in mask (GNI_ERRMASK_; 0: of every category),
 * EEQ_size of them (0: 64). nic_handle NULL: of device_id, all protection tags; privileged.
 * INVALID_PARAM: also NULL without privilege. NO_MATCH: no such device. ERROR_RESOURCE.
 * ERROR_NOMEM.
 */
gni_return_t GNI_SubscribeErrors(IN gni_nic_handle_t nic_handle, IN uint32_t device_id,
                                 IN gni_error_mask_t mask, IN uint32_t EEQ_size,
                                 OUT gni_err_handle_t *err_handle);

/* Ends a subscription. NOT_DONE: a thread waits on it. */
gni_return_t GNI_ReleaseErrors(IN gni_err_handle_t err_handle);

/* Mask of a subscription. */
gni_return_t GNI_GetErrorMask(IN gni_err_handle_t err_handle, OUT gni_error_mask_t *mask);

/* Replaces the mask, 0: nothing more; *mask_out is the previous one. */
gni_return_t GNI_SetErrorMask(IN gni_err_handle_t err_handle, IN gni_error_mask_t mask_in,
                              OUT gni_error_mask_t *mask_out);

/* Takes the next event. NOT_DONE: there is none. */
gni_return_t GNI_GetErrorEvent(IN gni_err_handle_t err_handle, OUT gni_error_event_t *event);

/*
 * Waits without limit for an event, then timeout ms for more, up to events_size. [blocks] [any
 * thread]
 * TIMEOUT: fewer than events_size came; *num_events are stored. NOT_DONE: interrupted.
 * PERMISSION_ERROR: events cannot be written.
 */
gni_return_t GNI_WaitErrorEvents(IN gni_err_handle_t err_handle, OUT gni_error_event_t *events,
                                 IN uint32_t events_size, IN uint32_t timeout,
                                 OUT uint32_t *num_events);

/* Protection tag whose events are wanted, 0: all. PERMISSION_ERROR: needs privilege. */
gni_return_t GNI_SetErrorPtag(IN gni_err_handle_t err_handle, IN uint8_t ptag);

/* ---- functions: devices and resources ------------------------------------------------------ */

/* Number of NICs of this node. [any thread] ERROR_RESOURCE: none. */
gni_return_t GNI_GetNumLocalDevices(OUT int *num_devices);

/* Their ids, at most len of them. [any thread] INVALID_PARAM: len < 1. ERROR_RESOURCE: no NIC. */
gni_return_t GNI_GetLocalDeviceIds(IN int len, OUT int *device_ids);

/* Version of the library, as GNI_VERSION. [any thread] */
gni_return_t GNI_GetVersion(OUT uint32_t *version);

/* Versions of library and driver; the strings end with zero. [any thread] */
gni_return_t GNI_GetVersionInformation(OUT gni_version_info_t *version_info);

/* Which kind of NIC this node has. [any thread] ERROR_RESOURCE: none. */
gni_return_t GNI_GetDeviceType(OUT gni_nic_device_t *dev_type);

/*
 * Stock of a resource of a NIC.
 * INVALID_PARAM: no such resource. ERROR_RESOURCE: this device has none.
 */
gni_return_t GNI_GetDevResInfo(IN uint32_t device_id, IN gni_dev_res_t res_type,
                               OUT gni_dev_res_desc_t *res_desc);

/* Use and limit of a resource by the job of ptag. Errors as GNI_GetDevResInfo. */
gni_return_t GNI_GetJobResInfo(IN uint32_t device_id, IN uint8_t ptag, IN gni_job_res_t res_type,
                               OUT gni_job_res_desc_t *res_desc);

/*
 * Sets such a limit.
 * PERMISSION_ERROR: needs privilege. NOT_DONE: no such job. ILLEGAL_OP: it cannot be set.
 * ERROR_RESOURCE.
 */
gni_return_t GNI_SetJobResInfo(IN uint32_t device_id, IN uint8_t ptag, IN gni_job_res_t res_type,
                               IN uint64_t res_value);

/* Nodes per entry of the node translation table. */
gni_return_t GNI_GetNttGran(IN uint32_t device_id, OUT uint32_t *ntt_gran);

/* Protection tag of a cookie. NO_MATCH: the cookie is not known there. ERROR_RESOURCE. */
gni_return_t GNI_GetPtag(IN uint32_t device_id, IN uint32_t cookie, OUT uint8_t *ptag);

/* ---- functions: collective engine (Aries; elsewhere ILLEGAL_OP) ---------------------------- */

/* Takes a channel of the engine. ERROR_RESOURCE: none left. ERROR_NOMEM. ILLEGAL_OP. */
gni_return_t GNI_CeCreate(IN gni_nic_handle_t nic_hndl, OUT gni_ce_handle_t *ce_hndl);

/* Its number, which other nodes need to name it. ILLEGAL_OP. */
gni_return_t GNI_CeGetId(IN gni_ce_handle_t ce_hndl, OUT uint32_t *ce_id);

/*
 * What a bound endpoint stands for in a tree: a child (engine or process) that this engine knows as
 * child_id, the parent engine that knows this one as child_id, or the way of a process to its
 * engine.
 * INVALID_PARAM: child_id above 31, type UNUSED. ILLEGAL_OP.
 */
gni_return_t GNI_EpSetCeAttr(IN gni_ep_handle_t ep_hndl, IN uint32_t ce_id, IN uint32_t child_id,
                             IN gni_ce_child_t child_type);

/*
 * Puts the engine into a tree; the attributes of the endpoints are taken over. parent_ep NULL: this
 * is the root. cq_hndl gets the engine's events. modes: GNI_CE_MODE_, of each group at most one.
 * INVALID_PARAM: no or too many children, equal ids, an endpoint without attributes. ILLEGAL_OP.
 */
gni_return_t GNI_CeConfigure(IN gni_ce_handle_t ce_hndl, IN gni_ep_handle_t *child_eps,
                             IN uint32_t num_child_eps, IN gni_ep_handle_t parent_ep,
                             IN gni_cq_handle_t cq_hndl, IN uint32_t modes);

/*
 * Tells whether a result has arrived; length is ignored. [any thread]
 * NOT_DONE: not yet. TRANSACTION_ERROR: it failed, or met floating-point exceptions. ILLEGAL_OP.
 */
gni_return_t GNI_CeCheckResult(IN gni_ce_result_t *result, IN uint32_t length);

/* Gives the channel back. ILLEGAL_OP. */
gni_return_t GNI_CeDestroy(IN gni_ce_handle_t ce_hndl);

/* ---- functions: balanced injection --------------------------------------------------------- */

/*
 * Limits what a NIC injects: bw percent (0: no limit), aot_bw while the network is congested;
 * modes: GNI_BI_FLAG_.
 * INVALID_PARAM: out of range. PERMISSION_ERROR: needs privilege.
 */
gni_return_t GNI_SetBIConfig(IN uint32_t device_id, IN uint16_t bw, IN uint16_t aot_bw,
                             IN uint16_t modes);

/* Current settings. */
gni_return_t GNI_GetBIConfig(IN uint32_t device_id, OUT gni_bi_desc_t *desc);

/* Waits until the last GNI_SetBIConfig holds everywhere. [blocks] TIMEOUT. */
gni_return_t GNI_BISyncWait(IN uint32_t device_id, IN uint32_t timeout);

/* ---- functions: statistics ----------------------------------------------------------------- */

/* A counter of this NIC handle; it wraps. INVALID_PARAM: no such counter. */
gni_return_t GNI_GetNicStat(IN gni_nic_handle_t nic_hndl, IN gni_statistic_t stat,
                            OUT uint32_t *value);

/* Sets it to 0. INVALID_PARAM: no such counter. */
gni_return_t GNI_ResetNicStat(IN gni_nic_handle_t nic_hndl, IN gni_statistic_t stat);

/* ---- functions: completion channels -------------------------------------------------------- */

/*
 * Makes a channel: a file descriptor that tells which of several queues has entries.
 * ERROR_NOMEM.
 */
gni_return_t GNI_CompChanCreate(IN gni_nic_handle_t nic_hndl,
                                OUT gni_comp_chan_handle_t *chan_hndl);

/* Closes it; its queues are detached. */
gni_return_t GNI_CompChanDestroy(IN gni_comp_chan_handle_t chan_hndl);

/*
 * Its descriptor, readable when an armed queue got an entry. It belongs to the channel: do not
 * close it.
 */
gni_return_t GNI_CompChanFd(IN gni_comp_chan_handle_t chan_hndl, OUT int *comp_chan_fd);

/*
 * Queue that got an entry after it was armed, once per arming. [any thread] [blocks, unless the
 * descriptor is O_NONBLOCK]
 * NOT_DONE: none, or interrupted.
 */
gni_return_t GNI_CompChanGetEvent(IN gni_comp_chan_handle_t chan_hndl,
                                  OUT gni_cq_handle_t *cq_hndl);

/* Attaches a BLOCKING queue to a channel, in place of its former one. */
gni_return_t GNI_CqAttachCompChan(IN gni_cq_handle_t cq_hndl, IN gni_comp_chan_handle_t chan_hndl);

/*
 * Asks for one channel event from each of these queues; one that has entries fires at once.
 * ERROR_NOMEM.
 */
gni_return_t GNI_CqArmCompChan(IN gni_cq_handle_t *cq_hndls, IN uint32_t num_cqs);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
