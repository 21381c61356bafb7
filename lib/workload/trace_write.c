/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing a trace: the file, the buffer in front of it, what all formats refuse.
 *
 * A regular file is written aside and renamed when it is whole. stdout, a pipe or a
 * device takes the bytes as they come; what it has when the writing is given up, it
 * keeps. The buffer is large because write() costs more than what it carries away.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mininb/workload.h>

#include "base/error.h"
#include "base/stdout.h"
#include "workload/trace_format.h"

enum { ROOM = 1 << 20 };

/* ---- bytes ---- */

static int
write_all(struct trace_writer *writer, const uint8_t *data, size_t size)
{
	if (writer->is_aside)
		return aside_write(&writer->aside, data, size, writer->offset);
	while (size > 0) {
		ssize_t written = write(writer->fd, data, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return error_system("%s: write", writer->path);
		data += written;
		size -= (size_t)written;
	}
	return NB_OK;
}

static int
flush(struct trace_writer *writer)
{
	int rc = write_all(writer, writer->data, writer->used);
	writer->offset += writer->used;
	writer->used = 0;
	return rc;
}

int
trace_write_room(struct trace_writer *writer, size_t size, uint8_t **out)
{
	int rc = writer->room - writer->used < size ? flush(writer) : NB_OK;
	*out = writer->data + writer->used;
	return rc;
}

int
trace_write_bytes(struct trace_writer *writer, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	int rc = NB_OK;
	while (size > 0 && rc == NB_OK) {
		size_t room = writer->room - writer->used;
		size_t part = size < room ? size : room;
		memcpy(writer->data + writer->used, bytes, part);
		writer->used += part;
		bytes += part;
		size -= part;
		if (size > 0)
			rc = flush(writer);
	}
	return rc;
}

int
trace_write_fill(struct trace_writer *writer, char byte, uint64_t count)
{
	int rc = NB_OK;
	while (count > 0 && rc == NB_OK) {
		size_t room = writer->room - writer->used;
		size_t part = count < room ? (size_t)count : room;
		memset(writer->data + writer->used, byte, part);
		writer->used += part;
		count -= part;
		if (count > 0)
			rc = flush(writer);
	}
	return rc;
}

uint8_t *
trace_write_number(uint8_t *out, uint64_t number)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
	uint8_t text[20], *at = text + sizeof(text);
	for (; number >= 100; number /= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (number % 100), 2);
	}
	*--at = (uint8_t)pairs[2 * number + 1];
	if (number >= 10)
		*--at = (uint8_t)pairs[2 * number];
	size_t size = (size_t)(text + sizeof(text) - at);
	memcpy(out, at, size);
	return out + size;
}

/* ---- what can be written ---- */

int
trace_write_refuse(const struct trace_writer *writer, const char *fmt, ...)
{
	char why[256];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return error_set(NB_ERR_USAGE, "%s: operation %" PRIu64 " cannot be written: %s",
		writer->path, writer->ops, why);
}

int
trace_write_key_number(
	const struct trace_writer *writer, const struct trace_op *op, uint64_t *out)
{
	uint64_t number;
	if (op->key.size != sizeof(number))
		return trace_write_refuse(writer,
			"its key has %zu bytes, and %s holds keys of 8 bytes", op->key.size,
			nb_trace_format_name((uint32_t)(writer->format - trace_formats)));
	memcpy(&number, op->key.data, sizeof(number));
	*out = writer->flags & NB_TRACE_KEY_LITTLE ? le64toh(number) : be64toh(number);
	return NB_OK;
}

static int
check_op(const struct trace_writer *writer, const struct trace_op *op)
{
	if (!op_is_traced(op->kind) && op->kind != TRACE_NO_KIND)
		return trace_write_refuse(
			writer, "traces hold none of its kind, %u", (unsigned)op->kind);
	if (op->key.size == 0 || op->key.size > NB_KEY_SIZE_MAX)
		return trace_write_refuse(writer, "its key has %zu bytes; allowed: 1 to %u",
			op->key.size, NB_KEY_SIZE_MAX);
	if (op->value_size > NB_VALUE_SIZE_MAX)
		return trace_write_refuse(writer,
			"its value has %" PRIu64 " bytes; allowed: 0 to %u", op->value_size,
			NB_VALUE_SIZE_MAX);
	if (op->kind == NB_OP_SCAN && op->scan_length == 0)
		return trace_write_refuse(writer, "it scans 0 records");
	return NB_OK;
}

/* ---- the writer ---- */

/** Whether something is there that a rename must not replace. */
static bool
is_special(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

static int
open_file(struct trace_writer *writer, const char *path)
{
	if (strcmp(path, "-") == 0) {
		writer->fd = fileno(nb_stdout());
		return NB_OK;
	}
	path = stdout_path(path);
	if (!is_special(path)) {
		writer->is_aside = true;
		return aside_open(&writer->aside, path, 0);
	}
	writer->fd = open(path, O_WRONLY | O_CLOEXEC);
	writer->is_own = true;
	return writer->fd >= 0 ? NB_OK : error_system("%s", path);
}

static void
free_writer(struct trace_writer *writer)
{
	free(writer->path);
	free(writer->data);
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
	if (trace_formats[id].add == NULL)
		return error_set(NB_UNSUPPORTED, "%s: a trace of format %s can only be read",
			taken.path, nb_trace_format_name(id));
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	if (writer == NULL)
		return error_set(NB_FAIL, "%s: out of memory", taken.path);
	writer->format = &trace_formats[id];
	writer->flags = taken.flags;
	writer->key_size = taken.key_size;
	writer->bare_kind = taken.bare_kind;
	writer->room = ROOM;
	writer->data = malloc(ROOM);
	writer->path = strdup(strcmp(taken.path, "-") == 0 ? "stdout" : taken.path);
	if (writer->data == NULL || writer->path == NULL) {
		rc = error_set(NB_FAIL, "%s: out of memory", taken.path);
		goto free_writer;
	}
	rc = open_file(writer, taken.path);
	if (rc != NB_OK)
		goto free_writer;
	if (writer->format->write_begin != NULL)
		rc = writer->format->write_begin(writer);
	if (rc != NB_OK)
		goto abandon;
	*out = writer;
	return NB_OK;
abandon:
	trace_writer_abandon(writer);
	return rc;
free_writer:
	free_writer(writer);
	return rc;
}

int
trace_writer_add(struct trace_writer *writer, const struct trace_op *op)
{
	writer->ops++;
	int rc = check_op(writer, op);
	return rc == NB_OK ? writer->format->add(writer, op) : rc;
}

int
trace_writer_finish(struct trace_writer *writer)
{
	int rc = writer->format->write_end != NULL ? writer->format->write_end(writer) : NB_OK;
	if (rc == NB_OK)
		rc = flush(writer);
	if (rc != NB_OK) {
		trace_writer_abandon(writer);
		return rc;
	}
	if (writer->is_aside) {
		aside_sign(&writer->aside);
		rc = aside_commit(&writer->aside);
	} else if (writer->is_own && close(writer->fd) != 0)
		rc = error_system("%s: close", writer->path);
	free_writer(writer);
	return rc;
}

void
trace_writer_abandon(struct trace_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->is_aside)
		aside_abort(&writer->aside);
	else if (writer->is_own)
		close(writer->fd);
	free_writer(writer);
}
