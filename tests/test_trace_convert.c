/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

/* ---- what is written is what is read ---- */

enum { SEEDS = 40, OPS = 500 };

/** Written and read again, operations at random are the same. */
static void
comes_back(uint32_t format, uint32_t flags, const struct holds *holds, uint64_t seed)
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
	uint64_t count = rng_below(&rng, OPS);
	for (uint64_t i = 0; i < count; i++) {
		uint8_t key[MADE_KEY_MAX];
		struct trace_op op = make_op(&rng, holds, key, &due_ns);
		if (i == 0)
			op.due_ns = due_ns = 0; /* times count from the first */
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

TEST(what_is_written_is_what_is_read)
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
		comes_back(NB_TRACE_YCSB_TEXT, 0, &short_lines, seed);
		comes_back(NB_TRACE_YCSB_TEXT, NB_TRACE_KEY_LITTLE, &short_lines, seed);
		comes_back(NB_TRACE_YCSB_LOG, 0, &log, seed);
		comes_back(NB_TRACE_YCSB_LOG, NB_TRACE_KEY_LITTLE, &log, seed);
		comes_back(NB_TRACE_YCSB_LOG, NB_TRACE_KEY_TEXT, &text_log, seed);
		comes_back(NB_TRACE_U64, 0, &bare8, seed);
		comes_back(NB_TRACE_U64, NB_TRACE_KEY_LITTLE, &bare8, seed);
		comes_back(NB_TRACE_KEYS, 0, &bare13, seed);
		comes_back(NB_TRACE_CACHE_CSV, 0, &csv, seed);
		comes_back(NB_TRACE_MININB, 0, &ours, seed);
		comes_back(NB_TRACE_MININB, 0, &ours_untimed, seed);
	}
}

/* ---- damage of any kind ---- */

