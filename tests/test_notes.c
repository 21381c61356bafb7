/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each note appears where its reason is, and not where it is not. Every test
 * begins with a result of which only the two notes can be said that hold for
 * every run of today, and changes what its note looks at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/result.h"
#include "unit.h"

static struct nb_result result;

/** A good minute of puts on a quiet machine of four CPUs, read back and settled. */
static void
begin(uint32_t verb)
{
	result = (struct nb_result){.engine = {.name = "thing",
					    .build = "release",
					    .caps = NB_CAP_PERSISTENT | NB_CAP_CONCURRENT},
		.workload = {.verb = verb, .count = 1 << 30, .key_size = 16, .value_size = 100},
		.threads = 2,
		.settle = NB_RUN_SETTLE_COMPACT,
		.verify_rate = 0.01,
		.sysinfo = {.memory_bytes = (uint64_t)16 << 30,
			.cpus = 4,
			.machine_cpus = 4,
			.filesystem = "ext4"},
		.measured = {.has_begun = true,
			.settled = NB_RUN_SETTLE_COMPACT,
			.has_settled = true,
			.has_read_back = true,
			.had_bytes = (uint64_t)116 << 30,
			.ops = 1 << 30,
			.wall_ns = 60000000000,
			.usage_ns = 60000000000,
			.answers = {[NB_OK] = 1 << 30},
			.findings = {.verified = 10000000},
			.floor_call_ns = 20}};
	ck_assert_int_eq(nb_histogram_new(&result.measured.service), NB_OK);
	for (int i = 0; i < 100; i++)
		nb_histogram_add(result.measured.service, 5000);
}

/** The note that holds `part`, or NULL. Makes the notes anew. */
static const char *
note(const char *part)
{
	for (size_t i = 0; i < result.note_count; i++)
		free(result.notes[i].text);
	free(result.notes);
	result.note_count = 0;
	ck_assert_int_eq(result_add_notes(&result), NB_OK);
	const char *found = NULL;
	for (size_t i = 0; i < result.note_count; i++) {
		ck_assert_ptr_null(strchr(result.notes[i].text, '\n'));
		if (strstr(result.notes[i].text, part) != NULL)
			found = result.notes[i].text;
	}
	return found;
}

static void
end(void)
{
	(void)note("");
	for (size_t i = 0; i < result.note_count; i++)
		free(result.notes[i].text);
	free(result.notes);
	nb_histogram_delete(result.measured.service);
}

#define ASSERT_SAID(part) ck_assert_ptr_nonnull(note(part))
#define ASSERT_NOT_SAID(part) ck_assert_ptr_null(note(part))

/** A release build by gcc or clang defines neither; then mininb says so of itself. */
static bool
is_release(void)
{
	begin(NB_VERB_PUT);
	bool is = note("not a release build") == NULL;
	end();
	return is;
}

START_TEST(good_run_has_the_two_notes_of_every_run)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		size_t own = is_release() ? 0 : 1;
		begin(verb);
		ASSERT_SAID("closed loop");
		ASSERT_SAID("one repetition");
		ck_assert_uint_eq(result.note_count, 2 + own);
		end();
	}
}
END_TEST

START_TEST(notes_have_identifiers)
{
	begin(NB_VERB_PUT);
	ASSERT_SAID("closed loop");
	ck_assert_str_eq(result.notes[0].id, "closed-loop");
	ck_assert_str_eq(result.notes[1].id, "one-run");
	end();
}
END_TEST

START_TEST(what_the_engine_warned_of_is_told)
{
	begin(NB_VERB_PUT);
	ck_assert_int_eq(result_add_notes(&result), NB_OK);
	size_t others = result.note_count;
	result.warnings.count = 2;
	strcpy(result.warnings.texts[0], "thing: it is emulated");
	strcpy(result.warnings.texts[1], "thing: it is slow");
	ck_assert_str_eq(note("emulated"), "thing: it is emulated");
	ck_assert_str_eq(note("slow"), "thing: it is slow");
	ck_assert_str_eq(result.notes[others + 1].id, "engine");
	ck_assert_uint_eq(result.note_count, others + 2);
	end();
}
END_TEST

