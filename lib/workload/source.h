/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_SOURCE_H
#define WORKLOAD_SOURCE_H
/**
 * What draws the operations of a group: a table of functions, one of them for each source.
 *
 * Operation i is a pure function of (seed, job, group, i), whatever the source. The runner calls
 * a source once for each stratum and once for each block of operations, never for each one.
 * ops.h has the calls; they go to the source of the group, which its key `source` names.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/job.h>

struct ops_again;
struct ops_maker;
struct ops_spec;

/** Each source: its NB_SOURCE_*, its name, its table. */
#define EACH_SOURCE(X) \
	X(RECORDS, "records", source_records) \
	X(TAO, "tao", source_tao) \
	X(MASSTREE, "masstree", source_masstree)

/** Each test of Masstree's: its NB_TEST_*, its name. */
#define MASSTREE_TESTS(X) \
	X(RW2, "rw2") \
	X(RWSMALL, "rwsmall") \
	X(WD1, "wd1") \
	X(WD2, "wd2") X(WD3, "wd3") X(SCAN1, "scan1") X(CLUMPS, "clumps") X(URL, "url")

/** Its name; NULL: there is none. */
const char *
masstree_test_name(uint32_t test);

struct source {
	/** Whether a group of this source fits together; NB_ERR_USAGE. NULL: see job_check.c. */
	int (*check)(const struct nb_job *job, const struct nb_group *group);
	/** As job_check_ranges(). */
	int (*check_ranges)(
		const struct nb_job *job, const struct nb_group *group, uint32_t threads);
	/**
	 * Its records have numbers below this; UINT64_MAX: as many as the count of the group's
	 * inserts. NULL: those of the job.
	 */
	uint64_t (*numbers)(const struct nb_job *job, const struct nb_group *group);
	/** As ops_spec_divide(). NULL: its threads have no ranges. */
	void (*divide)(struct ops_spec *spec, uint32_t threads);
	/** As ops_needs(). */
	uint64_t (*needs)(const struct ops_spec *spec, uint64_t stratum);
	/** As ops_begin() and ops_make(). */
	void (*begin)(struct ops_maker *maker, uint64_t stratum);
	uint32_t (*make)(struct ops_maker *maker);
	/** As ops_writes() and ops_puts_at_once(). */
	bool (*writes)(const struct ops_spec *spec, uint64_t i, uint64_t number);
	bool (*puts_at_once)(const struct ops_spec *spec, uint64_t i, uint64_t number);
	/** As ops_digest(); its own version is part of it. */
	uint64_t (*digest)(const struct ops_spec *spec, uint64_t keys_hash);
	/** Whether another group can visit the records of its operations again; NULL: by its mix. */
	bool (*can_visit)(const struct nb_group *group);
	/**
	 * The records of operations indexes[0..count-1], each of one record, and what a visit to
	 * each has to expect, OPS_*, after all operations of `again` were done.
	 */
	void (*visit)(const struct ops_again *again, const uint64_t *indexes, uint32_t count,
		uint64_t *numbers, uint8_t *expects);
	/**
	 * Whether a record with from <= number < to is there for certain, whatever other threads
	 * do. NULL: all of the job's records, unless some group deletes.
	 */
	bool (*has_between)(const struct ops_spec *spec, uint64_t from, uint64_t to);
};

/** Records of the job, drawn by a mix and a distribution. */
extern const struct source source_records;
/** Sequences of operations that know their right answers. */
extern const struct source source_masstree;

/** Objects and edges of the job's social graph. */
extern const struct source source_tao;

/** The table of NB_SOURCE_*. */
const struct source *
source_of(uint32_t source);

#endif /* WORKLOAD_SOURCE_H */
