/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks, except tree_check(), do not know the implementation of the tree. They see what
 * a user sees, key by key and byte by byte.
 *
 * A value's version determines its bytes. Some values are all zeros or all ones, which no
 * format may misinterpret.
 */
#include "workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "../plugin_host.h"

enum {
	MIB = 1 << 20,
	GROWTH_BYTES = 8 << 20,
	VALUE_MAX = 100 << 10,
	PHASE = 64 /* operations that mostly insert, or mostly delete */
};

const struct shape shapes[] = {
	{"words", {8, 8, 4, 0, 4, 2}, 64, 8, 8, 8, 8, 0, 32},
	{"words-mixed", {8, 8, 6, 0, 4, 2}, 64, 1, 40, 0, 20, 0, 32},
	{"half-lines", {8, 12, 4, 20, 4, 2}, 64, 8, 8, 4, 12, 0, 32},
	{"cells", {16, 30, 5, 48, 4, 2}, 64, 10, 16, 0, 30, 0, 32},
	{"long-cells", {16, 100, 4, 116, 4, 2}, 64, 16, 16, 60, 100, 0, 32},
	{"cells-mixed", {16, 100, 8, 116, 5, 2}, 96, 1, 40, 0, 160, 0, 32},
	{"blobs", {0, 0, 4, 0, 4, 2}, 48, 1, 40, 100, 1500, 40 << 10, 32},
	{"huge", {0, 0, 4, 0, 4, 2}, 90, 1, 40, 20 << 10, 80 << 10, 0, 128},
	{.name = NULL},
};

unsigned
shapes_count(void)
{
	return sizeof(shapes) / sizeof(shapes[0]) - 1;
}

/* --- operations --- */

static int
bytes_compare(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
	if (order != 0)
		return order;
	return (a_size > b_size) - (a_size < b_size);
}

/* The index of a key in the order, or UINT32_MAX if it already exists. */
static uint32_t
place_of(const struct workload *workload, uint32_t count, const uint8_t *key, uint32_t size)
{
	uint32_t place = 0;
	for (uint32_t i = 0; i < count; i++) {
		int order = bytes_compare(
			workload->keys[i].bytes, workload->keys[i].size, key, size);
		if (order == 0)
			return UINT32_MAX;
		place += order < 0;
	}
	return place;
}

/* Make a key. Some keys differ only at the end. Some have bytes with a meaning in a format. */
static void
key_make(struct rng *rng, uint8_t *key, uint32_t size)
{
	static const uint8_t odd[] = {0x00, 0xff, 0xf8, 0xfb, 0xf1, 0x01};
	uint64_t kind = rng_below(rng, 5);

	for (uint32_t i = 0; i < size; i++)
		key[i] = kind == 0 ? odd[rng_below(rng, sizeof(odd))] : (uint8_t)rng_next(rng);
	if (kind == 1)
		memset(key, 'k', size - 1);
	if (kind == 2)
		key[0] = 0xf8;
	if (kind == 3) { /* prefixes of each other, followed by zeros */
		key[0] &= 3;
		memset(key + 1, 0, size - 1);
	}
}

void
workload_create(struct workload *workload, const struct shape *shape, uint64_t seed)
{
	struct rng rng;

	*workload = (struct workload){.shape = shape, .seed = seed};
	rng_create(&rng, seed);
	for (uint32_t count = 0; count < shape->keys;) {
		uint8_t key[WORKLOAD_KEY_MAX];
		uint32_t size = shape->key_min +
			(uint32_t)rng_below(&rng, shape->key_max - shape->key_min + 1);
		key_make(&rng, key, size);
		uint32_t place = place_of(workload, count, key, size);
		if (place == UINT32_MAX)
			continue;
		memmove(&workload->keys[place + 1], &workload->keys[place],
			(count - place) * sizeof(workload->keys[0]));
		memcpy(workload->keys[place].bytes, key, size);
		workload->keys[place].size = size;
		count++;
	}
}