START_TEST(short_run_is_told)
{
	begin(NB_VERB_GET);
	result.measured.wall_ns = 999999999;
	ASSERT_SAID("short: 1.000 seconds show no background work; raise --count");
	result.is_bound_by_time = true;
	ASSERT_SAID("short: 1.000 seconds show no background work; raise --duration");
	result.measured.wall_ns = 1000000000;
	ASSERT_NOT_SAID("short");
	end();
}
END_TEST

START_TEST(data_smaller_than_memory_is_told)
{
	begin(NB_VERB_PUT);
	result.sysinfo.memory_bytes = (uint64_t)64 << 30; /* data: 116 GiB */
	ASSERT_SAID("data of 116GiB in memory of 64GiB: the page cache takes the writes");
	result.sysinfo.memory_bytes = (uint64_t)58 << 30;
	ASSERT_NOT_SAID("in memory of");
	result.sysinfo.memory_bytes = 0; /* not known */
	ASSERT_NOT_SAID("in memory of");
	end();
	begin(NB_VERB_GET);
	result.sysinfo.memory_bytes = (uint64_t)64 << 30;
	ASSERT_SAID("reads come from memory unless the page cache was dropped");
	result.engine.caps &= ~NB_CAP_PERSISTENT;
	ASSERT_NOT_SAID("in memory of");
	end();
	begin(NB_VERB_DELETE); /* which knows no size of values, and does not read them */
	result.sysinfo.memory_bytes = (uint64_t)64 << 30;
	result.workload.value_size = 1;
	ASSERT_SAID("data of 116GiB in memory of 64GiB: the page cache takes the writes");
	result.measured.had_bytes = (uint64_t)129 << 30;
	result.workload.value_size = 100;
	ASSERT_NOT_SAID("in memory of");
	end();
}
END_TEST

START_TEST(memory_file_system_is_told_however_large_the_data)
{
	begin(NB_VERB_PUT);
	result.sysinfo.is_memory_filesystem = true;
	strcpy(result.sysinfo.filesystem, "tmpfs");
	ASSERT_SAID("on tmpfs: no storage device was measured");
	ASSERT_NOT_SAID("in memory of");
	result.workload.count = 10;
	ASSERT_SAID("on tmpfs: no storage device was measured");
	result.engine.caps &= ~NB_CAP_PERSISTENT;
	ASSERT_NOT_SAID("tmpfs");
	end();
}
END_TEST

START_TEST(database_that_was_not_new_is_told_of_puts)
{
	begin(NB_VERB_PUT);
	result.measured.had_data = true;
	ASSERT_SAID("the database was not new");
	result.workload.verb = NB_VERB_GET;
	ASSERT_NOT_SAID("not new");
	end();
}
END_TEST

START_TEST(loading_is_told)
{
	begin(NB_VERB_GET);
	ASSERT_NOT_SAID("keeps nothing");
	result.measured.is_loaded = true;
	result.measured.load_ns = 1500000000;
	ASSERT_SAID("thing keeps nothing between runs: the data was put before the first "
		    "operation, in 1.500 seconds");
	end();
}
END_TEST

START_TEST(duplicates_are_told)
{
	begin(NB_VERB_PUT);
	result.keys.duplicates = 7;
	ck_assert_int_eq(strncmp(note("keys repeat"), "7 of 1073741824 keys repeat", 27), 0);
	result.keys.is_estimate = true;
	ck_assert_int_eq(strncmp(note("keys repeat"), "about 7 of ", 11), 0);
	end();
}
END_TEST

START_TEST(what_was_not_verified_is_told_with_its_cause)
{
	begin(NB_VERB_GET);
	result.verify_rate = 0;
	result.measured.findings.verified = 0;
	ASSERT_SAID("nothing was verified: --verify-rate is 0");
	result.verify_rate = 1e-12;
	ASSERT_SAID("no operation was in the sample; raise --verify-rate");
	result.measured.answers[NB_OK] = 0;
	result.measured.answers[NB_NOT_FOUND] = 1 << 30;
	ASSERT_SAID("nothing was verified: no operation found its key");
	ASSERT_NOT_SAID("raise --verify-rate");
	result.engine.caps |= NB_CAP_SYNTHETIC;
	ASSERT_SAID("thing makes its answers up: nothing can be verified");
	ASSERT_NOT_SAID("nothing was verified");
	end();
}
END_TEST

