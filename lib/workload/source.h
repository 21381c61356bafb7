/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_SOURCE_H
#define WORKLOAD_SOURCE_H
/**
 * Sources of operations. Each source is a table of functions that draw the operations of a
 * group.
 *
 * Operation i is a pure function of (seed, job, group, i) for every source. The runner calls a
 * source once for each stratum and once for each block of operations, never for each operation.
 * The calls in ops.h use the group's source, named by its key `source`.
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

/** The tests of Masstree's mttest: NB_TEST_*, name. */
#define MASSTREE_TESTS(X) \
	X(RW2, "rw2") \
	X(RWSMALL, "rwsmall") \
	X(WD1, "wd1") \
	X(WD2, "wd2") X(WD3, "wd3") X(SCAN1, "scan1") X(CLUMPS, "clumps") X(URL, "url")

/** The name of a test; NULL: it does not exist. */
const char *
masstree_test_name(uint32_t test);

struct source {
	/** Check a group of this source; NB_ERR_USAGE. NULL: see job_check.c. */
	int (*check)(const struct nb_job *job, const struct nb_group *group);
	/** See job_check_ranges(). */
	int (*check_ranges)(
		const struct nb_job *job, const struct nb_group *group, uint32_t threads);
	/**
	 * Upper bound of its record numbers; UINT64_MAX: the number of the group's inserts.
	 * NULL: the job's records.
	 */
	uint64_t (*numbers)(const struct nb_job *job, const struct nb_group *group);
	/** See ops_spec_divide(). NULL: its threads have no ranges. */
	void (*divide)(struct ops_spec *spec, uint32_t threads);
	/** See ops_needs(). */
	uint64_t (*needs)(const struct ops_spec *spec, uint64_t stratum);
	/** See ops_begin() and ops_make(). */
	void (*begin)(struct ops_maker *maker, uint64_t stratum);
	uint32_t (*make)(struct ops_maker *maker);
	/** See ops_writes() and ops_puts_at_once(). */
	bool (*writes)(const struct ops_spec *spec, uint64_t i, uint64_t number);
	bool (*puts_at_once)(const struct ops_spec *spec, uint64_t i, uint64_t number);
	/** See ops_digest(); includes the version of the source. */
	uint64_t (*digest)(const struct ops_spec *spec, uint64_t keys_hash);
	/** Whether another group can visit its records again; NULL: depends on its mix. */
	bool (*can_visit)(const struct nb_group *group);
	/**
	 * Get the records of operations indexes[0..count-1], one record each, and the state
	 * OPS_* that a visit expects after all operations of `again` are complete.
	 */
	void (*visit)(const struct ops_again *again, const uint64_t *indexes, uint32_t count,
		uint64_t *numbers, uint8_t *expects);
	/**
	 * Whether a record with from <= number < to certainly exists, whatever other threads
	 * do. NULL: all of the job's records exist, unless some group deletes.
	 */
	bool (*has_between)(const struct ops_spec *spec, uint64_t from, uint64_t to);
};

/** Draws records of the job by a mix and a distribution. */
extern const struct source source_records;
/** Sequences of operations with known results. */
extern const struct source source_masstree;

/** Draws objects and edges of the job's social graph. */
extern const struct source source_tao;

/** The table of NB_SOURCE_*. */
const struct source *
source_of(uint32_t source);

#endif /* WORKLOAD_SOURCE_H */
