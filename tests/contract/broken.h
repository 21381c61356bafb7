/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BROKEN_H
#define BROKEN_H
/** Engines with one known defect each. They show that the contract suite finds every defect. */
#include <stdbool.h>
#include <stddef.h>

#include <mininb/engine.h>

struct defect {
	const char *name,
		*promise; /* "del_does_nothing", and the promise that the defect breaks */
	struct {
		size_t offset; /* of the verb in the engine's table; 0: unused entry */
		void (*verb)(void);
	} verbs[3];
	bool is_plain; /* based on `memory` alone, without the verbs of fitted.h */
	uint32_t caps_added, durabilities_added, auto_durability;
	const char *table_name;
};

#define VERB(field, with) \
	{ \
		offsetof(struct nb_engine, field), (void (*)(void))(with) \
	}

/** Function headers of verbs. Their parameters have the names of engine.h. */
#define GET(name) \
	static int name(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
#define PUT(name) \
	static int name(struct nb_session *session, struct nb_slice key, struct nb_slice value)
#define DEL(name) static int name(struct nb_session *session, struct nb_slice key)
#define OPEN(name) static int name(struct nb_db **out, const struct nb_open_args *args)
#define SESSION_OPEN(name) \
	static int name(struct nb_session **out, struct nb_db *db, uint32_t id)
#define EXECUTE(name) \
	static int name(struct nb_session *session, struct nb_step *steps, size_t count, \
		uint32_t flags)
#define SUBMIT(name) \
	static int name(struct nb_session *session, const struct nb_request *requests, \
		size_t count, size_t *taken)
#define REAP(name) \
	static int name(struct nb_session *session, struct nb_completion *out, size_t room, \
		size_t *count, uint64_t timeout_ns)
#define SCAN_OPEN(name) \
	static int name(struct nb_session *session, const struct nb_scan_args *args)
#define SCAN_NEXT(name) \
	static int name( \
		struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
#define BATCH(name) \
	static int name(struct nb_session *session, const struct nb_write *writes, \
		size_t count, uint32_t flags)
#define MULTI_GET(name) \
	static int name(struct nb_session *session, const struct nb_slice *keys, size_t count, \
		struct nb_slice *values, int32_t *answers)
#define MERGE(name) \
	static int name(struct nb_session *session, struct nb_slice key, uint32_t how, \
		uint64_t operand)
#define STATS(name) static void name(struct nb_db *db, nb_stat_emit emit, void *to)

/** Defects grouped by subject. Each list ends with a NULL name. */
extern const struct defect broken_records[], broken_verbs[], broken_scans[], broken_places[],
	broken_requests[], broken_execute[], broken_transactions[];

/** The defect at this index in the concatenated lists; NULL after the last. */
const struct defect *
broken_defect(size_t index);

size_t
broken_count(void);

/**
 * The engine `memory` with the defect, and usually with the verbs of fitted.h. All calls share
 * one table.
 */
const struct nb_engine *
broken_engine(const struct nb_engine *memory, const struct defect *defect);

/** The correct engine on which the defects are based. */
extern const struct nb_engine *broken_right;

/** A counter for defects; broken_engine() and broken_open_counted() set it to 0. */
extern uint64_t broken_calls;

int
broken_open_counted(struct nb_db **out, const struct nb_open_args *args);

#endif /* BROKEN_H */
