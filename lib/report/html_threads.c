/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much each thread did, since a mean of all hides one that was starved; and the hiccups
 * of the machine, which are in every latency and are not the engine's.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_bars.h"
#include "report/html_text.h"

enum { SHOWN = 64 };

/** Up to SHOWN rows, in the order of groups and threads; how many threads there are. */
static size_t
take_threads(const struct record_group *groups, size_t group_count, struct bars_row *rows)
{
	size_t count = 0;
	for (size_t g = 0; g < group_count; g++) {
		const struct record_group *group = &groups[g];
		for (uint32_t t = 0; group->threads != NULL && t < group->thread_count;
			t++, count++) {
			if (count >= SHOWN)
				continue;
			const struct job_thread *thread = &group->threads[t];
			struct bars_row *row = &rows[count];
			snprintf(row->name, sizeof(row->name), "%.48s %u", group->name, t + 1);
			row->values[0] = result_rate((double)thread->ops, thread->wall_ns);
		}
	}
	return count;
}

static void
write_hiccups(const struct record *record, FILE *out)
{
	static const double told[] = {50, 99, 99.9};
	const struct nb_histogram *hiccups = record_hiccups(record);
	char text[UNITS_SIZE];
	if (hiccups == NULL)
		return;
	fputs("<p>Hiccups of the machine, by how much a sleeping thread woke up late:", out);
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		if (!nb_histogram_supports(hiccups, told[i], NULL))
			continue;
		units_format_ns(
			text, sizeof(text), (double)nb_histogram_percentile(hiccups, told[i]));
		html_say(out, " p%g %s,", told[i], text);
	}
	units_format_ns(text, sizeof(text), (double)nb_histogram_max(hiccups));
	html_say(out, " at most %s, of %llu times.", text,
		(unsigned long long)nb_histogram_count(hiccups));
	fputs(" What is as long as these may be the machine's and not the engine's.</p>\n",
		out);
}

void
page_threads(struct page *page, const struct record *record)
{
	struct record_group *groups = page_room(page, NB_GROUPS_MAX, sizeof(*groups));
	struct bars_row *rows = page_room(page, SHOWN, sizeof(*rows));
	if (groups == NULL || rows == NULL)
		return;
	size_t threads = take_threads(groups, record_groups(record, groups), rows);
	fputs("<h3>Threads</h3>\n", page->out);
	if (threads == 0)
		fputs("<p>What each thread did was not kept.</p>\n", page->out);
	page_bars(page,
		&(struct bars){.title = "Throughput of each thread",
			.what = "Operations per second of each thread.",
			.x_name = "operations/s",
			.unit = SVG_COUNT,
			.names = {"operations/s"},
			.rows = rows,
			.count = threads < SHOWN ? threads : SHOWN});
	if (threads > SHOWN)
		fprintf(page->out, "<p>The first %d of %zu threads.</p>\n", SHOWN, threads);
	write_hiccups(record, page->out);
}