static uint32_t
value_size(const struct shape *shape, struct rng *rng)
{
	if (shape->huge_bytes > 0 && rng_below(rng, 64) == 0)
		return shape->huge_bytes;
	return shape->value_min +
		(uint32_t)rng_below(rng, shape->value_max - shape->value_min + 1);
}

/*
 * Phases fill the tree and empty it in turn. Some phases use neighbouring keys in order,
 * which empties whole leaves or fills only one.
 */
struct op
workload_op(const struct workload *workload, uint64_t i)
{
	const struct shape *shape = workload->shape;
	uint64_t phase = i / PHASE;
	bool is_filling = phase % 2 == 0;
	bool is_run = splitmix64_mix(workload->seed + phase / 2) % 4 == 0;
	struct rng rng;
	struct op op;

	rng_create(&rng, splitmix64_mix(workload->seed) + i);
	uint64_t lot = rng_below(&rng, 100);
	op.verb = lot < (is_filling ? 10 : 75) ? VERB_DEL : lot < 45 ? VERB_INSERT : VERB_PUT;
	op.key = (uint32_t)(is_run && rng_below(&rng, 8) != 0 ? i % shape->keys
							      : rng_below(&rng, shape->keys));
	op.value = (struct stored){0};
	if (op.verb != VERB_DEL)
		op.value = (struct stored){i + 1, value_size(shape, &rng)};
	return op;
}

struct op
workload_op_of(const struct workload *workload, unsigned thread, uint64_t i)
{
	struct op op = workload_op(workload, i * WORKLOAD_THREADS + thread);
	op.key = op.key / WORKLOAD_THREADS * WORKLOAD_THREADS + thread;
	return op;
}

const char *
workload_op_text(const struct workload *workload, const struct op *op, char text[256])
{
	static const char *const names[] = {"put", "insert", "delete"};
	int at = snprintf(text, 256, "%s key %u (", names[op->verb], op->key);
	for (uint32_t i = 0; i < workload->keys[op->key].size; i++)
		at += snprintf(
			text + at, 256 - (size_t)at, "%02x", workload->keys[op->key].bytes[i]);
	snprintf(text + at, 256 - (size_t)at, "), value %llu of %u bytes",
		(unsigned long long)op->value.version, op->value.size);
	return text;
}

static const uint8_t *
value_bytes(struct stored value)
{
	static _Thread_local uint8_t bytes[VALUE_MAX + 8];
	struct rng rng;

	rng_create(&rng, value.version);
	uint64_t kind = rng_below(&rng, 16);
	for (uint32_t i = 0; i < value.size; i += 8) {
		uint64_t word = kind == 0 ? 0 : kind == 1 ? UINT64_MAX : rng_next(&rng);
		memcpy(bytes + i, &word, 8);
	}
	return bytes;
}

/* --- the model --- */

void
model_apply(struct model *model, const struct op *op)
{
	struct stored *record = &model->records[op->key];

	if (op->verb != VERB_INSERT || record->version == 0)
		*record = op->value;
}

void
model_join(struct model *to, const struct model *from, unsigned thread)
{
	for (uint32_t key = thread; key < WORKLOAD_KEYS; key += WORKLOAD_THREADS)
		to->records[key] = from->records[key];
}

uint32_t
model_count(const struct model *model)
{
	uint32_t count = 0;
	for (int i = 0; i < WORKLOAD_KEYS; i++)
		count += model->records[i].version != 0;
	return count;
}

/* --- faults --- */

const char *
subject_fault(void)
{
	return host_failure;
}

static bool __attribute__((format(printf, 1, 2))) fault(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(host_failure, sizeof(host_failure), fmt, args);
	va_end(args);
	return false;
}

/* --- open and close --- */

static bool
session_open(struct subject *subject, uint32_t id)
{
	if (tree_session_open(&subject->session, subject->tree, id) == NB_OK)
		return true;
	subject->session = NULL;
	return false;
}

bool
subject_open_pool(
	struct subject *subject, const struct workload *workload, const char *path, bool is_new)
{
	struct nb_open_args args = {.size = sizeof(args),
		.flags = is_new ? NB_OPEN_CREATE : 0,
		.host = &plugin_host,
		.path = path,
		.sessions = 2,
		.durability = NB_DUR_COMMIT};
	long long growth = GROWTH_BYTES;

