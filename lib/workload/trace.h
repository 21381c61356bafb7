/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TRACE_H
#define WORKLOAD_TRACE_H
/** Internals of traces: reads or writes one operation after another. */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/job.h>
#include <mininb/trace.h>

/* The kind of a bare key: the mix decides. Not an enum, because it exceeds INT_MAX. */
#define TRACE_NO_KIND UINT32_MAX

/** One operation. */
struct trace_op {
	uint32_t kind; /* NB_OP_* that op_is_traced(), or TRACE_NO_KIND */
	bool has_due, has_value_size;
	struct nb_slice key;  /* reading: valid until the next call */
	uint64_t value_size;  /* of a write or a bare key; from the options if unknown */
	uint64_t scan_length; /* records; 0: not a scan */
	uint64_t due_ns;      /* since the trace's first operation; never decreases */
};

struct trace_reader;

/** Open the file and detect its format. NB_FAIL, NB_ERR_DATA, NB_ERR_USAGE (unknown format). */
NB_MUST_CHECK int
trace_reader_open(struct trace_reader **out, const struct nb_trace_options *options);

/**
 * Read the next operation. NB_NOT_FOUND at the end; NB_ERR_INTERRUPTED; NB_ERR_DATA with the
 * line and text of the damage. Reading can continue after a damaged line, not after a damaged
 * block.
 */
NB_MUST_CHECK int
trace_reader_next(struct trace_reader *reader, struct trace_op *op);

/** NB_TRACE_*, as detected. */
uint32_t
trace_reader_format(const struct trace_reader *reader);

const struct nb_trace_counts *
trace_reader_counts(const struct trace_reader *reader);

/** Bytes read so far, and total size (0: unknown). */
void
trace_reader_position(const struct trace_reader *reader, uint64_t *done, uint64_t *total);

/** NULL is fine. */
void
trace_reader_close(struct trace_reader *reader);

struct trace_writer;

NB_MUST_CHECK int
trace_writer_open(struct trace_writer **out, const struct nb_trace_options *options);

NB_MUST_CHECK int
trace_writer_add(struct trace_writer *writer, const struct trace_op *op);

/** Write the rest and rename the file. Frees the writer, even on failure. */
NB_MUST_CHECK int
trace_writer_finish(struct trace_writer *writer);

/** Discard the file and free the writer. NULL is fine. */
void
trace_writer_abandon(struct trace_writer *writer);

#endif /* WORKLOAD_TRACE_H */
