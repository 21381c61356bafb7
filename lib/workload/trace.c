/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces: the table of formats, and the reader for all of them.
 *
 * The content of a file decides its format: the magic of mininb's own, or the first line that
 * is an operation of a text format. So a log may begin with other output of its program. The
 * file name does not matter, except for bare keys: any file of them is valid as u64 and as
 * keys, and a wrong guess would go unnoticed. Then the suffix of the name (.u64, .keys,
 * keys.bin) decides; without one of these the user must choose.
 *
 * A damaged line ends the reading, because a trace without some of its lines is a different
 * workload. NB_TRACE_SKIP_BAD counts such lines instead.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "base/mapping.h"
#include "workload/trace_format.h"

enum {
	LOOK_MIN = 4096,    /* bytes of the first attempt to detect the format */
	LOOK_MAX = 1 << 20, /* bytes of the last attempt */
};

static const struct trace_format any_format = {0}; /* look at the file */

static const struct {
	const char *name;
	const struct trace_format *format;
} formats[NB_TRACE_FORMATS] = {
#define ROW(id, name) [NB_TRACE_##id] = {name, &trace_format_##id},
	[NB_TRACE_AUTO] = {"auto", &any_format}, NB_TRACE_LIST(ROW, ROW)
#undef ROW
};

const char *
nb_trace_format_name(uint32_t format)
{
	return format < NB_TRACE_FORMATS ? formats[format].name : NULL;
}

const struct trace_format *
trace_format_of(uint32_t id)
{
	return formats[id].format;
}

int
trace_options_take(struct nb_trace_options *out, const struct nb_trace_options *in)
{
	*out = (struct nb_trace_options)NB_TRACE_OPTIONS_INIT;
	memcpy(out, in, in->size < sizeof(*out) ? in->size : sizeof(*out));
	if (out->path == NULL || out->path[0] == '\0')
		return error_set(
			NB_ERR_USAGE, "a trace needs a path; '-': standard input or output");
	if (out->format >= NB_TRACE_FORMATS)
		return error_set(NB_ERR_USAGE, "%s: unknown trace format %u", out->path,
			(unsigned)out->format);
	if (out->flags & ~(NB_TRACE_SKIP_BAD | NB_TRACE_KEY_LITTLE | NB_TRACE_KEY_TEXT))
		return error_set(NB_ERR_USAGE, "%s: unknown flags 0x%x", out->path,
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

/* ---- detection of the format ---- */

/** The format in which this line is an operation; AUTO if none. */
static uint32_t
format_of_line(struct trace_text line, bool is_whole)
{
	line.end -= is_whole && line.end > line.at && line.end[-1] == '\r';
	for (uint32_t id = 0; id < NB_TRACE_FORMATS; id++) {
		if (formats[id].format->looks != NULL &&
			formats[id].format->looks(line, is_whole))
			return id;
	}
	return NB_TRACE_AUTO;
}

static uint32_t
format_of_bytes(struct trace_text file, bool is_end)
{
	uint32_t found = NB_TRACE_AUTO;
	for (uint32_t id = 0; id < NB_TRACE_FORMATS; id++) {
		const char *magic = formats[id].format->magic;
		if (magic != NULL && trace_text_begins(file, magic))
			return id;
	}
	while (found == NB_TRACE_AUTO && file.at < file.end) {
		const char *newline = memchr(file.at, '\n', trace_text_size(file));
		const char *end = newline != NULL ? newline : file.end;
		found = format_of_line(
			(struct trace_text){file.at, end}, newline != NULL || is_end);
		file.at = newline != NULL ? newline + 1 : end;
	}
	return found;
}

static bool
is_binary(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size && i < LOOK_MIN; i++) {
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

/** RFC 1952: the first two bytes, and the only method. Bare keys may begin with them, too. */
static int
refuse_compressed(const struct trace_input *in)
{
	static const uint8_t magic[] = {0x1f, 0x8b, 8};
	if (trace_input_left(in) < sizeof(magic) ||
		memcmp(in->data + in->pos, magic, sizeof(magic)) != 0)
		return NB_OK;
	bool is_stdin = strcmp(in->path, "stdin") == 0;
	return error_set(NB_ERR_USAGE,
		"%s: is compressed by gzip; use: zcat %s | mininb convert --from=- --to=FILE",
		in->path, is_stdin ? "TRACE" : in->path);
}

static int
refuse_unknown(const struct trace_input *in, bool is_bare)
{
	if (is_bare)
		return error_set(NB_ERR_USAGE,
			"%s: is neither text nor a mininb trace; if it contains bare keys, choose u64, or keys with --klen (convert: --from-format; replay: --format)",
			in->path);
	return error_set(NB_ERR_USAGE,
		"%s: has no line that is an operation of a known format; choose its format (convert: --from-format; replay: --format)",
		in->path);
}

/** Examine the beginning of the file, and more of it until the format is found. */
static int
find_format(struct trace_reader *reader)
{
	struct trace_input *in = &reader->in;
	for (size_t size = LOOK_MIN;; size *= 4) {
		int rc = trace_input_want(in, size);
		if (rc != NB_OK)
			return rc;
		size_t left = trace_input_left(in);
		const char *data = (const char *)in->data + in->pos;
		if (left == 0)
			return error_set(NB_ERR_DATA, "%s: is empty", in->path);
		bool is_all = left <= size && in->is_end;
		struct trace_text looked = {data, data + (left < size ? left : size)};
		reader->id = format_of_bytes(looked, is_all);
		if (reader->id != NB_TRACE_AUTO)
			return NB_OK;
		if (!is_all && size < LOOK_MAX)
			continue;
		bool is_bare = is_binary(in->data + in->pos, left);
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
	if (reader->format->parse != NULL) {
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
	reader->format = trace_format_of(reader->id);
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
	int rc = reader->format->parse != NULL ? trace_text_next(reader, op)
					       : reader->format->next(reader, op);
	reader->counts.bytes = reader->in.before + reader->in.pos;
	if (rc != NB_OK) /* a file that is truncated while it is read is not damaged */
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
