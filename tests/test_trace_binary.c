/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Python script, with struct.pack and the module xxhash, built the traces `two_blocks` and
 * `one_block` from the description at the head of trace_binary.c.
 */
#include <signal.h>

#define XXH_NO_INLINE_HINTS 1 /* at -Og, GCC 14 cannot inline every function that demands it */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

#define FORMAT NB_TRACE_MININB

enum { HEADER = 32, BLOCK = 40 };

static const char two_blocks[] =
	"\x89\x4e\x42\x54\x0d\x0a\x1a\x0a\x01\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x73\xdc\x75\xb8\xf7\x07\x00\x34"
	"\x4e\x42\x62\x6b\x16\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x9a\x8f\xcf\x41\xa8\xc0\xb2\x75\x22\x03\xac\x02\x61\x62\x63\x10"
	"\x61\x62\x64\x85\x01\xc8\x01\xe8\x07\x78\x9f\x80\x01\x79\x4e\x42"
	"\x62\x6b\x0f\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x00"
	"\x00\x00\x00\x00\x00\x00\x68\x04\x00\x00\x00\x00\x00\x00\x1c\x47"
	"\xbb\x5b\x61\xc3\x22\x5b\x23\x01\xac\x02\x6b\xe1\x02\x00\x6b\x6b"
	"\x04\x01\x6c\x16\x6d\x4e\x42\x65\x6e\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00"
	"\x00\x00\x00\x00\x00\x79\xc3\xb5\x67\xdd\x16\x6d\x41";
enum { TWO = sizeof(two_blocks) - 1, SECOND = HEADER + BLOCK + 22 };

static const char one_block[] =
	"\x89\x4e\x42\x54\x0d\x0a\x1a\x0a\x01\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x73\xdc\x75\xb8\xf7\x07\x00\x34"
	"\x4e\x42\x62\x6b\x16\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x9a\x8f\xcf\x41\xa8\xc0\xb2\x75\x22\x03\xac\x02\x61\x62\x63\x10"
	"\x61\x62\x64\x85\x01\xc8\x01\xe8\x07\x78\x9f\x80\x01\x79\x4e\x42"
	"\x65\x6e\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00"
	"\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\xed\x4e"
	"\x5d\x23\xdd\xc5\x62\x33";

static const char first_ops[] = "I 616263 v300\n"
				"R 616264\n"
				"S 78 s200 @1000\n"
				"- 79 @1128\n";
static const char second_ops[] = "P 6b v300\n"
				 "U 6b6b v300 @1128\n"
				 "D 6c\n"
				 "M 6d\n";

TEST(a_trace_made_by_others_is_read)
{
	char all[256];
	snprintf(all, sizeof(all), "%s%s", first_ops, second_ops);
	reads_as(two_blocks, TWO, FORMAT, 0, all);
	reads_as(one_block, sizeof(one_block) - 1, FORMAT, 0, first_ops);
}

TEST(written_trace_matches_the_documentation)
{
	static const struct trace_op ops[] = {
		{.kind = NB_OP_INSERT,
			.key = {"abc", 3},
			.has_value_size = true,
			.value_size = 300},
		{.kind = NB_OP_READ, .key = {"abd", 3}},
		{.kind = NB_OP_SCAN,
			.key = {"x", 1},
			.scan_length = 200,
			.has_due = true,
			.due_ns = 1000},
		{.kind = TRACE_NO_KIND, .key = {"y", 1}, .has_due = true, .due_ns = 1128},
	};
	struct nb_trace_options options = trace_at("written", NB_TRACE_AUTO, 0);
	ck_assert_int_eq(write_ops(&options, ops, 4), NB_OK);
	file_is("written", one_block, sizeof(one_block) - 1);
}

/** The error of damaged bytes. The operations before the damage are correct. */
static void
is_found(const char *bytes, size_t size)
{
	file_put("trace", bytes, size);
	struct nb_trace_options options = trace_at("trace", FORMAT, 0);
	struct outcome found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_ERR_DATA);
	ck_assert_str_ne(found.error, "");
	char all[256];
	snprintf(all, sizeof(all), "%s%s", first_ops, second_ops);
	ck_assert_int_eq(strncmp(all, found.ops.data, found.ops.size), 0);
}

