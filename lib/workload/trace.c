/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces: the table of formats, and the reader in front of them.
 *
 * A format is found by looking at what the file holds: our own by its magic, one of
 * text by the first line that is one of its operations, so that a log may begin with
 * whatever its program printed. The name of the file plays no part in that. Bare keys
 * are the exception: any file of them is as good a u64 as a keys, and a guess that is
 * wrong would go unseen; there the ending of the name (.u64, .keys, keys.bin) decides,
 * and without one of these the user is asked.
 *
 * A line that is damaged ends the reading, for a trace that lost lines measures
 * something else. Who wants to go on says so, and is told how many there were.
 */
#include "workload/trace_format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "base/mapping.h"
#include "workload/op_kind.h"

enum {
	LOOK_MIN = 4096,    /* what is looked at first */
	LOOK_MAX = 1 << 20, /* and at most */
	BINARY_LOOK = 4096
};

const struct trace_format trace_formats[NB_TRACE_FORMATS] = {
	[NB_TRACE_AUTO] = {.help = "found by looking at the file"},
	[NB_TRACE_YCSB_TEXT] =
		{
			.help = "lines \"INSERT 6284781860667377211\", \"SCAN n m\"",
			.is_text = true,
			.looks = trace_ycsb_looks_text,
			.parse = trace_ycsb_parse_text,
			.next = trace_text_next,
			.add = trace_ycsb_add_text,
		},
	[NB_TRACE_YCSB_LOG] =
		{
			.help = "what YCSB's binding 'basic' prints",
			.is_text = true,
			.looks = trace_ycsb_looks_log,
			.parse = trace_ycsb_parse_log,
			.next = trace_text_next,
			.add = trace_ycsb_add_log,
		},
	[NB_TRACE_U64] =
		{
			.help = "bare little-endian 64-bit keys, as FASTER reads them",
			.begin = trace_keys_begin,
			.next = trace_keys_next,
			.add = trace_keys_add,
		},
	[NB_TRACE_KEYS] =
		{
			.help = "bare keys of one size: keys.bin",
			.begin = trace_keys_begin,
			.next = trace_keys_next,
			.add = trace_keys_add,
		},
	[NB_TRACE_ROCKSDB] =
		{
			.help = "RocksDB's trace_analyzer, human-readable; read only",
			.is_text = true,
			.looks = trace_rocksdb_looks,
			.parse = trace_rocksdb_parse,
			.next = trace_text_next,
		},
	[NB_TRACE_CACHE_CSV] =
		{
			.help = "Twitter's and Meta's traces of caches",
			.is_text = true,
			.looks = trace_csv_looks,
			.parse = trace_csv_parse,
			.next = trace_csv_next,
			.add = trace_csv_add,
		},
	[NB_TRACE_MININB] =
		{
			.help = "our own: compact, with checksums, sizes and times",
			.begin = trace_binary_begin,
			.next = trace_binary_next,
			.write_begin = trace_binary_write_begin,
			.add = trace_binary_add,
			.write_end = trace_binary_write_end,
		},
};

const char *
nb_trace_format_name(uint32_t format)
{
#define NAME(id, name) [NB_TRACE_##id] = name,
	static const char *const names[NB_TRACE_FORMATS] = {
		[NB_TRACE_AUTO] = "auto", NB_TRACE_LIST(NAME, NAME)};
#undef NAME
	return format < NB_TRACE_FORMATS ? names[format] : NULL;
}

const char *
nb_trace_format_help(uint32_t format)
{
	return format < NB_TRACE_FORMATS ? trace_formats[format].help : NULL;
}

int
trace_options_take(struct nb_trace_options *out, const struct nb_trace_options *in)
{
	*out = (struct nb_trace_options)NB_TRACE_OPTIONS_INIT;
	memcpy(out, in, in->size < sizeof(*out) ? in->size : sizeof(*out));
	if (out->path == NULL || out->path[0] == '\0')
		return error_set(
			NB_ERR_USAGE, "a trace needs a path, '-' for the standard one");
	if (out->format >= NB_TRACE_FORMATS)
		return error_set(NB_ERR_USAGE, "%s: there is no format of traces %u", out->path,
			(unsigned)out->format);
	if (out->flags & ~(NB_TRACE_SKIP_BAD | NB_TRACE_KEY_LITTLE | NB_TRACE_KEY_TEXT))
		return error_set(NB_ERR_USAGE, "%s: there are no such flags as 0x%x", out->path,
			(unsigned)out->flags);
	if ((out->flags & NB_TRACE_KEY_LITTLE) && (out->flags & NB_TRACE_KEY_TEXT))
		return error_set(NB_ERR_USAGE,
			"%s: keys are either text or little-endian numbers", out->path);
	if (out->key_size == 0 || out->key_size > NB_KEY_SIZE_MAX)
		return error_set(NB_ERR_USAGE, "%s: keys of %llu bytes; allowed: 1 to %u",
			out->path, (unsigned long long)out->key_size, NB_KEY_SIZE_MAX);
	if (out->value_size > NB_VALUE_SIZE_MAX)
		return error_set(NB_ERR_USAGE, "%s: values of %llu bytes; allowed: 0 to %u",
			out->path, (unsigned long long)out->value_size, NB_VALUE_SIZE_MAX);
	if (out->bare_kind != NB_OP_READ && out->bare_kind != NB_OP_DELETE &&
		!trace_is_write(out->bare_kind))
		return error_set(NB_ERR_USAGE, "%s: bare keys cannot be operations of kind %u",
			out->path, (unsigned)out->bare_kind);
	return NB_OK;
}

