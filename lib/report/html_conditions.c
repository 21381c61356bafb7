/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the numbers came about: what somebody needs who wants to have them again, or to say
 * why others differ.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_text.h"

static const char *
bytes_text(char text[UNITS_SIZE], uint64_t bytes)
{
	text[0] = '\0';
	if (bytes > 0)
		units_format_bytes(text, UNITS_SIZE, (double)bytes);
	return text;
}

static void
bytes_fact(FILE *out, const char *name, uint64_t bytes)
{
	char text[UNITS_SIZE];
	html_fact(out, name, "%s", bytes_text(text, bytes));
}

/* ---- the engine ---- */

static void
write_engine(const struct nb_result *run, FILE *out)
{
	static const char *const survives[] = {[NB_DUR_NONE] = "kill -9 may lose writes",
		[NB_DUR_PROCESS] = "writes survive kill -9, not power loss",
		[NB_DUR_PERIODIC] = "power loss may take the last sync interval",
		[NB_DUR_COMMIT] = "writes survive power loss"};
	char cache[UNITS_SIZE];
	bytes_text(cache, run->cache_bytes);
	html_table_begin(out, "Engine", NULL, 0);
	html_fact(out, "Engine", "%s %s", run->engine.name, run->engine_version);
	html_fact(out, "Licence, build", "%s, %s",
		run->engine.licence != NULL ? run->engine.licence : "not known",
		run->engine.build != NULL ? run->engine.build : "not known");
	html_fact(out, "From", "%s", run->engine_path != NULL ? run->engine_path : "");
	html_fact(out, "Durability", "%s%s (%s)", nb_durability_name(run->durability),
		run->is_auto_durability ? ", by default" : "",
		run->durability <= NB_DUR_COMMIT ? survives[run->durability] : "");
	html_fact(out, "Cache", "%s", cache[0] != '\0' ? cache : "the engine's default");
	html_fact(out, "Threads", "%u", run->threads);
	for (size_t i = 0; i < run->option_count; i++)
		html_fact(out, run->options[i].name, "%s", run->options[i].value);
	html_fact(out, "Stream digest", "%016" PRIx64, run->digest);
	html_fact(out, "mininb", "%s", run->version);
	html_table_end(out);
}

static void
write_counters(const struct nb_result *run, FILE *out)
{
	static const struct html_column columns[] = {
		{"name", false}, {"value", true}, {"unit", false}, {"kind", false}};
	const struct counters *counters = &run->measured.counters;
	if (counters->count == 0)
		return;
	html_table_begin(out, "What the engine counted, until it was settled", columns, 4);
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *it = &counters->items[i];
		char text[32];
		html_row_begin(out, it->name);
		snprintf(text, sizeof(text), "%" PRIu64, it->value);
		html_cell(out, true, it->has_run_back ? "ran backwards" : text);
		html_cell(out, false, it->unit);
		html_cell(out, false, it->kind == NB_STAT_GAUGE ? "level" : "growth");
		html_row_end(out);
	}
	html_table_end(out);
}

/* ---- the machine ---- */

static void
write_processor(const struct nb_result *run, FILE *out)
{
	const struct environment *it = &run->environment;
	char cache[UNITS_SIZE];
	html_fact(out, "Processor", "%s", it->cpu);
	html_fact(out, "CPUs", "%u of %u may be used", run->sysinfo.cpus,
		run->sysinfo.machine_cpus);
	if (it->sockets > 0)
		html_fact(out, "Sockets, NUMA nodes, threads a core", "%u, %u, %u", it->sockets,
			it->numa_nodes, it->threads_per_core);
	if (it->cpu_mhz_max > 0)
		html_fact(out, "Clock rate", "%.0f MHz at most", it->cpu_mhz_max);
	html_fact(out, "Governor", "%s", it->governor);
	html_fact(out, "Turbo", "%s", it->turbo);
	html_fact(out, "Last cache", "%s", bytes_text(cache, it->last_level_cache_bytes));
	html_fact(out, "Load before", "%.2f", it->load_1m);
	html_fact(out, "Clock", "%s, %.3f MHz, in steps of %.2g ns, %.1f ns a stamp",
		clock_name(&run->clock), run->clock.tick_hz / 1e6, run->clock.step_ns,
		run->clock.read_ns);
	html_fact(out, "Clock of the kernel", "%s", it->clock_source);
}

