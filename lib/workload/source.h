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

struct ops_maker;
struct ops_spec;

/** Each source: its NB_SOURCE_*, its name, its table. */
#define EACH_SOURCE(X) \
	X(RECORDS, "records", source_records) \
	X(TAO, "tao", source_tao)

struct source {
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
};

/** Records of the job, drawn by a mix and a distribution. */
extern const struct source source_records;

/** Objects and edges of the job's social graph. */
extern const struct source source_tao;

/** The table of NB_SOURCE_*. */
const struct source *
source_of(uint32_t source);

#endif /* WORKLOAD_SOURCE_H */
