/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_RIG_H
#define FASTER_RIG_H
/**
 * The engine faster, compiled into the test. Its log has eight pages of 4 KiB in memory, so a
 * few hundred records move all regions. Its index begins with 64 buckets. Threads are sometimes
 * delayed where they interact (racy_meet). The working directory of a test is its database.
 */
#include "moment.h"
#include "plugin_host.h"
#include "racing.h"
#include "unit.h"

#include <stdint.h>

enum { RIG_SESSIONS = 8, RIG_PAGE = 4096 };

extern const struct nb_engine *rig_engine;

struct rig {
	struct nb_db *db;
	uint32_t durability;
	uint32_t inflight;
	const char *log_dir; /* NULL: none */
	/* Options that differ from those of the rig: names and values. */
	const char *names[4];
	uint64_t values[4];
};

int
rig_try_open(struct rig *rig, const char *path);
void
rig_open(struct rig *rig);
void
rig_close(struct rig *rig);

struct nb_session *
rig_session(struct rig *rig, uint32_t id);
void
rig_end_session(struct nb_session *session);

/** The value of a counter. */
uint64_t
rig_stat(struct rig *rig, const char *name);

/** Wait until the counter is not 0: the keeper may not have run yet. */
void
rig_await(struct rig *rig, const char *name);

/** Fill `room` with a value that repeats `mark`. */
struct nb_slice
rig_value(uint8_t *room, size_t size, uint64_t mark);

/** Faults of system calls for the log's file: after `after` more calls, they fail with `error`. */
enum rig_call { RIG_WRITE, RIG_READ, RIG_SYNC, RIG_CALLS };
struct rig_fault {
	int error;       /* errno; 0: none */
	int after;       /* calls that still succeed */
	size_t shortest; /* maximum bytes of a call; 0: any */
};
extern struct rig_fault rig_faults[RIG_CALLS];

/** Hold the next thread that reaches this moment, until rig_let_go(). */
void
rig_hold(enum moment moment);
bool
rig_is_held(enum moment moment);
void
rig_await_held(enum moment moment);
void
rig_let_go(enum moment moment);

/** Let the process exit with status 0 when a thread reaches this moment. */
void
rig_die_at(enum moment moment);

/** Delay all reads of the log's file with pread(2), not io_uring, until rig_release_reads(). */
void
rig_hold_reads(void);
void
rig_release_reads(void);

#endif /* FASTER_RIG_H */
