/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The classic report, and below it the course of the run in the same plain style.
 *
 * The first block has the form known to scripts and readers since the first mininb:
 * half-open buckets in microseconds, without the empty ones. Counts of buckets are exact. A
 * percentile is the upper end of the histogram's bucket, so it is never too low. It is left
 * out if fewer than ten values are beyond it on either side. Throughput is operations
 * divided by wall time; the line "Total" has the sum of latencies.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/report.h"

static const double percentiles[] = {5, 50, 95, 96, 97, 98, 99, 99.5, 99.9, 99.95, 99.99};

static const char rule[] = "--------------------------------------------------";

static bool
is_write(const struct nb_result *result)
{
	return result->workload.verb != NB_VERB_GET;
}

/** Scripts look for the word "Partial". */
static void
add_partial(struct doc *doc, const struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	if (measured->is_partial)
		doc_paragraph(doc,
			"Partial: yes, a partial result: only %" PRIu64 " of %" PRIu64
			" operations were done",
			measured->ops, result->workload.count);
	else if (is_write(result) && !measured->has_read_back)
		doc_paragraph(doc,
			"Partial: yes, a partial result: the run ended before it was %s",
			measured->has_settled ? "read back" : "settled");
}

static void
add_head(struct doc *doc, const struct nb_result *result)
{
	doc_paragraph(doc, "Action: %s", nb_verb_name(result->workload.verb));
	doc_paragraph(doc, "Driver: %s", result->engine.name);
	doc_paragraph(doc, "Key Len: %" PRIu64, result->workload.key_size);
	doc_paragraph(doc, "Val Len: %" PRIu64, result->workload.value_size);
	doc_paragraph(doc, "Count: %" PRIu64, result->measured.ops);
	add_partial(doc, result);
}

static void
add_bucket(struct doc *doc, const struct nb_result *result, uint64_t from_ns, uint64_t to_ns,
	uint64_t count, uint32_t flags)
{
	char to[32] = "inf";
	if (to_ns != UINT64_MAX)
		snprintf(to, sizeof(to), "%.10g", (double)to_ns / 1000);
	double percent = 100 * (double)count /
		(double)nb_histogram_count(result->measured.service);
	doc_paragraph(doc, "[%7.10g, %7s)%17" PRIu64 "%12.2f", (double)from_ns / 1000, to,
		count, percent);
	if ((flags & NB_TEXT_BARS) != 0)
		doc_more(doc, "  %.*s", (int)(percent / 5 + 0.5), "####################");
}

static void
add_buckets(struct doc *doc, const struct nb_result *result, uint32_t flags)
{
	const struct nb_histogram *service = result->measured.service;
	uint64_t from = 0, below = 0;
	for (size_t i = 1; from != UINT64_MAX; i++) {
		uint64_t to = nb_histogram_bound(i);
		if ((flags & NB_TEXT_FOLD) != 0 && to < 1000)
			continue;
		uint64_t until = to == UINT64_MAX ? nb_histogram_count(service)
						  : nb_histogram_count_below(service, i);
		if (until > below)
			add_bucket(doc, result, from, to, until - below, flags);
		from = to;
		below = until;
	}
}

static void
add_percentile(struct doc *doc, const struct nb_histogram *service, double percent)
{
	uint64_t needed;
	if (nb_histogram_supports(service, percent, &needed))
		doc_paragraph(doc, "%.4f%%  latency  : %.6f * 1e-6 sec/op", percent,
			(double)nb_histogram_percentile(service, percent) / 1000);
	else
		doc_paragraph(doc,
			"%.4f%%  latency  : too few samples (%" PRIu64 " of at least %" PRIu64
			")",
			percent, nb_histogram_count(service), needed);
}

static void
add_histogram(struct doc *doc, const struct nb_result *result, uint32_t flags)
{
	const struct nb_histogram *service = result->measured.service;
	doc_paragraph(
		doc, "\nHistogram:\n[  t min,   t max)%17s%12s\n%s", "ops count", "%", rule);
	add_buckets(doc, result, flags);
	doc_paragraph(doc, "%s", rule);
	doc_paragraph(doc, "Total:%12.0f%17" PRIu64 "%11s%%",
		(double)nb_histogram_sum(service) / 1000, nb_histogram_count(service), "100");
	doc_paragraph(doc, "Min latency       : %.6f * 1e-6 sec/op",
		(double)nb_histogram_min(service) / 1000);
	doc_paragraph(doc, "Avg latency       : %.6f * 1e-6 sec/op",
		nb_histogram_mean(service) / 1000);
	doc_paragraph(doc, "Max latency       : %.6f * 1e-6 sec/op",
		(double)nb_histogram_max(service) / 1000);
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
		add_percentile(doc, service, percentiles[i]);
	doc_paragraph(doc, "Avg throughput    : %7.0f ops/sec",
		result_rate((double)result->measured.ops, result->measured.wall_ns));
}