/* ---- which format it is ---- */

/** The format of which this line is an operation; AUTO if there is none. */
static uint32_t
format_of_line(const char *line, size_t size, bool is_whole)
{
	if (is_whole && size > 0 && line[size - 1] == '\r')
		size--;
	for (uint32_t id = 0; id < NB_TRACE_FORMATS; id++) {
		if (trace_formats[id].looks != NULL &&
			trace_formats[id].looks(line, size, is_whole))
			return id;
	}
	return NB_TRACE_AUTO;
}

static uint32_t
format_of_bytes(const uint8_t *data, size_t size, bool is_end)
{
	if (trace_binary_is_ours(data, size))
		return NB_TRACE_MININB;
	const char *at = (const char *)data, *end = at + size;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		bool is_whole = newline != NULL || is_end;
		const char *line_end = newline != NULL ? newline : end;
		uint32_t id = format_of_line(at, (size_t)(line_end - at), is_whole);
		if (id != NB_TRACE_AUTO)
			return id;
		at = newline != NULL ? newline + 1 : end;
	}
	return NB_TRACE_AUTO;
}

static bool
is_binary(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size && i < BINARY_LOOK; i++) {
		if (data[i] < ' ' && data[i] != '\n' && data[i] != '\r' && data[i] != '\t')
			return true;
	}
	return false;
}

static bool
ends_in(const char *path, const char *ending)
{
	size_t size = strlen(path), ending_size = strlen(ending);
	return size >= ending_size && strcmp(path + size - ending_size, ending) == 0;
}

static uint32_t
format_of_name(const char *path)
{
	if (ends_in(path, ".u64"))
		return NB_TRACE_U64;
	if (ends_in(path, ".keys") || ends_in(path, "/keys.bin") ||
		strcmp(path, "keys.bin") == 0)
		return NB_TRACE_KEYS;
	return NB_TRACE_AUTO;
}

/** RFC 1952: the first two bytes, and the one method. Bare keys may begin so as well. */
static int
refuse_compressed(const struct trace_input *in)
{
	static const uint8_t magic[] = {0x1f, 0x8b, 8};
	if (trace_input_left(in) < sizeof(magic) ||
		memcmp(in->data + in->pos, magic, sizeof(magic)) != 0)
		return NB_OK;
	bool is_stdin = strcmp(in->path, "stdin") == 0;
	return error_set(NB_ERR_USAGE,
		"%s: is compressed by gzip, which is not read here; take: zcat %s | mininb convert --from=- --to=FILE",
		in->path, is_stdin ? "TRACE" : in->path);
}

static int
refuse_unknown(const struct trace_input *in, bool is_bare)
{
	if (is_bare)
		return error_set(NB_ERR_USAGE,
			"%s: is no text and none of mininb's own traces; if these are bare keys, say which: u64, or keys with --klen (--from-format of convert, --format of replay)",
			in->path);
	return error_set(NB_ERR_USAGE,
		"%s: no line of it is an operation of ycsb-text, ycsb-log, rocksdb or cache-csv; say which it is (--from-format of convert, --format of replay)",
		in->path);
}

