/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/trace.h"

#include <signal.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

TEST(formats_have_names)
{
	static const char *const names[] = {"auto", "ycsb-text", "ycsb-log", "u64", "keys",
		"rocksdb", "cache-csv", "mininb"};
	for (uint32_t i = 0; i < NB_TRACE_FORMATS; i++)
		ck_assert_str_eq(nb_trace_format_name(i), names[i]);
	ck_assert_ptr_null(nb_trace_format_name(NB_TRACE_FORMATS));
}

/** The format that is detected in the bytes, as a file and as a pipe. */
static void
is_format(const void *data, size_t size, uint32_t format)
{
	file_put("trace", data, size);
	struct nb_trace_options options = trace_at("trace", NB_TRACE_AUTO, 0);
	for (int i = 0; i < 2; i++) {
		struct outcome found = i == 0 ? read_all(&options)
					      : read_piped(&options, data, size, 3);
		ck_assert_msg(found.format == format, "%u: %s", found.format, found.error);
	}
}

static void
text_is_format(const char *text, uint32_t format)
{
	is_format(text, strlen(text), format);
}

TEST(each_format_is_found)
{
	text_is_format("INSERT 6284781860667377211\n", NB_TRACE_YCSB_TEXT);
	text_is_format("SCAN 5 7\r\n", NB_TRACE_YCSB_TEXT);
	text_is_format("READ 1", NB_TRACE_YCSB_TEXT);
	text_is_format("READ usertable user1 [ <all fields>]\n", NB_TRACE_YCSB_LOG);
	text_is_format("DELETE usertable user1\n", NB_TRACE_YCSB_LOG);
	text_is_format("SCAN usertable user1 10 [ field0 ]", NB_TRACE_YCSB_LOG);
	text_is_format("0x6162 0 0 0 1600000000000000\n", NB_TRACE_ROCKSDB);
	text_is_format("0x61 0x62 4 0 0 16\r\n", NB_TRACE_ROCKSDB);
	text_is_format("1 0 0 1600000000000000\n", NB_TRACE_ROCKSDB);
	text_is_format("0,q:q:1:8WTfjZU14ee,17,213,4,get,0\n", NB_TRACE_CACHE_CSV);
	text_is_format(
		"op_time,key,key_size,op,op_count,size,cache_hits,ttl\r\n", NB_TRACE_CACHE_CSV);
	text_is_format("a,SET,5,2,1\n", NB_TRACE_CACHE_CSV);
	static const struct trace_op op = {.kind = NB_OP_READ, .key = {"a", 1}};
	struct nb_trace_options options = trace_at("written", NB_TRACE_MININB, 0);
	ck_assert_int_eq(write_ops(&options, &op, 1), NB_OK);
	size_t size;
	uint8_t *bytes = file_get("written", &size);
	is_format(bytes, size, NB_TRACE_MININB);
	free(bytes);
}

/* A log may begin with output of its program and with the rest of a line. */
TEST(first_valid_operation_determines_the_format)
{
	struct text text = {0};
	while (text.size < 300000)
		text_put(&text, "\"property\"=\"READ 5, 0x61 0 0 0\"\n");
	text_put(&text, "READ usertable user1 [ <all fields>]\nREAD 5\n");
	is_format(text.data, text.size, NB_TRACE_YCSB_LOG);
	text.size = 0;
	text_put(&text,
		"67377211\nREAD 5 6\nREAD usertable\nREAD 5\n"
		"READ usertable user1 [ <all fields>]\n");
	is_format(text.data, text.size, NB_TRACE_YCSB_TEXT);
	free(text.data);
}

/** The error of bytes without a known format. */
static void
is_unknown(const char *path, const void *data, size_t size, int code, const char *error)
{
	file_put(path, data, size);
	struct nb_trace_options options = trace_at(path, NB_TRACE_AUTO, 0);
	struct outcome found = read_all(&options);
	ck_assert_int_eq(found.rc, code);
	ck_assert_str_eq(found.error, error);
}

TEST(file_of_unknown_format_is_refused)
{
	static const char garbage[] = "\x01\x02\x03\xff\xfe\0\0\x80garbage\n\0READ 5 6 7";
	is_unknown("odd", garbage, sizeof(garbage), NB_ERR_USAGE,
		"odd: is neither text nor a mininb trace; if it contains bare keys, choose u64, or keys with --klen (convert: --from-format; replay: --format)");
	is_unknown("odd", "abc\nread 5\n", 11, NB_ERR_USAGE,
		"odd: has no line that is an operation of a known format; choose its format (convert: --from-format; replay: --format)");
	is_unknown("odd", "", 0, NB_ERR_DATA, "odd: is empty");
	struct text text = {0};
	while (text.size < 3 << 20)
		text_put(&text, "no operation at all, however far one looks\n");
	text_put(&text, "READ 5\n");
	file_put("odd", text.data, text.size);
	struct nb_trace_options options = trace_at("odd", NB_TRACE_AUTO, 0);
	struct outcome found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_ERR_USAGE);
	free(text.data);
}