TEST(damage_of_any_bit_is_detected)
{
	char bytes[TWO];
	for (size_t i = 0; i < TWO; i++) {
		for (int bit = 0; bit < 8; bit++) {
			memcpy(bytes, two_blocks, TWO);
			bytes[i] ^= (char)(1 << bit);
			is_found(bytes, TWO);
		}
	}
}

TEST(truncated_trace_is_detected)
{
	for (size_t size = 0; size < TWO; size++)
		is_found(two_blocks, size);
	file_put("trace", two_blocks, TWO - 1);
	struct nb_trace_options options = trace_at("trace", FORMAT, 0);
	struct outcome found = read_all(&options);
	ck_assert_str_eq(
		found.error, "trace: block 2: the file ends inside it or before its end mark");
}

TEST(lost_swapped_or_repeated_blocks_are_detected)
{
	char bytes[2 * TWO];
	size_t second = TWO - BLOCK - SECOND, first = SECOND - HEADER;
	memcpy(bytes, two_blocks, HEADER); /* without the first block */
	memcpy(bytes + HEADER, two_blocks + SECOND, TWO - SECOND);
	is_found(bytes, TWO - first);
	memcpy(bytes, two_blocks, SECOND); /* without the second block */
	memcpy(bytes + SECOND, two_blocks + TWO - BLOCK, BLOCK);
	is_found(bytes, SECOND + BLOCK);
	memcpy(bytes + HEADER, two_blocks + SECOND, second); /* blocks swapped */
	memcpy(bytes + HEADER + second, two_blocks + HEADER, first);
	memcpy(bytes + SECOND + second, two_blocks + TWO - BLOCK, BLOCK);
	is_found(bytes, TWO);
	memcpy(bytes, two_blocks, SECOND); /* the first block twice */
	memcpy(bytes + SECOND, two_blocks + HEADER, first);
	memcpy(bytes + SECOND + first, two_blocks + SECOND, TWO - SECOND);
	is_found(bytes, TWO + first);
	memcpy(bytes, two_blocks, TWO); /* extra bytes after the end */
	bytes[TWO] = 'x';
	is_found(bytes, TWO + 1);
}

TEST(a_damaged_block_can_be_skipped)
{
	char bytes[TWO];
	memcpy(bytes, two_blocks, TWO);
	bytes[SECOND - 1] ^= 1;
	reads_as(bytes, TWO, FORMAT, NB_TRACE_SKIP_BAD, second_ops);
	struct nb_trace_options options = trace_at("trace", FORMAT, NB_TRACE_SKIP_BAD);
	struct outcome found = read_all(&options);
	ck_assert_uint_eq(found.counts.bad, 1);
	ck_assert_str_eq(
		found.counts.first_bad, "block 0: is damaged: its checksum does not match");
	memcpy(bytes, two_blocks, TWO);
	bytes[SECOND + BLOCK + 3] ^= 1;
	reads_as(bytes, TWO, FORMAT, NB_TRACE_SKIP_BAD, first_ops);
	/* so the beginning of the next block is also unknown */
	bytes[SECOND + 5] ^= 1;
	file_put("trace", bytes, TWO);
	found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_NOT_FOUND); /* it seems to end beyond the file */
	ck_assert_uint_eq(found.counts.bad, 1);
	bytes[SECOND] ^= 1;
	file_put("trace", bytes, TWO);
	found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_ERR_DATA);
	ck_assert_str_eq(found.error,
		"trace: block 1 is damaged and the next cannot be found: it has no block mark");
}

static uint32_t
get_size(const uint8_t *head)
{
	uint32_t size;
	memcpy(&size, head + 4, 4);
	return size;
}

/** Write a trace of one block with these operations and correct checksums. */
static void
block_of(struct text *trace, const char *ops, size_t size, uint32_t count)
{
	uint8_t head[BLOCK] = "NBbk";
	uint32_t bytes = (uint32_t)size;
	trace->size = 0;
	text_add(trace, two_blocks, HEADER);
	memcpy(head + 4, &bytes, 4);
	memcpy(head + 8, &count, 4);
	uint64_t hash = XXH3_64bits_withSeed(ops, size, XXH3_64bits(head, 32));
	memcpy(head + 32, &hash, 8);
	text_add(trace, head, BLOCK);
	text_add(trace, ops, size);
	uint8_t end[BLOCK] = "NBen";
	end[16] = 1;
	end[24] = (uint8_t)count;
	hash = XXH3_64bits_withSeed("", 0, XXH3_64bits(end, 32));
	memcpy(end + 32, &hash, 8);
	text_add(trace, end, BLOCK);
}

