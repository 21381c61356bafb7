/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversion. fuzz/fuzz_trace.c tests damaged traces. */
#include <signal.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

/* ---- reading back what was written ---- */

enum { SEEDS = 40, OPS = 500 };

/** Random operations that are written and read back are unchanged. */
static void
comes_back(uint32_t format, uint32_t flags, const struct holds *holds, uint64_t seed,
	uint64_t count)
{
	struct nb_trace_options options = trace_at("written", format, flags);
	struct text wanted = {0};
	struct trace_writer *writer;
	struct rng rng;
	rng_create(&rng, seed);
	uint64_t due_ns = 0;
	text_put(&wanted, "");
	if (holds->key_size > 0)
		options.key_size = holds->key_size;
	ck_assert_int_eq(trace_writer_open(&writer, &options), NB_OK);
	for (uint64_t i = 0; i < count; i++) {
		uint8_t key[MADE_KEY_MAX];
		struct trace_op op = make_op(&rng, holds, key, &due_ns);
		if (i == 0)
			op.due_ns = due_ns = 0; /* times are relative to the first */
		text_op(&wanted, &op);
		ck_assert_msg(trace_writer_add(writer, &op) == NB_OK, "%s", nb_error_text());
	}
	ck_assert_int_eq(trace_writer_finish(writer), NB_OK);
	struct outcome found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_NOT_FOUND);
	ck_assert_str_eq(found.ops.data, wanted.data);
	ck_assert_uint_eq(found.counts.ops, count);
	ck_assert_uint_eq(found.counts.bad + found.counts.ignored + found.counts.others, 0);
	free(wanted.data);
}

#define BIT(kind) (1u << NB_OP_##kind)
#define BARE (1u << 31)
#define WRITES (BIT(UPDATE) | BIT(INSERT))

TEST(written_trace_is_read_back_unchanged)
{
	static const struct holds short_lines = {.kinds = WRITES | BIT(READ) | BIT(DELETE) |
						  BIT(SCAN) | BIT(RMW),
					  .key_size = 8,
					  .has_sizes = true,
					  .value_size = 8},
				  log = {.kinds = WRITES | BIT(READ) | BIT(DELETE) | BIT(SCAN),
					  .key_size = 8,
					  .has_sizes = true},
				  text_log = {.kinds = WRITES | BIT(READ) | BIT(DELETE) |
						  BIT(SCAN),
					  .is_printable = true,
					  .has_sizes = true},
				  bare8 = {.kinds = BARE, .key_size = 8},
				  bare13 = {.kinds = BARE, .key_size = 13},
				  csv = {.kinds = WRITES | BIT(READ) | BIT(UPSERT) |
						  BIT(DELETE) | BIT(RMW),
					  .is_printable = true,
					  .has_sizes = true,
					  .has_due = true,
					  .due_unit_ns = 1000000000},
				  ours = {.kinds = 0x8000007f,
					  .has_sizes = true,
					  .has_due = true,
					  .due_unit_ns = 333},
				  ours_untimed = {.kinds = 0x8000007f, .key_size = 16};
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		uint64_t ops = seed * OPS / SEEDS;
		comes_back(NB_TRACE_YCSB_TEXT, 0, &short_lines, seed, ops);
		comes_back(NB_TRACE_YCSB_TEXT, NB_TRACE_KEY_LITTLE, &short_lines, seed, ops);
		comes_back(NB_TRACE_YCSB_LOG, 0, &log, seed, ops);
		comes_back(NB_TRACE_YCSB_LOG, NB_TRACE_KEY_LITTLE, &log, seed, ops);
		comes_back(NB_TRACE_YCSB_LOG, NB_TRACE_KEY_TEXT, &text_log, seed, ops);
		comes_back(NB_TRACE_U64, 0, &bare8, seed, ops);
		comes_back(NB_TRACE_U64, NB_TRACE_KEY_LITTLE, &bare8, seed, ops);
		comes_back(NB_TRACE_KEYS, 0, &bare13, seed, ops);
		comes_back(NB_TRACE_CACHE_CSV, 0, &csv, seed, ops);
		comes_back(NB_TRACE_MININB, 0, &ours, seed, ops);
		comes_back(NB_TRACE_MININB, 0, &ours_untimed, seed, ops);
	}
	comes_back(NB_TRACE_MININB, 0, &ours, SEEDS, 100000); /* with many blocks */
}

/* ---- conversion ---- */

/** Convert `text`, with its format detected. The result is in "to". */
static struct nb_trace_counts
convert(const char *text, uint32_t format, uint32_t flags)
{
	file_put("from", text, strlen(text));
	struct nb_trace_options from = trace_at("from", NB_TRACE_AUTO, flags);
	struct nb_trace_options to = trace_at("to", format, flags & ~NB_TRACE_SKIP_BAD);
	struct nb_trace_counts counts = {.size = sizeof(counts)};
	int rc = nb_trace_convert(&from, &to, &counts, NULL, NULL);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	return counts;
}

