/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_WIRE_H
#define MININB_WIRE_H
/**
 * The compact protocol of `mininb serve`: batches of requests and answers, over TCP or a Unix
 * socket. Numbers are little-endian; nothing is aligned.
 *
 * A client sends frames. A frame begins with a head (struct nb_wire_head). Its first byte,
 * NB_WIRE_MAGIC, distinguishes it from RESP on the same port. The first frame is NB_WIRE_HELLO;
 * the server answers it with a head and a struct nb_wire_hello. The server answers all other
 * frames in order, too.
 *
 * NB_WIRE_BATCH. `count` requests follow the head. Each is a byte NB_REQ_* and then:
 *
 *     with NB_WIRE_FIXED     key_size bytes of key, then for a put and an insert value_size
 *                            bytes of value, for a merge the operand in 8 bytes
 *     without                u32 size of the key; for a put and an insert u32 size of the
 *                            value, for a merge the operand; then the key and the value
 *     NB_REQ_EXECUTE         in both cases: u32 flags, u32 count of steps; each step is
 *                            u8 verb, u32 skips, u64 operand, u32 size of the key,
 *                            u32 size of the value, key, value
 *
 * A request with an unknown verb has the form of a get; its answer is NB_UNSUPPORTED.
 *
 * The server answers with one or more batches whose counts add up to the request's count: it
 * answers the requests that it has read and does not wait for the rest. An answer is a signed
 * byte, the return value of the verb in engine.h, and then:
 *
 *     NB_OK of a get         value_size bytes of value, by the head of the answer
 *     NB_WIRE_SIZED          of a get: NB_OK; u32 size, then the value
 *     NB_OK of an execute    for each step a byte as here, of a get with u32 size and value
 *     negative               u16 size, then the text of the failure
 *
 * Late answers. A server with requests in flight may answer a request of a batch that has
 * NB_WIRE_MAY_BE_LATE with the single byte NB_WIRE_LATE: it is not complete yet. Its answer
 * follows in an NB_WIRE_BATCH with the status NB_WIRE_FOLLOWS. Each answer there begins with a
 * u32, the number of the request. Requests of a connection are numbered from 0, without
 * rejected ones.
 *
 * NB_WIRE_SCAN. `flags` are NB_SCAN_* and NB_WIRE_AFTER; `count` is the maximum number of
 * records. key_size bytes follow: the key to begin at. The answer has key_size records in
 * `count` bytes, each u32 size of the key, u32 size of the value, key, value. It has as many
 * records as requested, or fewer if they are long. value_size is 1 if no further record exists.
 * To continue, the client sends NB_WIRE_AFTER with the last key. So the server stores no state
 * of a scan, and a scan of several answers does not see one version of the data.
 *
 * View. Each batch has the number of the view that the client knows. If the server's view
 * differs, the server executes nothing and answers one batch with the status NB_WIRE_VIEW, its
 * view, the same count and no answers. The client then sends the requests again. The view
 * changes when the database is emptied.
 */
#include <mininb/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NB_WIRE_MAGIC 0xb5u
#define NB_WIRE_VERSION 1u

/** Kinds of frames. */
enum {
	NB_WIRE_HELLO = 0, /* count: NB_WIRE_VERSION */
	NB_WIRE_BATCH = 1,
	/* The following are for the whole database. An answer has `count` bytes of text. */
	NB_WIRE_RESET = 2,      /* remove all records, if the server allows it */
	NB_WIRE_SETTLE = 3,     /* nb_engine.flush up to `count`, NB_SETTLE_* */
	NB_WIRE_CHECKPOINT = 4, /* nb_engine.checkpoint */
	NB_WIRE_STATS = 5,      /* lines "name TAB unit TAB kind TAB value" */
	NB_WIRE_SCAN = 6,       /* some records in order, see above */
	NB_WIRE_KINDS
};

/** Flags in nb_wire_head.flags. */
#define NB_WIRE_FIXED (1u << 0)       /* requests: all keys, and all values, have one size */
#define NB_WIRE_MAY_BE_LATE (1u << 1) /* requests: the client accepts late answers */

/** Flag of an NB_WIRE_SCAN: begin after the given key, which was the last one returned. */
#define NB_WIRE_AFTER (1u << 8)

/** Status of an answer, in nb_wire_head.flags. */
enum {
	NB_WIRE_DONE = 0,
	NB_WIRE_VIEW = 1, /* a batch was rejected: its view differs from the server's */
	/* `count` bytes of text have the reason; key_size is the failure, negated. */
	NB_WIRE_FAILED = 2,
	NB_WIRE_BROKEN = 3, /* same, and the server closes the connection */
	NB_WIRE_FOLLOWS = 4 /* late answers, each with its request's number */
};

enum { NB_WIRE_SIZED = 5, NB_WIRE_LATE = 6 };

/** 24 bytes. */
struct nb_wire_head {
	uint8_t magic, kind;
	uint16_t flags; /* of an answer: the status */
	uint32_t count;
	uint64_t view;
	uint32_t key_size, value_size;
};

/** Description of the server and its engine. 152 bytes. */
struct nb_wire_hello {
	/* Of nb_engine, and the level of the open database. */
	uint32_t caps, durability;
	uint64_t key_size_max, value_size_max; /* limits of the server */
	uint32_t verbs;                        /* bits 1 << NB_REQ_* */
	uint32_t kinds;               /* bits 1 << NB_WIRE_* of the frames it accepts */
	uint64_t records;             /* records at the start; UINT64_MAX: not known */
	char engine[64], version[48]; /* NUL-terminated */
};

/** The maximum number of steps of an execute; every server rejects more. */
#define NB_WIRE_STEPS_MAX 4096u

#ifdef __cplusplus
}
#endif

#endif /* MININB_WIRE_H */