	*subject = (struct subject){.workload = workload};
	strcpy(host_failure, "no text");
	if (pool_open(&subject->pool, &args, (uint64_t)workload->shape->pool_mib * MIB) !=
		NB_OK) {
		subject->pool = NULL;
		return false;
	}
	if (pmemobj_ctl_set(subject->pool->obj, "heap.size.granularity", &growth) != 0)
		return fault("granularity: %s", pmemobj_errormsg());
	return true;
}

bool
subject_open_tree(struct subject *subject)
{
	const struct tree_args *args = &subject->workload->shape->tree;

	if (tree_open(&subject->tree, subject->pool, args) != NB_OK) {
		subject->tree = NULL;
		return false;
	}
	return session_open(subject, 0);
}

bool
subject_open(
	struct subject *subject, const struct workload *workload, const char *path, bool is_new)
{
	return subject_open_pool(subject, workload, path, is_new) && subject_open_tree(subject);
}

static bool
session_close(struct subject *subject)
{
	bool is_closed = subject->session == NULL ||
		tree_session_close(subject->session) == NB_OK;
	subject->session = NULL;
	return is_closed;
}

bool
subject_close(struct subject *subject)
{
	bool is_closed = session_close(subject);
	if (subject->tree != NULL)
		tree_close(subject->tree);
	if (subject->pool != NULL && pool_close(subject->pool) != NB_OK)
		is_closed = false;
	*subject = (struct subject){0};
	return is_closed;
}

bool
subject_join(struct subject *subject, const struct subject *first)
{
	*subject = *first;
	return session_open(subject, 1);
}

bool
subject_leave(struct subject *subject)
{
	return session_close(subject);
}

/* --- operations on it --- */

static struct nb_slice
key_slice(const struct subject *subject, uint32_t key)
{
	const struct workload *workload = subject->workload;
	return (struct nb_slice){workload->keys[key].bytes, workload->keys[key].size};
}

static int
op_make(struct subject *subject, const struct op *op)
{
	struct nb_slice key = key_slice(subject, op->key);
	struct nb_slice value = {value_bytes(op->value), op->value.size};

	switch (op->verb) {
	case VERB_PUT:
		return tree_put(subject->session, key, value);
	case VERB_INSERT:
		return tree_insert(subject->session, key, value);
	default:
		return tree_del(subject->session, key);
	}
}

bool
subject_do(struct subject *subject, struct model *model, const struct op *op)
{
	bool is_there = model->records[op->key].version != 0;
	int expected = op->verb == VERB_INSERT && is_there ? NB_EXISTS
		: op->verb == VERB_DEL && !is_there        ? NB_NOT_FOUND
							   : NB_OK;
	char text[256];

	int answer = op_make(subject, op);
	if (answer < 0) {
		char why[sizeof(host_failure)];
		memcpy(why, host_failure, sizeof(why));
		return fault(
			"%s: failed: %s", workload_op_text(subject->workload, op, text), why);
	}
	if (answer != expected)
		return fault("%s: answered %d, not %d",
			workload_op_text(subject->workload, op, text), answer, expected);
	model_apply(model, op);
	return true;
}

/* --- checks --- */

static bool
value_is(struct nb_slice value, struct stored stored)
{
	return stored.version != 0 && value.size == stored.size &&
		(value.size == 0 || memcmp(value.data, value_bytes(stored), value.size) == 0);
}

/* Find the version of that value among the key's earlier ones, for the fault's text. */
static unsigned long long
version_of(const struct workload *workload, uint32_t key, struct nb_slice value, uint64_t last)
{
	for (uint64_t i = last; i-- > 0;) {
		struct op op = workload_op(workload, i);
		if (op.key == key && value_is(value, op.value))
			return op.value.version;
	}
	return 0;
}

static bool
fault_value(const struct subject *subject, const char *where, uint32_t key,
	struct nb_slice value, struct stored stored)
{
	return fault("%s: key %u has a value of %zu bytes (version %llu), not version %llu of "
		     "%u bytes",
		where, key, value.size, version_of(subject->workload, key, value, 4000),
		(unsigned long long)stored.version, stored.size);
}

