/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One trace into another: read an operation, write it, as long as there are any.
 *
 * In one pass and in memory that does not grow with the trace; both ends may be pipes.
 * What the target cannot say of an operation is lost only where the format says that it
 * holds nothing but keys; an operation that it cannot hold ends the conversion.
 */
#include "base/clock.h"
#include "base/error.h"
#include "workload/trace.h"

#include <string.h>

enum { LOOK_OPS = 4096 }; /* between two looks at the stop flag and the progress */

struct conversion {
	struct trace_reader *reader;
	struct trace_writer *writer;
	nb_progress_fn progress;
	void *progress_arg;
	uint64_t begin_ns;
};

static int
look_up(const struct conversion *conversion)
{
	if (conversion->progress != NULL) {
		struct nb_progress progress = {.size = sizeof(progress),
			.what = "convert",
			.elapsed_ns = clock_monotonic() - conversion->begin_ns};
		trace_reader_position(conversion->reader, &progress.done, &progress.total);
		conversion->progress(conversion->progress_arg, &progress);
	}
	return stop_requested() ? error_interrupted() : NB_OK;
}

static int
convert(const struct conversion *conversion)
{
	struct trace_op op;
	int rc = look_up(conversion);
	for (uint64_t i = 1; rc == NB_OK; i++) {
		rc = trace_reader_next(conversion->reader, &op);
		if (rc == NB_OK)
			rc = trace_writer_add(conversion->writer, &op);
		if (rc == NB_OK && i % LOOK_OPS == 0)
			rc = look_up(conversion);
	}
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

/** As much of them as the caller knows. */
static void
hand_out(struct nb_trace_counts *out, const struct nb_trace_counts *counts)
{
	size_t size = out->size < sizeof(*counts) ? out->size : sizeof(*counts);
	size_t head = sizeof(out->size);
	if (size > head)
		memcpy((char *)out + head, (const char *)counts + head, size - head);
}

int
nb_trace_convert(const struct nb_trace_options *from, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress, void *progress_arg)
{
	struct conversion conversion = {.progress = progress,
		.progress_arg = progress_arg,
		.begin_ns = clock_monotonic()};
	const struct nb_trace_counts nothing = {.size = sizeof(nothing)};
	if (counts != NULL)
		hand_out(counts, &nothing);
	int rc = trace_reader_open(&conversion.reader, from);
	if (rc != NB_OK)
		return rc;
	rc = trace_writer_open(&conversion.writer, to);
	if (rc != NB_OK)
		goto close_reader;
	rc = convert(&conversion);
	if (rc == NB_OK)
		rc = trace_writer_finish(conversion.writer);
	else
		trace_writer_abandon(conversion.writer);
	if (counts != NULL)
		hand_out(counts, trace_reader_counts(conversion.reader));
close_reader:
	trace_reader_close(conversion.reader);
	return rc;
}
