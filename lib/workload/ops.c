/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes keys, values and steps of operations, one block at a time.
 *
 * A block has as many operations as fit into a quarter of a small L1 cache. A value made
 * directly before its operation would cost its whole latency, because the fence of the clock
 * waits for all earlier work. Values of a block are made in parallel. The harness must not
 * cause a page fault or cache miss during the engine's time, so keys of a file are copied
 * ahead, too.
 */
#include "workload/ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "workload/block.h"
#include "workload/ops_choose.h"

static bool
has_writes(const struct ops_spec *spec)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (ops_is_write(kind) && spec->group->weights[kind] > 0)
			return true;
	}
	return (kinds_verbs(spec->job, spec->group) & KIND_PUTS) != 0;
}

int
ops_maker_create(struct ops_maker *maker, const struct ops_spec *spec)
{
	bool writes = has_writes(spec);
	size_t value_size = writes ? spec->value_head + spec->values.size : 0;
	*maker = (struct ops_maker){.spec = spec,
		.writes = writes,
		.key_stride = block_stride(spec->keys->key_size_max),
		.value_stride = block_stride(value_size),
		.dist = spec->dist,
		.space_dist = spec->space_dist};
	size_t block = BLOCK_BYTES / (maker->key_stride + maker->value_stride);
	size_t most = (size_t)OPS_STRATUM * spec->items_max;
	maker->block = block > most ? (uint32_t)most : block > 0 ? (uint32_t)block : 1;
	size_t records = maker->block - 1 + spec->items_max;
	size_t key_bytes = block_whole_lines(maker->key_stride * records);
	size_t value_bytes = block_whole_lines(maker->value_stride * records);
	maker->bytes = aligned_alloc(BLOCK_LINE, key_bytes + value_bytes);
	maker->numbers = calloc(records, sizeof(*maker->numbers));
	maker->keys = calloc(records, sizeof(*maker->keys));
	maker->values = calloc(records, sizeof(*maker->values));
	if (spec->has_steps)
		maker->steps = calloc(records, sizeof(*maker->steps));
	if (maker->bytes == NULL || (spec->has_steps && maker->steps == NULL) ||
		maker->numbers == NULL || maker->keys == NULL || maker->values == NULL) {
		ops_maker_destroy(maker);
		return error_set(NB_FAIL, "out of memory for values of %zu bytes", value_size);
	}
	memset(maker->bytes, 0, key_bytes + value_bytes);
	maker->value_bytes = maker->bytes + key_bytes;
	for (size_t j = 0; j < records; j++) {
		uint8_t *value = maker->value_bytes + j * maker->value_stride;
		if (value_size > 0)
			value_prepare(&spec->values, value + spec->value_head);
		maker->keys[j] = (struct nb_slice){
			maker->bytes + j * maker->key_stride, spec->keys->key_size};
		maker->values[j] = (struct nb_slice){value, value_size};
	}
	for (uint32_t j = 0; j < maker->block && ops_is_of_ones(spec); j++) {
		maker->ops[j] = (struct ops_op){.kind = spec->one_kind,
			.items = 1,
			.numbers = maker->numbers + j,
			.keys = maker->keys + j,
			.values = maker->values + j};
	}
	return NB_OK;
}

void
ops_maker_destroy(struct ops_maker *maker)
{
	free(maker->bytes);
	free(maker->numbers);
	free(maker->keys);
	free(maker->values);
	free(maker->steps);
	maker->steps = NULL;
	maker->bytes = NULL;
	maker->numbers = NULL;
	maker->keys = maker->values = NULL;
}

static void
make_sized_values(struct ops_maker *maker, uint32_t j, struct nb_slice *values,
	const struct nb_slice *keys, uint32_t items)
{
	const struct ops_spec *spec = maker->spec;
	uint64_t version = ops_version(spec, maker->first + j);
	for (uint32_t k = 0; k < items && spec->value_head > 0;
		k++) /* all values have one size */
		ops_write_value(spec, &values[k], keys[k], version);
	for (uint32_t k = 0; k < items && spec->value_head == 0; k++) {
		size_t size = (size_t)sizes_draw(spec->sizes, &maker->random[j]);
		values_write_sized(&spec->values, (void *)(uintptr_t)values[k].data, keys[k],
			size, version);
		values[k].size = size;
	}
}

/** Set the keys of steps, and the values of steps that put one. */
static void
make_step_values(struct ops_maker *maker, uint32_t j, struct ops_op *op)
{
	struct nb_slice *values = maker->values + (op->keys - maker->keys);
	for (uint32_t k = 0; k < op->items; k++) {
		struct nb_step *step = &op->steps[k];
		step->key = op->keys[k];
		if ((KIND_PUTS >> step->verb & 1) == 0)
			continue;
		make_sized_values(maker, j, &values[k], &op->keys[k], 1);
		step->value = values[k];
	}
}

/** Write the age at the start of a value. */
static void
write_age(uint8_t *value, uint64_t version)
{
	memcpy(value, &version, sizeof(version));
}

void
ops_write_value(const struct ops_spec *spec, const struct nb_slice *value, struct nb_slice key,
	uint64_t version)
{
	uint8_t *bytes = (uint8_t *)(uintptr_t)value->data;
	if (spec->value_head > 0)
		write_age(bytes, version);
	values_write_each(&spec->values, bytes + spec->value_head, 0, &key, &version, 1);
}