static bool
decide(struct subject *subject, struct model *model, const struct op *op)
{
	uint32_t key = op->key;
	struct stored before = model->records[key];
	struct nb_slice value;

	model_apply(model, op);
	struct stored after = model->records[key];
	int answer = tree_get(subject->session, key_slice(subject, key), &value);
	if (answer < 0)
		return false;
	if (answer == NB_NOT_FOUND) {
		if (before.version != 0 && after.version != 0)
			return fault("get: key %u is gone, that was in flight", key);
		model->records[key] = (struct stored){0};
		return true;
	}
	bool is_before = value_is(value, before), is_after = value_is(value, after);
	if (!is_before && !is_after)
		fault_value(subject, "get (in flight)", key, value, before);
	tree_release(subject->session);
	if (!is_after)
		model->records[key] = before;
	return is_before || is_after;
}

bool
subject_decide(struct subject *subject, struct model *model)
{
	bool is_right = true;

	for (int t = 0; is_right && t < WORKLOAD_THREADS; t++) {
		if (model->in_flight[t].is_there)
			is_right = decide(subject, model, &model->in_flight[t].op);
		model->in_flight[t].is_there = false;
	}
	return is_right;
}

static bool
check_get(struct subject *subject, const struct model *model, uint32_t key)
{
	struct stored stored = model->records[key];
	struct nb_slice value;

	int answer = tree_get(subject->session, key_slice(subject, key), &value);
	if (answer < 0)
		return false;
	if (answer == NB_NOT_FOUND)
		return stored.version == 0 || fault("get: key %u is lost", key);
	bool is_right = value_is(value, stored);
	if (!is_right)
		fault_value(subject, "get", key, value, stored);
	tree_release(subject->session);
	return is_right;
}

/* The next stored key, from `key` on in the direction of `step`. */
static int
next_stored(const struct model *model, int key, int step)
{
	while (key >= 0 && key < WORKLOAD_KEYS && model->records[key].version == 0)
		key += step;
	return key;
}

static bool
check_scanned(struct subject *subject, const struct model *model, const char *where, int key,
	struct nb_slice found, struct nb_slice value)
{
	if (key < 0 || key >= WORKLOAD_KEYS)
		return fault("%s: a key of %zu bytes behind the last", where, found.size);
	struct nb_slice expected = key_slice(subject, (uint32_t)key);
	int order = bytes_compare(found.data, found.size, expected.data, expected.size);
	if (order != 0)
		return fault("%s: a key of %zu bytes comes where key %d should, and is %s",
			where, found.size, key, order < 0 ? "smaller" : "larger");
	return value_is(value, model->records[key]) ||
		fault_value(subject, where, (uint32_t)key, value, model->records[key]);
}

/* Check a scan of at most `limit` records from `key` on; -1: from the first or the last. */
static bool
check_scan(struct subject *subject, const struct model *model, bool is_backward, int key,
	unsigned limit)
{
	const char *where = is_backward ? "scan backward" : "scan forward";
	struct nb_scan_args args = {
		.size = sizeof(args), .flags = is_backward ? NB_SCAN_BACKWARD : 0};
	int step = is_backward ? -1 : 1, answer = NB_OK;
	bool is_right = true;
	struct nb_slice found, value;

	if (key >= 0)
		args.from = key_slice(subject, (uint32_t)key);
	else
		key = is_backward ? WORKLOAD_KEYS - 1 : 0;
	if (tree_scan_open(subject->session, &args) != NB_OK)
		return false;
	for (; is_right && limit > 0; limit--) {
		key = next_stored(model, key, step);
		answer = tree_scan_next(subject->session, &found, &value);
		if (answer != NB_OK)
			break;
		is_right = check_scanned(subject, model, where, key, found, value);
		key += step;
	}
	if (answer == NB_NOT_FOUND && key >= 0 && key < WORKLOAD_KEYS)
		is_right = fault("%s: ends before key %d", where, key);
	return tree_scan_close(subject->session) == NB_OK && is_right &&
		(limit == 0 || answer == NB_NOT_FOUND);
}