static void
write_storage(const struct nb_result *run, FILE *out)
{
	const struct environment *it = &run->environment;
	html_fact(out, "Database", "%s", it->directory);
	html_fact(out, "File system", "%s on %s at %s", run->sysinfo.filesystem,
		it->mount_source[0] != '\0' ? it->mount_source : "a device not known",
		it->mount[0] != '\0' ? it->mount : "a place not known");
	html_fact(out, "Mount options", "%s", it->mount_options);
	html_fact(out, "Device", "%s%s%s%s", it->device,
		it->device_model[0] != '\0' ? ", " : "", it->device_model,
		it->is_rotational ? ", rotating" : "");
	html_fact(out, "I/O scheduler", "%s", it->scheduler);
	bytes_fact(out, "File system's size", it->filesystem_bytes);
	bytes_fact(out, "Free there", it->free_bytes);
}

static void
write_machine(const struct nb_result *run, FILE *out)
{
	const struct environment *it = &run->environment;
	html_table_begin(out, "Machine and environment", NULL, 0);
	html_fact(out, "Begun", "%s", it->begun);
	html_fact(out, "Host", "%s", it->host);
	html_fact(out, "System", "%s", it->system);
	html_fact(out, "Kernel", "%s", it->kernel);
	html_fact(out, "Hypervisor", "%s", run->sysinfo.hypervisor);
	html_fact(out, "Container", "%s", it->container);
	write_processor(run, out);
	bytes_fact(out, "Memory", run->sysinfo.memory_bytes);
	bytes_fact(out, "Memory free before", it->available_bytes);
	bytes_fact(out, "Swap", it->swap_bytes);
	html_fact(out, "Transparent huge pages", "%s", it->huge_pages);
	write_storage(run, out);
	html_fact(out, "Allocator", "%s", it->allocator);
	html_fact(out, "LD_PRELOAD", "%s", it->preload);
	html_fact(out, "mininb was built by", "%s%s%s", it->compiler,
		it->build[0] != '\0' ? ", " : "", it->build);
	html_fact(out, "Revision", "%s", it->revision);
	html_fact(out, "Libraries", "%s", it->libraries);
	html_table_end(out);
}

void
page_conditions(struct page *page, const struct record *record)
{
	fputs("<details><summary>Engine, options and machine</summary>\n<div "
	      "class=\"facts\">\n",
		page->out);
	write_engine(record->run, page->out);
	write_counters(record->run, page->out);
	write_machine(record->run, page->out);
	fputs("</div></details>\n", page->out);
}

/* ---- how it was asked for ---- */

/** As a shell takes it. */
static void
write_word(const char *word, FILE *out)
{
	bool is_plain = word[0] != '\0';
	for (const char *at = word; *at != '\0'; at++)
		is_plain &= isalnum((unsigned char)*at) || strchr("-_./=:,+@%", *at) != NULL;
	if (is_plain) {
		html_text(out, word);
		return;
	}
	fputs("&#39;", out);
	for (const char *rest = word; *rest != '\0';) {
		size_t length = strcspn(rest, "'");
		html_say(out, "%.*s", (int)length, rest);
		rest += length;
		if (*rest == '\'') {
			fputs("&#39;\\&#39;&#39;", out);
			rest++;
		}
	}
	fputs("&#39;", out);
}

static void
write_typed(const struct record_command *command, FILE *out)
{
	fputs("<h3>Command</h3>\n<pre><code>", out);
	if (command->directory != NULL) {
		fputs("cd ", out);
		write_word(command->directory, out);
		fputc('\n', out);
	}
	fputs("mininb", out);
	for (size_t i = 0; i < command->word_count; i++) {
		fputc(' ', out);
		write_word(command->words[i], out);
	}
	fputs("</code></pre>\n", out);
}

void
page_command(struct page *page)
{
	const struct record_command *command = &page->results->command;
	FILE *out = page->out;
	fputs("<section id=\"again\"><h2>How to have it again</h2>\n"
	      "<p>The result file that this page was made of holds all of it; "
	      "<code>mininb rerun FILE</code> does it again.</p>\n",
		out);
	if (command->action != NULL)
		write_typed(command, out);
	if (command->option_count > 0) {
		html_table_begin(out, "Options, those that were not typed too", NULL, 0);
		for (size_t i = 0; i < command->option_count; i++)
			html_fact(
				out, command->options[i].name, "%s", command->options[i].value);
		html_table_end(out);
	}
	if (command->job != NULL) {
		fputs("<details><summary>Job file</summary><pre><code>", out);
		html_text(out, command->job);
		fputs("</code></pre></details>\n", out);
	}
	fputs("</section>\n", out);
}