/** Make the values of an operation that puts them. */
static inline void
make_op_values(struct ops_maker *maker, uint32_t j, const struct ops_op *op)
{
	const struct ops_spec *spec = maker->spec;
	struct nb_slice *values = maker->values + (op->keys - maker->keys);
	if (spec->sizes->min != spec->sizes->max || spec->value_head > 0) {
		make_sized_values(maker, j, values, op->keys, op->items);
		return;
	}
	uint64_t version = ops_version(spec, op->index);
	for (uint32_t k = 0; k < op->items; k++)
		values_write(&spec->values, (void *)(uintptr_t)values[k].data,
			maker->value_stride, op->keys[k].data, op->keys[k].size, 1, version);
}

/**
 * Make the values of `count` operations with one record each and values of equal size. The
 * values are contiguous in memory, in any mix of operations, and made in parallel.
 */
static void
make_alike_values(struct ops_maker *maker, const uint8_t *writes, uint32_t count)
{
	struct nb_slice keys[OPS_STRATUM];
	uint64_t versions[OPS_STRATUM];
	uint8_t *value = maker->value_bytes;
	for (uint32_t k = 0; k < count; k++, value += maker->value_stride) {
		keys[k] = maker->keys[writes[k]];
		versions[k] = maker->ops[0].index + writes[k];
		maker->values[writes[k]].data = value;
	}
	ops_versions(maker->spec, versions, count, versions);
	values_write_each(&maker->spec->values, maker->value_bytes, maker->value_stride, keys,
		versions, count);
}

/**
 * Make the values of operations [begin, begin + count) of the stratum, which are in maker->ops.
 */
static void
make_values(struct ops_maker *maker, uint32_t begin, uint32_t count)
{
	uint8_t writes[OPS_STRATUM];
	uint32_t found = 0; /* list them first: branches on their kinds are unpredictable */
	for (uint32_t j = 0; j < count; j++) {
		uint32_t has_steps = maker->ops[j].steps != NULL;
		writes[found] = (uint8_t)j;
		found += (OP_WRITES_MASK >> maker->ops[j].kind & 1) | has_steps;
	}
	const struct ops_spec *spec = maker->spec;
	if (ops_is_of_ones(spec) && spec->sizes->min == spec->sizes->max &&
		spec->value_head == 0) {
		make_alike_values(maker, writes, found);
		return;
	}
	for (uint32_t k = 0; k < found; k++) {
		struct ops_op *op = &maker->ops[writes[k]];
		if (op->steps != NULL)
			make_step_values(maker, begin + writes[k], op);
		else
			make_op_values(maker, begin + writes[k], op);
	}
}

void
ops_begin_at(struct ops_maker *maker, uint64_t first, uint64_t until)
{
	maker->first = first;
	maker->until = until;
	maker->at = 0;
}

/** ops_make() for a spec whose records are not drawn. */
static uint32_t
make_plain(struct ops_maker *maker)
{
	const struct ops_spec *spec = maker->spec;
	uint64_t versions[OPS_STRATUM];
	uint64_t i = maker->first + maker->at;
	uint64_t at = i < spec->plain_count ? i : i % spec->plain_count;
	uint32_t count = (uint32_t)(maker->until - i);
	count = count < maker->block ? count : maker->block;
	count = count < spec->plain_count - at ? count : (uint32_t)(spec->plain_count - at);
	for (uint32_t j = 0; j < count; j++)
		maker->numbers[j] = spec->plain_first + at + j;
	for (uint32_t j = 0; j < count; j++)
		maker->ops[j].index = i + j;
	if (spec->keys->format == NB_KEY_FILE)
		keyspace_copy(spec->keys, spec->plain_first + at, count, maker->bytes,
			maker->key_stride);
	else
		keyspace_keys(spec->keys, maker->numbers, count, maker->bytes,
			maker->key_stride, maker->keys);
	maker->at += count;
	if (!ops_is_write(spec->one_kind))
		return count;
	if (spec->is_load && spec->keys->key_size == maker->key_stride) {
		values_write(&spec->values, maker->value_bytes, maker->value_stride,
			maker->bytes, maker->key_stride, count, 0);
		return count;
	}
	for (uint32_t j = 0; j < count; j++)
		versions[j] = ops_version(spec, i + j);
	for (uint32_t j = 0; j < count && spec->value_head > 0; j++)
		write_age(maker->value_bytes + j * maker->value_stride, versions[j]);
	values_write_each(&spec->values, maker->value_bytes + spec->value_head,
		maker->value_stride, maker->keys, versions, count);
	return count;
}

void
ops_fill(struct ops_maker *maker, uint32_t count, uint32_t used)
{
	const struct ops_spec *spec = maker->spec;
	keyspace_keys(
		spec->keys, maker->numbers, used, maker->bytes, maker->key_stride, maker->keys);
	if (maker->writes || spec->has_steps)
		make_values(maker, maker->at, count);
	maker->at += count;
}

static uint32_t
records_make(struct ops_maker *maker)
{
	const struct ops_spec *spec = maker->spec;
	if (spec->plain_count > 0)
		return make_plain(maker);
	uint32_t used, count = ops_choose(maker, &used);
	ops_fill(maker, count, used);
	return count;
}

const struct source source_records = {.divide = records_divide,
	.visit = records_visit,
	.needs = records_needs,
	.begin = records_begin,
	.make = records_make,
	.writes = records_writes,
	.puts_at_once = records_puts_at_once,
	.digest = records_digest};
