/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TRACE_H
#define WORKLOAD_TRACE_H
/** Traces from inside: one operation after the other, read or written. */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/job.h>
#include <mininb/trace.h>

/* Of a format that has bare keys: the mix decides. (No enum: it is above INT_MAX.) */
#define TRACE_NO_KIND UINT32_MAX

/** One operation. */
struct trace_op {
	uint32_t
		kind; /* NB_OP_READ, _UPDATE, _INSERT, _UPSERT, _DELETE, _SCAN, _RMW; TRACE_NO_KIND */
	bool has_due, has_value_size;
	struct nb_slice key; /* reading: lent until the next call */
	uint64_t
		value_size; /* of a write, or if there is no kind; if not told, as the options say */
	uint64_t scan_length; /* records; 0 if it is no scan */
	uint64_t due_ns;      /* from the trace's first operation; never decreases */
};

struct trace_reader;

/** Map or open the file, find out its format. NB_FAIL, NB_ERR_USAGE (not known), NB_ERR_DATA. */
NB_MUST_CHECK int
trace_reader_open(struct trace_reader **out, const struct nb_trace_options *options);

/**
 * The next operation; NB_NOT_FOUND at the end; NB_ERR_DATA: line and text of the damage,
 * behind which lines, but not mininb's blocks, can be read on; NB_ERR_INTERRUPTED.
 */
NB_MUST_CHECK int
trace_reader_next(struct trace_reader *reader, struct trace_op *op);

/** NB_TRACE_*: what it was found to be. */
uint32_t
trace_reader_format(const struct trace_reader *reader);

const struct nb_trace_counts *
trace_reader_counts(const struct trace_reader *reader);

/** Bytes read so far, and in all (0: not known). */
void
trace_reader_position(const struct trace_reader *reader, uint64_t *done, uint64_t *total);

/** Back to the first operation, the counts to nothing. Not of a stream: NB_ERR_USAGE. */
NB_MUST_CHECK int
trace_reader_rewind(struct trace_reader *reader);

/** NULL is fine. */
void
trace_reader_close(struct trace_reader *reader);

struct trace_writer;

NB_MUST_CHECK int
trace_writer_open(struct trace_writer **out, const struct nb_trace_options *options);

NB_MUST_CHECK int
trace_writer_add(struct trace_writer *writer, const struct trace_op *op);

/** Write the rest and rename. Frees the writer whatever it returns. */
NB_MUST_CHECK int
trace_writer_finish(struct trace_writer *writer);

/** Give it up: nothing is left of the file. NULL is fine. */
void
trace_writer_abandon(struct trace_writer *writer);

#endif /* WORKLOAD_TRACE_H */
