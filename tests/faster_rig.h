/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_RIG_H
#define FASTER_RIG_H
/**
 * The engine faster, compiled into the test: pages of 4 KiB and eight of them in memory, so that
 * a few hundred records move all regions of its log; an index of 64 buckets at first; and
 * threads that come late where they meet (racy_meet). The directory of a test is its database.
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
	/* Of an option whose name is set here, in place of the rig's own. */
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

/** A counter by its name. */
uint64_t
rig_stat(struct rig *rig, const char *name);

/** Until the counter is not 0: the keeper may not have had a processor yet. */
void
rig_await(struct rig *rig, const char *name);

/** A value of one mark, repeated. */
struct nb_slice
rig_value(uint8_t *room, size_t size, uint64_t mark);

/** What the next calls of the log's file answer: after `after` good ones, `error`. */
enum rig_call { RIG_WRITE, RIG_READ, RIG_SYNC, RIG_CALLS };
struct rig_fault {
	int error;       /* errno; 0: none */
	int after;       /* calls that still succeed */
	size_t shortest; /* not 0: no more than so many bytes a call */
};
extern struct rig_fault rig_faults[RIG_CALLS];

/** The next thread that comes to this moment is held there until it is let go. */
void
rig_hold(enum moment moment);
bool
rig_is_held(enum moment moment);
void
rig_let_go(enum moment moment);

/** The process ends with the status 0 when a thread comes to this moment. */
void
rig_die_at(enum moment moment);

/** Reads of the log's file by threads wait until they are let go. */
void
rig_hold_reads(void);
void
rig_release_reads(void);

#endif /* FASTER_RIG_H */
