/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures that are derived from a record: the processor's work per operation, and the bytes
 * that each layer moved per requested byte.
 *
 * Amplification is bytes at a layer divided by logical bytes: keys and values that reads
 * returned, keys and values passed to writes, and the keys of deletes. The layers are:
 * bytes through read(2), write(2) and similar calls; bytes read from storage, or dirtied
 * for it and not removed before; and bytes of the device, for all processes. An engine that
 * maps its files makes no calls, so its first layer is below 1 and the second one counts.
 * Writes count until the database is closed, because an engine may defer the work. Bytes
 * that the kernel still holds back then are in the second layer but not in the third.
 *
 * The system counts include a warm-up. An operation of the warm-up moves the same bytes, so
 * logical bytes are scaled to all executed operations.
 */
#include "report/record.h"
#include "workload/op_kind.h"

static double
divide(double dividend, double divisor)
{
	return divisor > 0 ? dividend / divisor : 0;
}

/* ---- logical bytes ---- */

/** Logical bytes that were read and written, including keys. */
struct moved {
	double read, written;
};

static void
add_kind(struct moved *moved, const struct record_kind *kind, double key_size, double scale)
{
	double records = (double)kind->records, ops = (double)kind->ops;
	double bytes = records * key_size + (double)kind->bytes;
	/* For operations of steps it is unknown which steps read. */
	uint32_t flags = kind->kind < NB_OP_KINDS ? op_kind_table[kind->kind].flags
						  : OP_READS | OP_WRITES;
	switch (flags & (OP_READS | OP_WRITES)) {
	case OP_READS:
		moved->read += scale * bytes;
		break;
	case OP_WRITES:
		moved->written += scale * bytes;
		break;
	case OP_READS | OP_WRITES:
		/*
		 * each operation wrote one record; the others were read and have about the
		 * same size
		 */
		moved->written += scale * divide(bytes * ops, records);
		moved->read += records > ops ? scale * bytes * (records - ops) / records : 0;
		break;
	default:
		moved->written += scale * ops * key_size; /* deletes */
	}
}

static struct moved
moved_by_job(const struct record *record)
{
	struct record_group groups[NB_GROUPS_MAX];
	struct moved moved = {0};
	size_t count = record_groups(record, groups);
	for (size_t g = 0; g < count; g++) {
		const struct job_measurement *measured = &groups[g].job->measured;
		double scale = measured->ops > 0 && measured->done > measured->ops
			? (double)measured->done / (double)measured->ops
			: 1;
		for (size_t k = 0; k < groups[g].kind_count; k++)
			add_kind(&moved, &groups[g].kinds[k], (double)record->run->key_size,
				scale);
	}
	return moved;
}

static struct moved
moved_by_action(const struct nb_result *run)
{
	const struct measurement *measured = &run->measured;
	double key_size = (double)run->workload.key_size;
	double found = (double)(measured->ops - measured->answers[NB_NOT_FOUND]);
	struct moved moved = {0};
	if (run->workload.verb == NB_VERB_GET)
		moved.read = found * key_size + (double)measured->value_bytes;
	else if (run->workload.verb == NB_VERB_PUT)
		moved.written = found * key_size + (double)measured->value_bytes;
	else
		moved.written = (double)measured->ops * key_size;
	return moved;
}

/* ---- the layers below ---- */

static void
amplify(const struct measurement *measured, struct record_figures *out)
{
	const struct system_counts *used = &measured->used, *after = &measured->used_after;
	double read = (double)out->logical_read_bytes;
	double written = (double)out->logical_write_bytes;
	uint64_t known = used->known & after->known;
	if ((used->known & SYSTEM_IO) != 0) {
		out->read_calls = divide((double)used->call_read_bytes, read);
		out->read_storage = divide((double)used->storage_read_bytes, read);
	}
	if ((used->known & SYSTEM_DEVICE) != 0)
		out->read_device = divide((double)used->device_read_bytes, read);
	if ((known & SYSTEM_IO) != 0) {
		uint64_t dirtied = used->storage_write_bytes + after->storage_write_bytes;
		uint64_t removed = used->cancelled_write_bytes + after->cancelled_write_bytes;
		out->write_calls = divide(
			(double)(used->call_write_bytes + after->call_write_bytes), written);
		out->write_storage = divide(
			dirtied > removed ? (double)(dirtied - removed) : 0, written);
	}
	if ((known & SYSTEM_DEVICE) != 0)
		out->write_device = divide(
			(double)(used->device_write_bytes + after->device_write_bytes),
			written);
}