START_TEST(end_before_reading_back_is_told_as_the_cause)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb += 2) {
		begin(verb);
		result.measured.has_read_back = false;
		result.measured.findings.verified = 0;
		ASSERT_SAID("the run ended before any was read back");
		ASSERT_NOT_SAID("--verify-rate");
		result.measured.findings.verified = 5;
		ASSERT_SAID("the run ended before all of the sample was read back");
		end();
	}
	begin(NB_VERB_GET); /* which is verified as it goes */
	result.measured.has_read_back = false;
	ASSERT_NOT_SAID("read back");
	end();
}
END_TEST

START_TEST(values_too_short_for_a_checksum_are_told)
{
	begin(NB_VERB_GET);
	result.workload.value_size = 15;
	ASSERT_SAID("values of 15 bytes are too short for a checksum");
	result.workload.verb = NB_VERB_DELETE; /* of which no value is looked at */
	ASSERT_NOT_SAID("too short");
	result.workload.verb = NB_VERB_PUT;
	result.workload.value_size = 16;
	ASSERT_NOT_SAID("too short");
	end();
}
END_TEST

START_TEST(settling_that_was_less_than_asked_is_told)
{
	begin(NB_VERB_PUT);
	result.measured.settled = NB_RUN_SETTLE_FLUSH;
	ASSERT_SAID("thing cannot be asked to compact");
	result.measured.settled = NB_RUN_SETTLE_NONE;
	ASSERT_SAID("thing cannot be asked to flush");
	result.settle = NB_RUN_SETTLE_NONE;
	ASSERT_SAID("not settled, as asked");
	result.engine.caps &= ~NB_CAP_PERSISTENT;
	ASSERT_NOT_SAID("settled");
	end();
	begin(NB_VERB_GET);
	result.measured.settled = NB_RUN_SETTLE_NONE;
	ASSERT_NOT_SAID("cannot be asked");
	end();
	begin(NB_VERB_PUT); /* the flush failed, or never came */
	result.measured.settled = NB_RUN_SETTLE_NONE;
	result.measured.has_settled = false;
	ASSERT_NOT_SAID("cannot be asked");
	end();
}
END_TEST

START_TEST(build_that_is_no_release_is_told)
{
	begin(NB_VERB_PUT);
	result.engine.build = "debug";
	ASSERT_SAID("not a release build");
	ASSERT_SAID("the plugin is debug");
	end();
}
END_TEST

START_TEST(virtual_machine_is_told)
{
	begin(NB_VERB_PUT);
	strcpy(result.sysinfo.hypervisor, "KVM");
	ASSERT_SAID("virtual machine (KVM)");
	end();
}
END_TEST

START_TEST(steal_and_others_are_told_as_shares_of_the_machine)
{
	begin(NB_VERB_PUT); /* 240 s of CPU time in all */
	result.measured.usage.steal_ns = 4700000000;
	ASSERT_NOT_SAID("neighbours");
	result.measured.usage.steal_ns = 24000000000;
	ASSERT_SAID("kept back 10.0 % of the CPU time");
	result.measured.usage = (struct sysinfo_usage){
		.user_ns = 60000000000, .system_ns = 60000000000, .busy_ns = 124700000000};
	ASSERT_NOT_SAID("other processes");
	result.measured.usage.busy_ns = 180000000000;
	result.measured.wall_ns = 1000000000; /* without a warm-up of 59 s, whose usage it is */
	ASSERT_SAID("other processes used 25.0 % of the machine's CPU time");
	result.sysinfo.cpus = 1; /* of the process: not those that /proc/stat counts */
	ASSERT_SAID("other processes used 25.0 % of the machine's CPU time");
	result.sysinfo.machine_cpus = 0; /* not known */
	ASSERT_NOT_SAID("other processes");
	result.sysinfo.machine_cpus = 4;
	result.measured.usage.busy_ns = 0;
	ASSERT_NOT_SAID("other processes");
	result.measured.usage_ns = 100000; /* a tick or two are no finding */
	result.measured.usage = (struct sysinfo_usage){.busy_ns = 30000000};
	ASSERT_NOT_SAID("other processes");
	result.measured.usage_ns = 199999999; /* nor, of so little time, are many */
	result.measured.usage = (struct sysinfo_usage){
		.busy_ns = 900000000, .steal_ns = 900000000};
	ASSERT_NOT_SAID("other processes");
	ASSERT_NOT_SAID("neighbours");
	result.measured.usage_ns =
		200000000; /* 0.8 s of CPU time, and ticks that are not its own */
	ASSERT_SAID("other processes used 100.0 %");
	ASSERT_SAID("kept back 100.0 %");
	end();
}
END_TEST