/** Look at the beginning, and at more of it while that does not tell. */
static int
find_format(struct trace_reader *reader)
{
	struct trace_input *in = &reader->in;
	for (size_t size = LOOK_MIN;; size *= 4) {
		int rc = trace_input_want(in, size);
		if (rc != NB_OK)
			return rc;
		size_t left = trace_input_left(in);
		const uint8_t *data = in->data + in->pos;
		if (left == 0)
			return error_set(NB_ERR_DATA, "%s: is empty", in->path);
		bool is_all = left <= size && in->is_end;
		reader->id = format_of_bytes(data, left < size ? left : size, is_all);
		if (reader->id != NB_TRACE_AUTO)
			return NB_OK;
		if (!is_all && size < LOOK_MAX)
			continue;
		bool is_bare = is_binary(data, left);
		if (is_bare)
			reader->id = format_of_name(in->path);
		if (reader->id != NB_TRACE_AUTO)
			return NB_OK;
		rc = refuse_compressed(in);
		return rc == NB_OK ? refuse_unknown(in, is_bare) : rc;
	}
}

/* ---- the reader ---- */

static int
begin(struct trace_reader *reader)
{
	if (reader->format->is_text) {
		int rc = trace_input_want(&reader->in, 3);
		if (rc == NB_OK)
			rc = refuse_compressed(&reader->in);
		if (rc != NB_OK)
			return rc;
	}
	return reader->format->begin != NULL ? reader->format->begin(reader) : NB_OK;
}

int
trace_reader_open(struct trace_reader **out, const struct nb_trace_options *options)
{
	struct nb_trace_options taken;
	int rc = trace_options_take(&taken, options);
	if (rc != NB_OK)
		return rc;
	struct trace_reader *reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return error_set(NB_FAIL, "%s: out of memory", taken.path);
	reader->id = taken.format;
	reader->flags = taken.flags;
	reader->key_size = taken.key_size;
	reader->value_size = taken.value_size;
	reader->counts.size = sizeof(reader->counts);
	rc = trace_input_open(&reader->in, taken.path);
	if (rc != NB_OK)
		goto free_reader;
	if (reader->id == NB_TRACE_AUTO)
		rc = find_format(reader);
	if (rc != NB_OK)
		goto close_input;
	reader->format = &trace_formats[reader->id];
	rc = begin(reader);
	if (rc != NB_OK)
		goto close_input;
	*out = reader;
	return NB_OK;
close_input:
	trace_input_close(&reader->in);
free_reader:
	free(reader);
	return rc;
}

int
trace_reader_next(struct trace_reader *reader, struct trace_op *op)
{
	*op = (struct trace_op){.kind = TRACE_NO_KIND};
	int rc = reader->format->next(reader, op);
	reader->counts.bytes = reader->in.before + reader->in.pos;
	if (rc != NB_OK) /* what a lost file reads as is no damage that it had */
		return mapping_lost() != NULL ? error_interrupted() : rc;
	if (!op->has_value_size && (op->kind == TRACE_NO_KIND || trace_is_write(op->kind)))
		op->value_size = reader->value_size;
	op_count_traced(&reader->counts, op->kind);
	return NB_OK;
}

uint32_t
trace_reader_format(const struct trace_reader *reader)
{
	return reader->id;
}

const struct nb_trace_counts *
trace_reader_counts(const struct trace_reader *reader)
{
	return &reader->counts;
}

void
trace_reader_position(const struct trace_reader *reader, uint64_t *done, uint64_t *total)
{
	*done = reader->in.before + reader->in.pos;
	*total = reader->in.fd < 0 ? reader->in.size : 0;
}

int
trace_reader_rewind(struct trace_reader *reader)
{
	int rc = trace_input_rewind(&reader->in);
	if (rc != NB_OK)
		return rc;
	reader->counts = (struct nb_trace_counts){.size = sizeof(reader->counts)};
	reader->number = 0;
	reader->has_time = false;
	reader->first_time = reader->last_due_ns = 0;
	reader->columns.is_known = false;
	reader->repeats = 0;
	reader->block = (struct trace_block){0};
	return begin(reader);
}

void
trace_reader_close(struct trace_reader *reader)
{
	if (reader == NULL)
		return;
	trace_input_close(&reader->in);
	free(reader->key);
	free(reader);
}

int
trace_damage(
	struct trace_reader *reader, const char *what, uint64_t number, const char *fmt, ...)
{
	char why[640];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	struct nb_trace_counts *counts = &reader->counts;
	unsigned long long n = number;
	if (counts->first_bad[0] == '\0')
		snprintf(counts->first_bad, sizeof(counts->first_bad), "%s %llu: %.220s",
			what != NULL ? what : "line", n, why);
	if (reader->flags & NB_TRACE_SKIP_BAD) {
		counts->bad++;
		return NB_OK;
	}
	if (what == NULL)
		return error_set(NB_ERR_DATA, "%s:%llu: %s", reader->in.path, n, why);
	return error_set(NB_ERR_DATA, "%s: %s %llu: %s", reader->in.path, what, n, why);
}
