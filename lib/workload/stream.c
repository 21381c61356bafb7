/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stream of operations of the classic workload: one verb, the keys of a
 * file in its order, the values that belong to them.
 *
 * Operations are made STREAM_BLOCK_MAX at a time and not one by one: the clock's
 * fence waits for all that was begun, so that a value made just before it would
 * cost its whole latency, while those of a block are made side by side. Keys are
 * copied out of the mapped file for the same reason that values are made ahead:
 * neither a page fault nor a cache miss of the harness may fall into the
 * engine's time. A block of large values is shorter, so as to stay in the cache.
 *
 * What would make the numbers wrong: a block larger than the L1 cache, which
 * would charge the engine for reading its arguments.
 */
#include "workload/stream.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "workload/block.h"

enum {
	STREAM_VERSION = 1 /* of all that makes the bytes of a stream; part of the digest */
};

int
stream_create(
	struct stream *stream, const struct nb_workload *workload, const struct keys *keys)
{
	uint64_t value_size = workload->verb == NB_VERB_PUT ? workload->value_size : 0;
	*stream = (struct stream){.keys = keys,
		.verb = workload->verb,
		.key_stride = block_stride(workload->key_size),
		.value_stride = block_stride(value_size)};
	size_t block = BLOCK_BYTES / (stream->key_stride + stream->value_stride);
	stream->block = block > STREAM_BLOCK_MAX ? STREAM_BLOCK_MAX : block > 0 ? block : 1;
	value_spec_create(&stream->values, value_size, workload->value_ratio, workload->seed);
	size_t key_bytes = block_whole_lines(stream->key_stride * stream->block);
	size_t value_bytes = block_whole_lines(stream->value_stride * stream->block);
	stream->key_bytes = aligned_alloc(BLOCK_LINE, key_bytes + value_bytes);
	if (stream->key_bytes == NULL)
		return error_set(NB_FAIL, "out of memory for values of %llu bytes",
			(unsigned long long)value_size);
	memset(stream->key_bytes, 0, key_bytes + value_bytes);
	stream->value_bytes = stream->key_bytes + key_bytes;
	for (uint32_t j = 0; j < stream->block; j++) {
		uint8_t *value = stream->value_bytes + j * stream->value_stride;
		value_prepare(&stream->values, value);
		stream->ops[j] = (struct op){
			.key = {stream->key_bytes + j * stream->key_stride, keys->key_size},
			.value = {value, value_size}};
	}
	return NB_OK;
}

void
stream_destroy(struct stream *stream)
{
	free(stream->key_bytes);
	stream->key_bytes = stream->value_bytes = NULL;
}

/** memcpy of the sizes that matter is then a load and a store. */
static inline void
copy_keys(struct stream *stream, const uint8_t *from, uint32_t count, size_t key_size)
{
	uint8_t *to = stream->key_bytes;
	for (uint32_t j = 0; j < count; j++)
		memcpy(to + j * stream->key_stride, from + j * key_size, key_size);
}

void
stream_fill(struct stream *stream, uint64_t first, uint32_t count)
{
	size_t key_size = stream->keys->key_size;
	const uint8_t *from = keys_get(stream->keys, first).data;
	if (key_size == 16)
		copy_keys(stream, from, count, 16);
	else if (key_size == 8)
		copy_keys(stream, from, count, 8);
	else
		copy_keys(stream, from, count, key_size);
	if (stream->verb == NB_VERB_PUT)
		values_write(&stream->values, stream->value_bytes, stream->value_stride, from,
			key_size, count, 0);
}

uint64_t
sample_threshold(double rate)
{
	if (rate >= 1)
		return UINT64_MAX;
	return rate > 0 ? (uint64_t)(rate * 18446744073709551616.0) : 0;
}

uint64_t
stream_digest(const struct nb_workload *workload, uint64_t keys_hash)
{
	bool is_put = workload->verb == NB_VERB_PUT;
	bool is_delete = workload->verb == NB_VERB_DELETE; /* its values are nobody's */
	double ratio = workload->value_ratio + 0.0;        /* that makes -0 a 0 */
	uint64_t ratio_bits;
	memcpy(&ratio_bits, &ratio, sizeof(ratio_bits));
	uint64_t words[] = {STREAM_VERSION, workload->verb, workload->count, workload->key_size,
		is_delete ? 0 : workload->value_size, keys_hash, is_put ? ratio_bits : 0,
		is_put ? workload->seed : 0};
	return XXH3_64bits(words, sizeof(words));
}

const char *
nb_verb_name(uint32_t verb)
{
	static const char *const names[] = {
		[NB_VERB_PUT] = "put", [NB_VERB_GET] = "get", [NB_VERB_DELETE] = "delete"};
	return verb < sizeof(names) / sizeof(names[0]) ? names[verb] : NULL;
}
