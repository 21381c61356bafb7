/* SPDX-License-Identifier: BSD-2-Clause */
/* The groups of a job: mix, load, and what came of them. A classic action has none. */
#include <stdio.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_text.h"

/** "read 90 %, scan 10 %"; of a trace the mix is the trace's. */
static void
mix_cell(const struct job_result_group *group, FILE *out)
{
	uint64_t sum = 0;
	const char *before = "";
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		sum += group->weights[kind];
	fputs("<td>", out);
	if (group->measured.trace[0] != '\0')
		html_text(out, group->measured.trace);
	for (uint32_t kind = 0; kind < NB_OP_KINDS && group->measured.trace[0] == '\0';
		kind++) {
		if (group->weights[kind] == 0)
			continue;
		html_say(out, "%s%s %.4g\xC2\xA0%%", before, nb_op_name(kind),
			100 * (double)group->weights[kind] / (double)sum);
		before = ", ";
	}
	fputs("</td>", out);
}

static void
load_cell(const struct job_result_group *group, FILE *out)
{
	char rate[UNITS_SIZE];
	fputs("<td>", out);
	if (group->speed > 0) {
		html_say(out, "times of the trace, at %gx", group->speed);
	} else if (group->rate_text != NULL) {
		html_say(out, "%s ops/s offered", group->rate_text);
	} else if (group->is_paced && group->rate_ops_s > 0) {
		units_format_count(rate, sizeof(rate), group->rate_ops_s);
		html_say(out, "%s ops/s offered", rate);
	} else {
		fputs(group->is_paced ? "with a rate" : "closed loop", out);
	}
	fputs(group->is_background ? ", in the background</td>" : "</td>", out);
}

static void
write_row(const struct record_group *group, FILE *out)
{
	char text[UNITS_SIZE];
	html_row_begin(out, group->name);
	mix_cell(group->job, out);
	snprintf(text, sizeof(text), "%u", group->phase + 1);
	html_cell(out, true, text);
	snprintf(text, sizeof(text), "%u", group->job->threads);
	html_cell(out, true, text);
	load_cell(group->job, out);
	html_unit_cell(out, SVG_COUNT, (double)group->ops);
	html_unit_cell(out, SVG_NS, (double)group->wall_ns);
	html_unit_cell(out, SVG_COUNT, result_rate((double)group->ops, group->wall_ns));
	html_row_end(out);
}

void
page_groups(struct page *page, const struct record *record)
{
	static const struct html_column columns[] = {{"group", false}, {"mix", false},
		{"phase", true}, {"threads", true}, {"load", false}, {"operations", true},
		{"in", true}, {"ops/s", true}};
	struct record_group *groups = page_room(page, NB_GROUPS_MAX, sizeof(*groups));
	if (groups == NULL || record->job == NULL)
		return;
	size_t count = record_groups(record, groups);
	html_table_begin(page->out, "What was done, without the warm-up", columns,
		sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < count; i++)
		write_row(&groups[i], page->out);
	html_table_end(page->out);
}