TEST(bare_keys_are_recognised_by_the_file_name)
{
	static const char keys[32] = {0};
	static const struct {
		const char *path;
		uint32_t format;
		uint64_t ops;
	} cases[] = {
		{"load.u64", NB_TRACE_U64, 4},
		{"some.keys", NB_TRACE_KEYS, 2},
		{"keys.bin", NB_TRACE_KEYS, 2},
		{"./keys.bin", NB_TRACE_KEYS, 2},
	};
	for (size_t i = 0; i < 4; i++) {
		file_put(cases[i].path, keys, sizeof(keys));
		struct nb_trace_options options = trace_at(cases[i].path, NB_TRACE_AUTO, 0);
		struct outcome found = read_all(&options);
		ck_assert_uint_eq(found.format, cases[i].format);
		ck_assert_uint_eq(found.counts.ops, cases[i].ops);
	}
	/* a wrong suffix is not believed */
	file_put("text.u64", "READ 12\n", 8);
	struct nb_trace_options options = trace_at("text.u64", NB_TRACE_AUTO, 0);
	struct outcome found = read_all(&options);
	ck_assert_uint_eq(found.format, NB_TRACE_YCSB_TEXT);
}

TEST(options_are_checked)
{
	struct trace_reader *reader;
	file_put("trace", "READ 1\n", 7);
	struct nb_trace_options options = trace_at(NULL, 0, 0);
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_ERR_USAGE);
	options = trace_at("trace", NB_TRACE_FORMATS, 0);
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_ERR_USAGE);
	options = trace_at("trace", 0, 1u << 3);
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_ERR_USAGE);
	options = trace_at("trace", 0, NB_TRACE_KEY_LITTLE | NB_TRACE_KEY_TEXT);
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_ERR_USAGE);
	ck_assert_str_eq(
		nb_error_text(), "trace: keys are either text or little-endian numbers");
	options = trace_at("trace", NB_TRACE_KEYS, 0);
	options.key_size = 0;
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_ERR_USAGE);
	options.key_size = (1 << 20) + 1;
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_ERR_USAGE);
	ck_assert_str_eq(
		nb_error_text(), "trace: keys of 1048577 bytes; allowed: 1 to 1048576");
	options = trace_at("trace", 0, 0);
	options.value_size = (1 << 30) + 1;
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_ERR_USAGE);
	options = trace_at("trace", 0, 0);
	options.bare_kind = NB_OP_SCAN;
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_ERR_USAGE);
	options = trace_at("none", 0, 0);
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_FAIL);
	/* of a caller built before the last fields were added */
	options = trace_at("trace", 0, 0);
	options.size = offsetof(struct nb_trace_options, bare_kind);
	options.bare_kind = UINT32_MAX;
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_OK);
	trace_reader_close(reader);
	trace_reader_close(NULL);
}

TEST(position_advances_from_start_to_end)
{
	file_put("trace", "READ 1\nREAD 2\n", 14);
	struct nb_trace_options options = trace_at("trace", 0, 0);
	struct trace_reader *reader;
	struct trace_op op;
	uint64_t done, total;
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_OK);
	for (uint64_t i = 0; i <= 2; i++) {
		trace_reader_position(reader, &done, &total);
		ck_assert_uint_eq(done, 7 * i);
		ck_assert_uint_eq(total, 14);
		ck_assert_int_eq(trace_reader_next(reader, &op), i < 2 ? NB_OK : NB_NOT_FOUND);
	}
	trace_reader_close(reader);
}

TEST(operations_are_counted_by_kind)
{
	static const char text[] = "0x61 0 0 0 1\n0x61 1 0 5 1\n0x61 1 0 5 1\n0x61 2 0 0 1\n"
				   "0x61 5 0 1 1\n0x61 6 0 0 1\n0x61 4 0 0 1\n";
	struct outcome found = read_text(text, 0, 0);
	ck_assert_uint_eq(found.counts.ops, 6);
	ck_assert_uint_eq(found.counts.reads, 1);
	ck_assert_uint_eq(found.counts.upserts, 2);
	ck_assert_uint_eq(found.counts.deletes, 1);
	ck_assert_uint_eq(found.counts.rmws, 1);
	ck_assert_uint_eq(found.counts.scans, 1);
	ck_assert_uint_eq(found.counts.others, 1);
	ck_assert_uint_eq(found.counts.inserts + found.counts.updates, 0);
}
