/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_WIRE_H
#define MININB_WIRE_H
/**
 * The compact protocol of `mininb serve`: requests and answers in batches, over TCP or a Unix
 * socket. Numbers are little-endian, and nothing is aligned.
 *
 * A client sends frames, which begin with a head (struct nb_wire_head). Its first byte,
 * NB_WIRE_MAGIC, shows that it is not RESP, which has the same port. The first frame is
 * NB_WIRE_HELLO, which the server answers with a head and a struct nb_wire_hello. Each other
 * frame has an answer too, in the order of the frames.
 *
 * NB_WIRE_BATCH. `count` requests follow the head, each a byte NB_REQ_* and then:
 *
 *     with NB_WIRE_FIXED     key_size bytes of key, then for a put and an insert value_size
 *                            bytes of value, for a merge the operand in 8 bytes
 *     without                u32 size of the key; for a put and an insert u32 size of the
 *                            value, for a merge the operand; then the key and the value
 *     NB_REQ_EXECUTE         in both cases: u32 flags, u32 count of steps; each step is
 *                            u8 verb, u32 skips, u64 operand, u32 size of the key,
 *                            u32 size of the value, key, value
 *
 * A verb that the server does not know has the form of a get; its answer is NB_UNSUPPORTED.
 *
 * The server answers with one or more batches, whose counts add up: it answers what it has read
 * and does not wait for the rest. An answer is a signed byte, what the verb of engine.h returned,
 * and then:
 *
 *     NB_OK of a get         value_size bytes of value, by the head of the answer
 *     NB_WIRE_SIZED          of a get: NB_OK; u32 size, then the value
 *     NB_OK of an execute    for each step a byte as here, of a get with u32 size and value
 *     negative               u16 size, then the text of the failure
 *
 * Late answers. A server that keeps requests in flight may answer a request of a batch with
 * NB_WIRE_MAY_BE_LATE by the byte NB_WIRE_LATE alone: it is not done yet. Its answer follows in
 * an NB_WIRE_BATCH with the status NB_WIRE_FOLLOWS, whose answers each begin with a u32, the number
 * of the request: requests of a connection count from 0, without refused ones.
 *
 * NB_WIRE_SCAN. `flags` are NB_SCAN_* and NB_WIRE_AFTER, `count` is the number of records at most,
 * and key_size bytes follow, the key to begin at. The server's answer has key_size records in
 * `count` bytes, each u32 size of the key, u32 size of the value, key, value: as many as the client
 * asks for, or fewer if they are long. value_size is 1 if no record follows them. The client asks
 * for more with NB_WIRE_AFTER and the last key, so the server keeps nothing of a scan, and a scan
 * of several answers does not see one version of the data.
 *
 * View. Each batch carries the number of the view that the client knows. If the server's is
 * another one, it does nothing and answers one batch with the status NB_WIRE_VIEW, the new view
 * and the same count, without answers; the client sends these requests again. The view changes
 * when the database is emptied.
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
	/* The rest is for the whole database. An answer has `count` bytes of text. */
	NB_WIRE_RESET = 2,      /* remove all records: only if the server allows it */
	NB_WIRE_SETTLE = 3,     /* nb_engine.flush up to `count`, NB_SETTLE_* */
	NB_WIRE_CHECKPOINT = 4, /* nb_engine.checkpoint */
	NB_WIRE_STATS = 5,      /* lines "name TAB unit TAB kind TAB value" */
	NB_WIRE_SCAN = 6,       /* some records in their order, see above */
	NB_WIRE_KINDS
};

/** Of nb_wire_head.flags. */
#define NB_WIRE_FIXED (1u << 0)       /* requests: all keys, and all values, have one size */
#define NB_WIRE_MAY_BE_LATE (1u << 1) /* requests: the client takes late answers */

/** Of an NB_WIRE_SCAN: the record whose key is given is not wanted, it was the last one. */
#define NB_WIRE_AFTER (1u << 8)

/** Of an answer: nb_wire_head.flags is the status. */
enum {
	NB_WIRE_DONE = 0,
	NB_WIRE_VIEW = 1, /* a batch was refused: its view is not the server's */
	NB_WIRE_FAILED =
		2, /* `count` bytes of text say why; key_size is the failure, negated */
	NB_WIRE_BROKEN = 3, /* the same, and the server closes the connection */
	NB_WIRE_FOLLOWS = 4 /* late answers, each with the number of its request */
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

/** What the server says of itself and its engine. 152 bytes. */
struct nb_wire_hello {
	uint32_t caps,
		durability; /* of nb_engine; the level that the database was opened with */
	uint64_t key_size_max, value_size_max; /* what the server takes */
	uint32_t verbs;                        /* bits 1 << NB_REQ_* */
	uint32_t kinds;               /* bits 1 << NB_WIRE_* that it may be asked for */
	uint64_t records;             /* that were there at the start; UINT64_MAX: not known */
	char engine[64], version[48]; /* NUL at the end */
};

/** What a server refuses in any case. */
#define NB_WIRE_STEPS_MAX 4096u

#ifdef __cplusplus
}
#endif

#endif /* MININB_WIRE_H */