static void
add_throughput(struct doc *doc, const struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	doc_line(doc, "Threads", "%u", result->threads);
	if (measured->depth > 0)
		doc_line(doc, "Depth", "%u requests of each thread in flight", measured->depth);
	if (measured->batch_bytes > 0)
		doc_more(doc, ", handed over in batches of %" PRIu64 " bytes",
			measured->batch_bytes);
	doc_line(doc, "Wall time", "%.6f sec", (double)measured->wall_ns / 1e9);
	if (is_write(result))
		doc_line(doc, "Acked throughput", "%.0f ops/sec",
			result_rate((double)measured->ops, measured->wall_ns));
	if (is_write(result) && measured->has_settled)
		report_settled(doc, &(struct record){.run = (struct nb_result *)result});
	doc_line(doc, "Data rate", "%.0f bytes/sec (%s)",
		result_rate((double)result_bytes(result), measured->wall_ns),
		result->workload.verb == NB_VERB_DELETE ? "keys" : "keys and values");
}

static void
add_verified(struct doc *doc, const struct nb_result *result)
{
	const struct worker_findings *findings = &result->measured.findings;
	bool is_cut = is_write(result) && !result->measured.has_read_back;
	bool is_delete = result->workload.verb == NB_VERB_DELETE;
	const char *why = result->verify_rate == 0              ? "not asked for"
		: (result->engine.caps & NB_CAP_SYNTHETIC) != 0 ? "not possible"
		: is_cut && findings->verified == 0 ? "not read back: the run ended before that"
						    : NULL;
	const char *how = !is_write(result)    ? "as they were read"
		: is_cut                       ? "read back until the run ended"
		: result->measured.is_reopened ? "read back after close and reopen"
					       : "read back after the run";
	doc_line(doc, "Verified", "%" PRIu64 " of %" PRIu64 " (%s)",
		why != NULL ? 0 : findings->verified, result->measured.ops,
		why != NULL ? why : how);
	if (why == NULL)
		doc_more(doc, ": %" PRIu64 " %s, %" PRIu64 " wrong", findings->missing,
			is_delete ? "still there" : "missing", findings_wrong(findings));
}

static void
add_data(struct doc *doc, const struct nb_result *result)
{
	const uint64_t *answers = result->measured.answers;
	const struct keys_facts *keys = &result->keys;
	doc_line(doc, "Not found", "%" PRIu64, answers[NB_NOT_FOUND]);
	if (result->workload.verb == NB_VERB_GET && answers[NB_OK] > 0 &&
		answers[NB_OK] < answers[NB_NOT_FOUND]) /* do not hide hits among misses */
		doc_more(doc, " (found: %" PRIu64 ")", answers[NB_OK]);
	report_conflicts(doc, answers[NB_CONFLICT]);
	add_verified(doc, result);
	if (keys->is_estimate)
		doc_line(doc, "Duplicate keys",
			"about %" PRIu64 ", counted in %" PRIu64 " of %" PRIu64 " keys",
			keys->duplicates, keys->looked, result->workload.count);
	else
		doc_line(doc, "Duplicate keys", "%" PRIu64, keys->duplicates);
	if (result->workload.verb == NB_VERB_PUT) /* get and delete use the values of a put */
		doc_line(doc, "Value ratio", "%g (size when compressed : size)",
			result->workload.value_ratio);
}

void
report_classic(struct doc *doc, const struct record *record, uint32_t flags)
{
	add_head(doc, record->run);
	add_histogram(doc, record->run, flags);
	doc_gap(doc);
	add_throughput(doc, record->run);
	add_data(doc, record->run);
	report_conditions(doc, record);
}

int
nb_result_write_text(const struct nb_result *result, FILE *out, uint32_t flags)
{
	const struct record record = {.run = (struct nb_result *)result};
	struct doc doc = {0};
	int rc = NB_OK;
	if (result->is_job)
		rc = report_job(&doc, &record);
	else
		report_classic(&doc, &record, flags);
	return doc_finish(&doc, rc, DOC_TEXT, out, "the result cannot be written");
}