START_TEST(cpu_that_was_taken_away_is_told)
{
	begin(NB_VERB_PUT);
	result.measured.usage.involuntary_switches = 60 * 2 * 100;
	ASSERT_NOT_SAID("taken away");
	result.measured.usage.involuntary_switches = 60 * 2 * 101;
	ASSERT_SAID("taken away 202 times a second");
	result.threads = 3;
	ASSERT_NOT_SAID("taken away");
	result.threads = 1;
	result.measured.usage_ns = 1000000; /* of a millisecond a rate cannot be told */
	result.measured.usage.involuntary_switches = 10;
	ASSERT_NOT_SAID("taken away");
	end();
}
END_TEST

START_TEST(more_threads_than_cpus_are_told)
{
	begin(NB_VERB_PUT);
	result.threads = 4;
	ASSERT_NOT_SAID("share");
	result.threads = 5;
	ASSERT_SAID("5 threads share 4 CPUs");
	result.sysinfo.cpus = 0;
	ASSERT_NOT_SAID("CPUs");
	end();
}
END_TEST

START_TEST(clock_that_is_a_tenth_of_the_median_is_told)
{
	begin(NB_VERB_PUT);
	result.measured.floor_call_ns = 500;
	ASSERT_NOT_SAID("clock's own");
	result.measured.floor_call_ns = 501;
	ASSERT_SAID("of a median latency of 5000 ns, some 501 ns are the clock's own");
	result.measured.ops = 0;
	ASSERT_NOT_SAID("clock's own");
	end();
}
END_TEST

START_TEST(counters_that_ran_backwards_are_named)
{
	struct counter items[] = {{.name = (char *)(uintptr_t) "reads", .has_run_back = true},
		{.name = (char *)(uintptr_t) "writes"},
		{.name = (char *)(uintptr_t) "splits", .has_run_back = true}};
	begin(NB_VERB_PUT);
	ASSERT_NOT_SAID("backwards");
	result.measured.counters = (struct counters){.items = items, .count = 3};
	ASSERT_SAID("counters of the engine ran backwards and are left out: reads, splits");
	items[0].has_run_back = items[2].has_run_back = false;
	ASSERT_NOT_SAID("backwards");
	end();
}
END_TEST

START_TEST(names_of_many_counters_that_ran_backwards_are_cut)
{
	struct counter items[100];
	for (size_t i = 0; i < 100; i++)
		items[i] = (struct counter){
			.name = (char *)(uintptr_t) "a_rather_long_name", .has_run_back = true};
	begin(NB_VERB_PUT);
	result.measured.counters = (struct counters){.items = items, .count = 100};
	ASSERT_SAID("left out: a_rather_long_name, a_rather_long_name, ");
	end();
}
END_TEST

START_TEST(run_of_no_time_and_no_operation_has_notes_without_nonsense)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		begin(verb);
		nb_histogram_reset(result.measured.service);
		result.measured = (struct measurement){.has_begun = true,
			.is_partial = true,
			.service = result.measured.service};
		result.measured.usage = (struct sysinfo_usage){1, 1, 1, 1, 90000000};
		ASSERT_NOT_SAID("nan");
		ASSERT_NOT_SAID("inf");
		end();
	}
}
END_TEST

int
main(void)
{
	return UNIT_RUN("notes", good_run_has_the_two_notes_of_every_run,
		notes_have_identifiers, what_the_engine_warned_of_is_told, short_run_is_told,
		data_smaller_than_memory_is_told,
		memory_file_system_is_told_however_large_the_data,
		database_that_was_not_new_is_told_of_puts, loading_is_told, duplicates_are_told,
		what_was_not_verified_is_told_with_its_cause,
		end_before_reading_back_is_told_as_the_cause,
		values_too_short_for_a_checksum_are_told,
		settling_that_was_less_than_asked_is_told, build_that_is_no_release_is_told,
		virtual_machine_is_told, steal_and_others_are_told_as_shares_of_the_machine,
		cpu_that_was_taken_away_is_told, more_threads_than_cpus_are_told,
		clock_that_is_a_tenth_of_the_median_is_told,
		counters_that_ran_backwards_are_named,
		names_of_many_counters_that_ran_backwards_are_cut,
		run_of_no_time_and_no_operation_has_notes_without_nonsense);
}
