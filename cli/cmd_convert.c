/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * convert: converts a trace.
 *
 * The counts go to stderr, because stdout may be the trace. Skipped lines and unsupported
 * operations cause a warning, which --quiet does not suppress.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mininb/mininb.h>

#include "clock.h"
#include "cmd.h"
#include "cmd_run.h"
#include "kept.h"
#include "message.h"
#include "options.h"
#include "progress.h"

static struct {
	const char *from, *to;
	uint64_t from_format, to_format, phase, bare_kind; /* index into the choices */
} own;

#define INTO(name) .into = &own.name
/** Formats that mininb only reads are not a choice. */
#define NOTHING(id, name)

/* clang-format off */
static const struct option_row own_options[] = {
	{.name = "from", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.before = "load", .words = WORDS_FILE, .decides = true, INTO(from),
		.help = "trace to read; '-': standard input; workload:NAME: from a workload",
		.detail = "From a workload, convert writes the phase that --phase names. "
			"Options set keys of the workload."},
	{.name = "to", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.words = WORDS_FILE, .is_output = true, INTO(to),
		.help = "trace to write; '-': standard output"},
	{.name = "from-format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto" NB_TRACE_LIST(NB_CHOICE, NB_CHOICE),
		.group = GROUP_TRACE, INTO(from_format),
		.help = "format of the input",
		.detail = "auto recognises the format by the content of the file. Files of "
			"bare keys are recognised by name: .u64 is u64, and .keys or keys.bin "
			"is keys."},
	{.name = "to-format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "mininb",
		.choices = &NB_TRACE_LIST(NB_CHOICE, NOTHING)[1], .group = GROUP_TRACE,
		INTO(to_format),
		.help = "format of the output"},
	{.name = "phase", .arg = "PHASE", .type = OPTION_CHOICE, .def = "run",
		.choices = "load|run", .group = GROUP_TRACE, .decides = true, INTO(phase),
		.help = "phase of the workload to write"},
	{.name = "bare-as", .arg = "KIND", .type = OPTION_CHOICE, .def = "read",
		.choices = "read|update|insert|delete", .group = GROUP_TRACE,
		.before = "skip-bad", .decides = true, INTO(bare_kind),
		.help = "kind of operation for bare keys, if the output needs one",
		.detail = "replay takes the kinds from the mix instead: --read=95 --update=5."},
	{.name = NULL},
};
/* clang-format on */

/*
 * In the order of --to-format's choices; those of --from-format are in the order of NB_TRACE_*.
 */
#define NUMBER(id, name) NB_TRACE_##id,
static const uint32_t to_formats[] = {NB_TRACE_LIST(NUMBER, NOTHING)};

/* In the order of --bare-as' choices. */
static const uint32_t bare_kinds[] = {NB_OP_READ, NB_OP_UPDATE, NB_OP_INSERT, NB_OP_DELETE};

/** "2 inserts, 1 scan": the kinds with a count. */
static void
list_kinds(char *text, size_t size, const struct nb_trace_counts *counts)
{
	const struct {
		uint64_t count;
		const char *name;
	} kinds[] = {
		{counts->reads, "reads"},
		{counts->inserts, "inserts"},
		{counts->updates, "updates"},
		{counts->upserts, "upserts"},
		{counts->rmws, "read-modify-writes"},
		{counts->deletes, "deletes"},
		{counts->scans, "scans"},
	};
	uint64_t bare = counts->ops;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bare -= kinds[i].count;
		if (kinds[i].count > 0)
			options_add_word(text, size, "",
				kept_text("%" PRIu64 " %s", kinds[i].count, kinds[i].name));
	}
	if (bare > 0)
		options_add_word(text, size, "", kept_text("%" PRIu64 " bare keys", bare));
}

static void
report_counts(const struct nb_trace_counts *counts, double seconds, bool is_of_file)
{
	char kinds[256] = "", text[512];
	list_kinds(kinds, sizeof(kinds), counts);
	int used = snprintf(text, sizeof(text), "convert: %" PRIu64 " operations%s%s%s",
		counts->ops, kinds[0] != '\0' ? " (" : "", kinds, kinds[0] != '\0' ? ")" : "");
	if (is_of_file)
		snprintf(text + used, sizeof(text) - (size_t)used,
			"; %" PRIu64 " lines ignored, %" PRIu64 " of other kinds, %" PRIu64
			" bad; %.1f MB read, %.0f MB/s",
			counts->ignored, counts->others, counts->bad,
			(double)counts->bytes / 1e6,
			seconds > 0 ? (double)counts->bytes / 1e6 / seconds : 0.0);
	message_log(NULL, NB_LOG_INFO, text);
	if (counts->others > 0)
		message_warning("convert: skipped %" PRIu64
				" operations of kinds that mininb does not support",
			counts->others);
	if (counts->bad > 0)
		message_warning("convert: skipped %" PRIu64 " bad; the first is %s",
			counts->bad, counts->first_bad);
}

/** Generates the operations of a workload instead of reading a file. */
static int
generate(const struct options *options, const char *name, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress)
{
	struct nb_job *job;
	int rc = job_options_read(&job, name, options);
	if (rc < 0)
		return rc;
	rc = nb_trace_generate(
		job, own.phase == 0 ? NB_JOB_LOAD : NB_JOB_RUN, to, counts, progress, NULL);
	nb_job_delete(job);
	return rc;
}

static int
convert_file(const struct options *options)
{
	static const char workload[] = "workload:";
	struct nb_trace_options from = trace_options_of(
		options, own.from, (uint32_t)own.from_format);
	struct nb_trace_options to = trace_options_of(
		options, own.to, to_formats[own.to_format]);
	struct nb_trace_counts counts = {.size = sizeof(counts)};
	nb_progress_fn progress = progress_of(options);
	to.bare_kind = bare_kinds[own.bare_kind];
	uint64_t begin_ns = clock_now_ns();
	bool is_of_file = strncmp(own.from, workload, strlen(workload)) != 0;
	int rc = is_of_file
		? nb_trace_convert(&from, &to, &counts, progress, NULL)
		: generate(options, own.from + strlen(workload), &to, &counts, progress);
	progress_clear();
	if (rc < 0)
		return message_last_failure(rc);
	report_counts(&counts, (double)(clock_now_ns() - begin_ns) / 1e9, is_of_file);
	return STATUS_DONE;
}

static int
do_convert(const struct options *options)
{
	if (own.from == NULL || own.to == NULL)
		return message_usage(
			"convert: --%s is missing (mininb convert --from=FILE --to=FILE)",
			own.from == NULL ? "from" : "to");
	return convert_file(options);
}

const struct cmd cmd_convert = {
	.name = "convert",
	.run = do_convert,
	.help = "convert a trace of operations into another format",
	.detail = "Reads ycsb-text (lines \"INSERT 6284781860667377211\"), ycsb-log (the "
		  "output of YCSB with its binding basic), u64 (bare little-endian 64-bit "
		  "keys), keys (bare keys of LEN bytes), rocksdb (the output of RocksDB's "
		  "trace_analyzer), cache-csv (traces of Twitter and Meta) and mininb "
		  "(compact, with checksums). Writes all of these except rocksdb. '-' is "
		  "standard input or output. The counts go to standard error. A damaged line "
		  "ends the conversion without output, unless you give --skip-bad.",
	.own = {own_options},
	.shares = SHARES_WORKLOAD "force key-bytes skip-bad report-interval quiet",
	.has_workload = true,
};