TEST(a_log_becomes_bare_keys)
{
	static const char log[] =
		"Loading\nINSERT usertable user6284781860667377211 [ f0=ab ]\n"
		"READ usertable user1 [ <all fields>]\n";
	struct nb_trace_counts counts = convert(log, NB_TRACE_U64, 0);
	file_is("to", "\x3b\xc6\xe5\xd7\xcd\x07\x38\x57\1\0\0\0\0\0\0\0", 16);
	ck_assert_uint_eq(counts.ops, 2);
	ck_assert_uint_eq(counts.inserts, 1);
	ck_assert_uint_eq(counts.reads, 1);
	ck_assert_uint_eq(counts.ignored, 1);
	ck_assert_uint_eq(counts.bytes, sizeof(log) - 1);
	/* the numbers stay the same in either byte order */
	convert(log, NB_TRACE_U64, NB_TRACE_KEY_LITTLE);
	file_is("to", "\x3b\xc6\xe5\xd7\xcd\x07\x38\x57\1\0\0\0\0\0\0\0", 16);
	convert(log, NB_TRACE_YCSB_TEXT, 0);
	file_is("to", "INSERT 6284781860667377211\nREAD 1\n", 34);
}

TEST(failure_leaves_the_old_file_and_reports_the_counts)
{
	file_put("from", "READ 1\nREAD 2\nread 3\n", 21);
	file_put("to", "old", 3);
	struct nb_trace_options from = trace_at("from", 0, 0);
	struct nb_trace_options to = trace_at("to", NB_TRACE_U64, 0);
	struct nb_trace_counts counts = {.size = sizeof(counts)};
	ck_assert_int_eq(nb_trace_convert(&from, &to, &counts, NULL, NULL), NB_ERR_DATA);
	ck_assert_uint_eq(counts.ops, 2);
	file_is("to", "old", 3);
	ck_assert_int_eq(nb_trace_convert(&from, &to, NULL, NULL, NULL), NB_ERR_DATA);
	from.flags = NB_TRACE_SKIP_BAD;
	ck_assert_int_eq(nb_trace_convert(&from, &to, &counts, NULL, NULL), NB_OK);
	ck_assert_uint_eq(counts.bad, 1);
	file_is("to", "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
	/* from a caller that knows only the first fields */
	struct nb_trace_counts old = {
		.size = offsetof(struct nb_trace_counts, inserts), .reads = 4711};
	ck_assert_int_eq(nb_trace_convert(&from, &to, &old, NULL, NULL), NB_OK);
	ck_assert_uint_eq(old.ops, 2);
	ck_assert_uint_eq(old.reads, 4711);
}

TEST(a_file_can_be_converted_into_itself)
{
	file_put("same", "READ 1\nREAD 2\n", 14);
	struct nb_trace_options from = trace_at("same", 0, 0);
	struct nb_trace_options to = trace_at("same", NB_TRACE_U64, 0);
	ck_assert_int_eq(nb_trace_convert(&from, &to, NULL, NULL, NULL), NB_OK);
	file_is("same", "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
}

struct seen {
	uint64_t calls, done;
};

static void
see(void *arg, const struct nb_progress *progress)
{
	struct seen *seen = arg;
	ck_assert_str_eq(progress->what, "convert");
	ck_assert_uint_ge(progress->done, seen->done);
	ck_assert_uint_eq(progress->total, 700000);
	ck_assert_uint_le(progress->done, progress->total);
	seen->done = progress->done;
	if (++seen->calls == 10)
		nb_stop();
}

TEST(conversion_reports_progress_and_can_be_stopped)
{
	struct text text = {0};
	for (int i = 0; i < 100000; i++)
		text_put(&text, "READ 1\n");
	file_put("from", text.data, text.size);
	free(text.data);
	unlink("to");
	struct nb_trace_options from = trace_at("from", 0, 0);
	struct nb_trace_options to = trace_at("to", NB_TRACE_U64, 0);
	struct seen seen = {0};
	ck_assert_int_eq(nb_trace_convert(&from, &to, NULL, see, &seen), NB_ERR_INTERRUPTED);
	nb_stop_clear();
	ck_assert_uint_eq(seen.calls, 10);
	ck_assert_int_ne(access("to", F_OK), 0);
	seen.done = 0;
	ck_assert_int_eq(nb_trace_convert(&from, &to, NULL, see, &seen), NB_OK);
	ck_assert_uint_gt(seen.calls, 20);
}