/** One of each format, small; bytes of these are changed below. */
static const struct {
	uint32_t format;
	const char *bytes;
	size_t size;
} samples[] = {
#define SAMPLE(format, bytes) \
	{ \
		format, bytes, sizeof(bytes) - 1 \
	}
	SAMPLE(NB_TRACE_YCSB_TEXT,
		"INSERT 6284781860667377211\nREAD 5\nSCAN 6 100\nREADMODIFYWRITE 7\r\n"
		"UPDATE 8\nDELETE 9\n"),
	SAMPLE(NB_TRACE_YCSB_LOG,
		"Loading\nINSERT usertable user12 [ field1=a b field0=c ]\n"
		"READ usertable user12 [ <all fields>]\nSCAN usertable user3 10 [ field0 ]\n"
		"DELETE usertable user4\n[OVERALL], RunTime(ms), 5\n"),
	SAMPLE(NB_TRACE_U64, "\0\1\2\3\4\5\6\7abcdefgh01234567"),
	SAMPLE(NB_TRACE_KEYS, "0123456789abcdef0123456789ABCDEF"),
	SAMPLE(NB_TRACE_ROCKSDB,
		"0x6162 0 0 0 16000\n0x00FF 1 0 10 16001\n0x61 0x62 4 0 0 16002\n"
		"0x61 6 0 0 16003\n0x61 5 0 9 16003\n"),
	SAMPLE(NB_TRACE_CACHE_CSV,
		"0,a,1,10,1,get,0\n1,b:c,5,10,1,set,60\n2,d,1,10,1,incr,0\n"),
	SAMPLE(NB_TRACE_CACHE_CSV,
		"op_time,key,key_size,op,op_count,size,cache_hits,ttl\n"
		"5,a,3,GET,2,87,1,0\n6,b,1,SET,1,5,0,0\nkey,op\nc,DELETE\n"),
	SAMPLE(NB_TRACE_MININB, NULL), /* see mutate() */
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

/** Bytes are flipped, replaced by ones that mean something, cut out, doubled. */
static void
mutate(struct text *text, struct rng *rng)
{
	static const char telling[] = "\n\r ,0919[]=xuserf\0\xff\x80-";
	for (uint64_t n = 1 + rng_below(rng, 6); n > 0 && text->size > 0; n--) {
		size_t at = rng_below(rng, text->size);
		size_t size = 1 + rng_below(rng, text->size - at);
		switch (rng_below(rng, 5)) {
		case 0:
			text->data[at] ^= (char)(1 << rng_below(rng, 8));
			break;
		case 1:
			text->data[at] = telling[rng_below(rng, sizeof(telling))];
			break;
		case 2: /* cut out */
			memmove(text->data + at, text->data + at + size,
				text->size - at - size);
			text->size -= size;
			break;
		case 3: /* cut off */
			text->size = at;
			break;
		default: /* doubled */
			text_room(text, size + 1);
			memmove(text->data + at + size, text->data + at, text->size - at);
			text->size += size;
			break;
		}
	}
}

/** Read it, at most so far as a damaged op_count may ask for; write what is read. */
static void
survive(const struct nb_trace_options *options)
{
	enum { ENOUGH = 3000 };
	struct nb_trace_options to = trace_at("rewritten", NB_TRACE_MININB, 0);
	struct trace_reader *reader;
	struct trace_writer *writer;
	struct trace_op op;
	int rc = trace_reader_open(&reader, options);
	if (rc != NB_OK) {
		ck_assert_int_lt(rc, 0);
		ck_assert_str_ne(nb_error_text(), "");
		return;
	}
	ck_assert_int_eq(trace_writer_open(&writer, &to), NB_OK);
	uint64_t ops = 0;
	while (ops < ENOUGH && (rc = trace_reader_next(reader, &op)) == NB_OK) {
		ck_assert_int_eq(trace_writer_add(writer, &op), NB_OK);
		ops++;
	}
	ck_assert(rc == NB_OK || rc == NB_NOT_FOUND || rc == NB_ERR_DATA);
	ck_assert_uint_eq(trace_reader_counts(reader)->ops, ops);
	if (rc == NB_NOT_FOUND && !(options->flags & NB_TRACE_SKIP_BAD))
		ck_assert_uint_eq(trace_reader_counts(reader)->bad, 0);
	trace_reader_close(reader);
	trace_writer_abandon(writer);
}

TEST(no_damage_is_more_than_an_error)
{
	enum { INPUTS = 20000 };
	static const uint32_t flags[] = {0, NB_TRACE_SKIP_BAD, NB_TRACE_KEY_LITTLE,
		NB_TRACE_KEY_TEXT, NB_TRACE_SKIP_BAD | NB_TRACE_KEY_TEXT};
	static const struct trace_op ops[] = {
		{.kind = NB_OP_READ, .key = {"abc", 3}, .has_due = true, .due_ns = 500},
		{.kind = NB_OP_SCAN, .key = {"abd", 3}, .scan_length = 300},
		{.kind = NB_OP_INSERT,
			.key = {"xyz01", 5},
			.has_value_size = true,
			.value_size = 1000},
	};
	struct nb_trace_options ours = trace_at("ours", NB_TRACE_MININB, 0);
	ck_assert_int_eq(write_ops(&ours, ops, 3), NB_OK);
	size_t ours_size;
	uint8_t *ours_bytes = file_get("ours", &ours_size);
	struct text text = {0};
	struct rng rng;
	rng_create(&rng, 42);
	for (int i = 0; i < INPUTS; i++) {
		size_t sample = rng_below(&rng, SAMPLES);
		text.size = 0;
		if (samples[sample].bytes != NULL)
			text_add(&text, samples[sample].bytes, samples[sample].size);
		else
			text_add(&text, ours_bytes, ours_size);
		mutate(&text, &rng);
		file_put("damaged", text.data, text.size);
		struct nb_trace_options options = trace_at("damaged",
			rng_below(&rng, 3) == 0 ? NB_TRACE_AUTO : samples[sample].format,
			flags[rng_below(&rng, 5)]);
		survive(&options);
	}
	free(text.data);
	free(ours_bytes);
}

/* ---- from one to the other ---- */

/** Convert `text`, found by looking at it; the result is in "to". */
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
	/* in either order of bytes the numbers stay what they are */
	convert(log, NB_TRACE_U64, NB_TRACE_KEY_LITTLE);
	file_is("to", "\x3b\xc6\xe5\xd7\xcd\x07\x38\x57\1\0\0\0\0\0\0\0", 16);
	convert(log, NB_TRACE_YCSB_TEXT, 0);
	file_is("to", "INSERT 6284781860667377211\nREAD 1\n", 34);
}

TEST(a_failure_leaves_the_old_file_and_tells_the_counts)
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
	/* of a caller that knows the first fields only */
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

TEST(it_shows_its_progress_and_can_be_stopped)
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