TEST(errors_with_a_valid_checksum_are_detected)
{
	static const struct {
		const char *ops;
		size_t size;
		uint32_t count;
		const char *why;
	} cases[] = {
		{"\x07\x01k", 3, 1, "unknown kind"},
		{"\x0e\x01k", 3, 1, "unknown kind"},
		{"\x10k", 2, 1, "its key size is not allowed"},
		{"\x00\x00k", 3, 1, "its key size is not allowed"},
		{"\x00\x81\x80\x40k", 5, 1, "its key size is not allowed"},
		{"\x00\x05k", 3, 1, "its key does not end inside the block"},
		{"\x00", 1, 1, "it ends inside a number"},
		{"\x00\xff", 2, 1, "it ends inside a number"},
		{"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02k", 12, 1,
			"it ends inside a number"},
		{"\x20\x01\x81\x80\x80\x80\x04k", 8, 1, "its value size is not allowed"},
		{"\x05\x01\x00k", 4, 1, "it scans 0 records"},
		{"\x00\x01kx", 4, 1, "the block has another number of operations"},
		{"\x00\x01k", 3, 2, "the block has another number of operations"},
		{"\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01k\x90\x01k", 16, 2,
			"its time is too large"},
	};
	struct text trace = {0};
	struct nb_trace_options options = trace_at("trace", FORMAT, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		block_of(&trace, cases[i].ops, cases[i].size, cases[i].count);
		file_put("trace", trace.data, trace.size);
		struct outcome found = read_all(&options);
		char error[128];
		snprintf(error, sizeof(error), "trace: block 0: an operation is damaged: %s",
			cases[i].why);
		ck_assert_int_eq(found.rc, NB_ERR_DATA);
		ck_assert_str_eq(found.error, error);
	}
	/* the maximum values */
	static const char large[] = "\xa0\x01\x80\x80\x80\x80\x04"
				    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01k";
	block_of(&trace, large, sizeof(large) - 1, 1);
	reads_as(trace.data, trace.size, FORMAT, 0, "R 6b v1073741824 @18446744073709551615\n");
	free(trace.data);
}

/* Found by the fuzzer: such an operation could not be written again. */
TEST(block_with_descending_times_is_detected)
{
	char bytes[TWO];
	memcpy(bytes, two_blocks, TWO);
	uint8_t *head = (uint8_t *)bytes + SECOND;
	uint64_t due_ns = 1127;
	memcpy(head + 24, &due_ns, 8);
	uint64_t hash = XXH3_64bits_withSeed(
		head + BLOCK, get_size(head), XXH3_64bits(head, 32));
	memcpy(head + 32, &hash, 8);
	is_found(bytes, TWO);
	ck_assert_str_eq(nb_error_text(), "trace: block 1: is damaged: its time goes back");
}

TEST(other_version_is_reported)
{
	char bytes[TWO];
	memcpy(bytes, two_blocks, TWO);
	bytes[8] = 2;
	is_refused("", FORMAT, 0, "trace: ends inside its header");
	file_put("trace", bytes, TWO);
	struct nb_trace_options options = trace_at("trace", FORMAT, 0);
	struct outcome found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_ERR_DATA);
	ck_assert_str_eq(
		found.error, "trace: has version 2 or is damaged; this mininb reads version 1");
}

TEST(an_operation_that_is_due_before_the_last_is_refused)
{
	static const struct trace_op ops[] = {
		{.kind = NB_OP_READ, .key = {"a", 1}, .has_due = true, .due_ns = 5},
		{.kind = NB_OP_READ, .key = {"a", 1}},
		{.kind = NB_OP_READ, .key = {"a", 1}, .has_due = true, .due_ns = 4},
	};
	struct nb_trace_options options = trace_at("written", FORMAT, 0);
	ck_assert_int_eq(write_ops(&options, ops, 3), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(),
		"written: operation 3 cannot be written: it is due before the previous one");
}