const char *
record_no_cpu(const struct record *record)
{
	if (record->run->is_of_processes)
		return "several processes";
	if (record->run->is_paced)
		return "the harness's sleeping";
	for (size_t g = 0; g < record->run->group_count; g++) {
		if (record->run->groups[g].is_background)
			return "background groups";
	}
	return NULL;
}

double
record_cpu_ns_op(const struct record *record)
{
	const struct measurement *measured = &record->run->measured;
	if (record_no_cpu(record) != NULL)
		return 0;
	return divide((double)(measured->usage.user_ns + measured->usage.system_ns),
		(double)measured->usage_ops);
}

/** Divide counts by all operations, including those of a warm-up. */
static void
divide_work(const struct record *record, struct record_figures *out)
{
	const struct measurement *measured = &record->run->measured;
	const struct system_counts *used = &measured->used;
	double ops = (double)measured->usage_ops;
	if (record_no_cpu(record) != NULL)
		return;
	if ((used->known & SYSTEM_CYCLES) != 0) {
		out->cycles_op = divide((double)used->cycles, ops);
		out->instructions_op = divide((double)used->instructions, ops);
	}
	if ((used->known & SYSTEM_CACHE) != 0)
		out->cache_misses_op = divide((double)used->cache_misses, ops);
}

static double
resident_share(const struct measurement *measured)
{
	const struct residency *begin = &measured->residency_begin;
	const struct residency *it = begin->is_known ? begin : &measured->residency_before;
	return it->is_known && it->total_bytes > 0
		? (double)it->resident_bytes / (double)it->total_bytes
		: -1;
}

/** Whether a foreground group has written. */
static bool
has_foreground_writes(const struct nb_result *job)
{
	for (size_t g = 0; g < job->group_count; g++) {
		if (!job->groups[g].is_background && job->groups[g].measured.commits > 0)
			return true;
	}
	return false;
}

double
record_settled_rate(const struct record *record)
{
	const struct measurement *measured = &record->run->measured;
	uint64_t ops = measured->ops, wall_ns = measured->wall_ns;
	if (record->run->workload.verb == NB_VERB_GET || !measured->has_settled ||
		record->run->settle == NB_RUN_SETTLE_NONE)
		return 0;
	if (record_job(record) != NULL) {
		struct nb_job_summary summary;
		if (!has_foreground_writes(record_job(record)))
			return 0;
		nb_result_summarize_job(record_job(record), &summary);
		ops = summary.ops;
		wall_ns = summary.wall_ns;
	}
	return result_rate((double)ops, wall_ns + measured->settle_ns + measured->close_ns);
}

/** Round to an integer; a value in a file may be out of range. */
static uint64_t
whole(double bytes)
{
	return bytes < 0x1p64 ? (uint64_t)(bytes + 0.5) : UINT64_MAX;
}

void
record_figures(const struct record *record, struct record_figures *out)
{
	*out = (struct record_figures){.resident_share = -1};
	if (record->run == NULL)
		return;
	const struct measurement *measured = &record->run->measured;
	struct moved moved = record_job(record) != NULL ? moved_by_job(record)
							: moved_by_action(record->run);
	out->logical_read_bytes = whole(moved.read);
	out->logical_write_bytes = whole(moved.written);
	out->live_bytes = measured->live_bytes;
	out->space = divide((double)measured->data_bytes, (double)measured->live_bytes);
	out->resident_share = resident_share(measured);
	divide_work(record, out);
	amplify(measured, out);
	stalls_find(record, &out->stalls);
}
