/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes traces and converts them.
 *
 * A regular file is written to a temporary file and renamed when it is complete. stdout, a pipe
 * or a device receives the bytes directly, and keeps them if the writing is abandoned. The
 * buffer is large, because write() costs more than the copy to the buffer.
 *
 * A conversion is one pass, and its memory does not grow with the trace, so both ends may be
 * pipes. A format of bare keys drops all other data of an operation. An operation that another
 * format cannot hold ends the conversion.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/stdout.h"
#include "workload/trace_format.h"

enum { BUFFER_SIZE = 1 << 20, REPORT_OPS = 4096 /* between two progress reports */ };

/* ---- for the formats ---- */

void
trace_write(struct trace_writer *writer, const void *data, size_t size)
{
	fwrite_unlocked(data, 1, size, writer->stream);
}

void
trace_write_number(struct trace_writer *writer, const char *text, uint64_t number)
{
	char digits[20], *at = digits + sizeof(digits);
	do
		*--at = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	fputs_unlocked(text, writer->stream);
	trace_write(writer, at, (size_t)(digits + sizeof(digits) - at));
}

int
trace_write_refuse(const struct trace_writer *writer, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	error_setv(NB_ERR_USAGE, fmt, args);
	va_end(args);
	return error_prefix(NB_ERR_USAGE, "%s: operation %" PRIu64 " cannot be written",
		writer->path, writer->ops);
}

int
trace_write_key_number(
	const struct trace_writer *writer, const struct trace_op *op, uint64_t *out)
{
	uint64_t number;
	if (op->key.size != sizeof(number))
		return trace_write_refuse(writer,
			"its key has %zu bytes, but keys of %s have 8 bytes", op->key.size,
			nb_trace_format_name(writer->id));
	memcpy(&number, op->key.data, sizeof(number));
	*out = writer->flags & NB_TRACE_KEY_LITTLE ? le64toh(number) : be64toh(number);
	return NB_OK;
}

/* ---- the writer ---- */

static int
open_stream(struct trace_writer *writer, const char *path)
{
	int fd, rc = NB_OK;
	path = stdout_path(path);
	if (strcmp(path, "-") == 0) {
		fd = fcntl(fileno(nb_stdout()), F_DUPFD_CLOEXEC, 0);
	} else if (atomic_file_is_special(path)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		rc = atomic_file_open(&writer->atomic, path, 0);
		fd = rc == NB_OK ? fcntl(writer->atomic.fd, F_DUPFD_CLOEXEC, 0) : -1;
	}
	writer->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (writer->stream != NULL) {
		setvbuf(writer->stream, writer->buffer, _IOFBF, BUFFER_SIZE);
		return NB_OK;
	}
	if (rc == NB_OK)
		rc = error_system("%s", writer->path);
	if (fd >= 0)
		close(fd);
	return rc;
}

/** Also for a writer that was not opened completely. */
void
trace_writer_abandon(struct trace_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->stream != NULL) {
		__fpurge(writer->stream);
		fclose(writer->stream);
	}
	if (writer->atomic.path != NULL)
		atomic_file_abort(&writer->atomic);
	free(writer->path);
	free(writer->buffer);
	free(writer->block);
	free(writer);
}

int
trace_writer_open(struct trace_writer **out, const struct nb_trace_options *options)
{
	struct nb_trace_options taken;
	int rc = trace_options_take(&taken, options);
	if (rc != NB_OK)
		return rc;
	uint32_t id = taken.format != NB_TRACE_AUTO ? taken.format : NB_TRACE_MININB;
	const struct trace_format *format = trace_format_of(id);
	if (format->add == NULL)
		return error_set(NB_UNSUPPORTED, "%s: mininb reads but does not write %s",
			taken.path, nb_trace_format_name(id));
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	if (writer == NULL)
		return error_set(NB_FAIL, "%s: out of memory", taken.path);
	*writer = (struct trace_writer){.format = format,
		.id = id,
		.flags = taken.flags,
		.key_size = taken.key_size,
		.bare_kind = taken.bare_kind,
		.buffer = malloc(BUFFER_SIZE),
		.path = strdup(strcmp(taken.path, "-") == 0 ? "stdout" : taken.path)};
	if (writer->buffer == NULL || writer->path == NULL)
		rc = error_set(NB_FAIL, "%s: out of memory", taken.path);
	else
		rc = open_stream(writer, taken.path);
	if (rc == NB_OK && format->write_begin != NULL)
		rc = format->write_begin(writer);
	if (rc == NB_OK)
		*out = writer;
	else
		trace_writer_abandon(writer);
	return rc;
}