bool
subject_check_seeks(struct subject *subject, const struct model *model)
{
	struct nb_slice keys[WORKLOAD_KEYS] = {{0}}, values[WORKLOAD_KEYS];
	int32_t answers[WORKLOAD_KEYS];
	uint32_t count = subject->workload->shape->keys;
	bool is_right = true;

	for (uint32_t key = 0; is_right && key < count; key++)
		is_right = check_scan(subject, model, false, (int)key, 3) &&
			check_scan(subject, model, true, (int)key, 3);
	for (uint32_t i = 0; i < count; i++)
		keys[i] = key_slice(subject, i * 7 % count);
	if (!is_right ||
		tree_multi_get(subject->session, keys, count, values, answers) != NB_OK)
		return false;
	for (uint32_t i = 0; is_right && i < count; i++) {
		uint32_t key = i * 7 % count;
		struct stored stored = model->records[key];
		is_right = answers[i] == (stored.version != 0 ? NB_OK : NB_NOT_FOUND) &&
			(answers[i] != NB_OK || value_is(values[i], stored));
		if (!is_right)
			fault("multi_get: key %u: answered %d", key, answers[i]);
	}
	tree_release(subject->session);
	return is_right;
}

/* Run tree_check() without a session, because an open session may hold back space. */
static bool
check_structure(struct subject *subject, const struct model *model)
{
	char what[512] = "no text";

	if (!session_close(subject))
		return false;
	int64_t count = tree_check(subject->tree, what, sizeof(what));
	if (!session_open(subject, 0))
		return false;
	if (count < 0)
		return fault("tree_check: %s", what);
	if (count != model_count(model))
		return fault("tree_check: %lld records, not %u", (long long)count,
			model_count(model));
	return true;
}

bool
subject_check(struct subject *subject, struct model *model)
{
	bool is_right = subject_decide(subject, model) &&
		check_scan(subject, model, false, -1, WORKLOAD_KEYS + 1) &&
		check_scan(subject, model, true, -1, WORKLOAD_KEYS + 1);
	for (uint32_t key = 0; is_right && key < subject->workload->shape->keys; key++)
		is_right = check_get(subject, model, key);
	return is_right && check_structure(subject, model);
}

/* Check libpmemobj's allocations: an empty tree has one extent, with its leaf. */
static bool
check_objects(const struct subject *subject)
{
	unsigned count = 0;

	for (PMEMoid at = pmemobj_first(subject->pool->obj); !OID_IS_NULL(at);
		at = pmemobj_next(at))
		count++;
	return count == 1 || fault("an empty tree has %u objects of libpmemobj", count);
}

static bool
delete_all(struct subject *subject, struct model *model)
{
	for (uint32_t key = 0; key < subject->workload->shape->keys; key++) {
		struct op op = {.verb = VERB_DEL, .key = key};
		if (!subject_do(subject, model, &op))
			return false;
	}
	return true;
}

static bool
reopen(struct subject *subject, const char *path)
{
	const struct workload *workload = subject->workload;
	return subject_close(subject) && subject_open(subject, workload, path, false);
}

/*
 * Open twice. The first open may find empty leaves and unlink them. The second finds them
 * unreachable, and gives back extents that contain nothing else.
 */
bool
subject_check_space(struct subject *subject, struct model *model, const char *path)
{
	struct tree_stats stats;

	if (!delete_all(subject, model) || !subject_check(subject, model) ||
		!reopen(subject, path) || !subject_check(subject, model))
		return false;
	tree_stats(subject->tree, &stats);
	if (stats.heap.blobs != 0 || stats.heap.blob_bytes != 0)
		return fault(
			"an empty tree has %llu blobs", (unsigned long long)stats.heap.blobs);
	if (stats.heap.leaves > 1)
		return fault(
			"an empty tree has %llu leaves", (unsigned long long)stats.heap.leaves);
	return reopen(subject, path) && check_objects(subject);
}