int
trace_writer_add(struct trace_writer *writer, const struct trace_op *op)
{
	writer->ops++;
	if (!op_is_traced(op->kind) && op->kind != TRACE_NO_KIND)
		return trace_write_refuse(
			writer, "traces cannot hold operations of kind %u", (unsigned)op->kind);
	if (op->key.size == 0 || op->key.size > NB_KEY_SIZE_MAX)
		return trace_write_refuse(writer, "its key has %zu bytes; allowed: 1 to %u",
			op->key.size, NB_KEY_SIZE_MAX);
	if (op->value_size > NB_VALUE_SIZE_MAX)
		return trace_write_refuse(writer,
			"its value has %" PRIu64 " bytes; allowed: 0 to %u", op->value_size,
			NB_VALUE_SIZE_MAX);
	if (op->kind == NB_OP_SCAN && op->scan_length == 0)
		return trace_write_refuse(writer, "it scans 0 records");
	int rc = writer->format->add(writer, op);
	if (rc == NB_OK && ferror_unlocked(writer->stream))
		rc = error_system("%s: write", writer->path);
	return rc;
}

int
trace_writer_finish(struct trace_writer *writer)
{
	if (writer->format->write_end != NULL)
		writer->format->write_end(writer);
	int rc;
	FILE *stream = writer->stream;
	if (fflush(stream) != 0 || ferror_unlocked(stream)) {
		rc = error_system("%s: write", writer->path);
	} else {
		writer->stream = NULL;
		rc = fclose(stream) == 0 ? NB_OK : error_system("%s: close", writer->path);
	}
	if (rc == NB_OK && writer->atomic.path != NULL) {
		atomic_file_sign(&writer->atomic);
		rc = atomic_file_commit(&writer->atomic);
	}
	trace_writer_abandon(writer);
	return rc;
}

/* ---- conversion ---- */

static int
convert(struct trace_reader *reader, struct trace_writer *writer, nb_progress_fn fn, void *arg)
{
	uint64_t done, total;
	trace_reader_position(reader, &done, &total);
	struct progress progress = progress_begin(fn, arg, "convert", total);
	int rc = NB_OK;
	for (uint64_t i = 0; rc == NB_OK; i++) {
		struct trace_op op;
		if (i % REPORT_OPS == 0) {
			trace_reader_position(reader, &done, &total);
			rc = progress_report(&progress, done);
		}
		if (rc == NB_OK)
			rc = trace_reader_next(reader, &op);
		if (rc == NB_OK)
			rc = trace_writer_add(writer, &op);
	}
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

/** Copies the fields that the caller knows. */
static void
copy_counts(struct nb_trace_counts *out, const struct nb_trace_counts *counts)
{
	size_t known = out->size, size = known < sizeof(*counts) ? known : sizeof(*counts);
	memcpy(out, counts, size);
	out->size = known;
}

int
nb_trace_convert(const struct nb_trace_options *from, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress, void *progress_arg)
{
	struct trace_reader *reader;
	struct trace_writer *writer;
	if (counts != NULL)
		copy_counts(counts, &(struct nb_trace_counts){0});
	int rc = trace_reader_open(&reader, from);
	if (rc != NB_OK)
		return rc;
	rc = trace_writer_open(&writer, to);
	if (rc == NB_OK) {
		rc = convert(reader, writer, progress, progress_arg);
		if (rc == NB_OK)
			rc = trace_writer_finish(writer);
		else
			trace_writer_abandon(writer);
		if (counts != NULL)
			copy_counts(counts, trace_reader_counts(reader));
	}
	trace_reader_close(reader);
	return rc;
}
