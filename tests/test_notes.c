/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each note appears where its reason is, and not where it is not. Every test
 * begins with a result of which only the two notes can be said that hold for
 * every run of today, and changes what its note looks at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/results.h>

#include "report/note.h"
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
	for (int i = 0; i < 100000; i++) /* as many as p99.99 takes */
		nb_histogram_add(result.measured.service, 5000);
}

static bool
is_kind(const char *id)
{
	const struct nb_note_kind *kind = nb_note_kinds();
	while (kind->id != NULL && strcmp(kind->id, id) != 0)
		kind++;
	return kind->id != NULL;
}

/** The note that holds `part`, or NULL. Makes the notes anew. */
static const char *
note(const char *part)
{
	for (size_t i = 0; i < result.note_count; i++)
		free(result.notes[i].text);
	free(result.notes);
	result.notes = NULL;
	result.note_count = 0;
	ck_assert_int_eq(result_add_notes(&result), NB_OK);
	const char *found = NULL;
	for (size_t i = 0; i < result.note_count; i++) {
		ck_assert_ptr_null(strchr(result.notes[i].text, '\n'));
		ck_assert_msg(is_kind(result.notes[i].id), "%s", result.notes[i].id);
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

/** Whether there is a note of that kind. Makes the notes anew. */
static bool
has_note(const char *id)
{
	bool is_found = false;
	ck_assert_msg(is_kind(id), "%s", id);
	(void)note("");
	for (size_t i = 0; i < result.note_count; i++)
		is_found |= strcmp(result.notes[i].id, id) == 0;
	return is_found;
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

TEST(good_run_has_the_two_notes_of_every_run)
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

TEST(notes_have_identifiers)
{
	begin(NB_VERB_PUT);
	ASSERT_SAID("closed loop");
	ck_assert_str_eq(result.notes[0].id, "closed-loop");
	ck_assert_str_eq(result.notes[1].id, "one-run");
	end();
}

TEST(notes_have_the_weight_of_their_kind)
{
	ck_assert_str_eq(note_weight("queue"), "serious");
	ck_assert_str_eq(note_weight("virtual-machine"), "usual");
	ck_assert_str_eq(note_weight("of a later mininb"), "usual");
	ck_assert_str_eq(note_weight(""), "usual");
}

TEST(what_the_engine_warned_of_is_told)
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

TEST(short_run_is_told)
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

TEST(data_smaller_than_memory_is_told)
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
	ASSERT_SAID("reads come from memory; take more data, or make the run cold");
	result.measured.cold = COLD_FILES;
	ASSERT_SAID("though the run began cold, what was read once came from memory");
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

TEST(memory_file_system_is_told_however_large_the_data)
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

TEST(database_that_was_not_new_is_told_of_puts)
{
	begin(NB_VERB_PUT);
	result.measured.had_data = true;
	ASSERT_SAID("the database was not new");
	result.workload.verb = NB_VERB_GET;
	ASSERT_NOT_SAID("not new");
	end();
}

TEST(loading_is_told)
{
	begin(NB_VERB_GET);
	ASSERT_NOT_SAID("keeps nothing");
	result.measured.is_loaded = true;
	result.measured.load_ns = 1500000000;
	ASSERT_SAID("thing keeps nothing between runs: the data was put before the first "
		    "operation, in 1.500 seconds");
	end();
}

TEST(duplicates_are_told)
{
	begin(NB_VERB_PUT);
	result.keys.duplicates = 7;
	ck_assert_int_eq(strncmp(note("keys repeat"), "7 of 1073741824 keys repeat", 27), 0);
	result.keys.is_estimate = true;
	ck_assert_int_eq(strncmp(note("keys repeat"), "about 7 of ", 11), 0);
	end();
}

TEST(what_was_not_verified_is_told_with_its_cause)
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

TEST(end_before_reading_back_is_told_as_the_cause)
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

TEST(values_too_short_for_a_checksum_are_told)
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

TEST(settling_that_was_less_than_asked_is_told)
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

TEST(build_that_is_no_release_is_told)
{
	begin(NB_VERB_PUT);
	result.engine.build = "debug";
	ASSERT_SAID("not a release build");
	ASSERT_SAID("the plugin is debug");
	end();
}

TEST(virtual_machine_is_told)
{
	begin(NB_VERB_PUT);
	strcpy(result.sysinfo.hypervisor, "KVM");
	ASSERT_SAID("virtual machine (KVM)");
	end();
}

TEST(a_hiccup_as_long_as_a_gap_is_told)
{
	begin(NB_VERB_PUT);
	ck_assert_int_eq(nb_histogram_new(&result.measured.hiccups), NB_OK);
	nb_histogram_add(result.measured.hiccups, 60000000);
	ck_assert(!has_note("hiccup"));
	nb_histogram_add(result.measured.hiccups, 2000000000);
	ASSERT_SAID("a thread that only sleeps woke up 2s late");
	ck_assert(has_note("hiccup"));
	nb_histogram_delete(result.measured.hiccups);
	result.measured.hiccups = NULL;
	end();
}

TEST(clocks_that_do_not_agree_are_told)
{
	begin(NB_VERB_PUT);
	ck_assert(!has_note("clock-drift"));
	result.measured.clock_drift = 0.00099;
	ck_assert(!has_note("clock-drift"));
	result.measured.clock_drift = -0.0099;
	ck_assert_ptr_nonnull(
		note("the clock drifted: the time stamp counter ran 0.99 % slow"));
	result.measured.clock_drift = 0.0123;
	ck_assert_ptr_nonnull(
		note("the clock drifted: the time stamp counter ran 1.23 % fast"));
	result.measured.slept_ns = 999999;
	ck_assert_ptr_nonnull(note("the clock drifted"));
	result.measured.slept_ns = 5000000000;
	ck_assert_ptr_nonnull(note("the machine slept for 5s in the middle of the run"));
	end();
}

TEST(steal_and_others_are_told_as_shares_of_the_machine)
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

TEST(cpu_that_was_taken_away_is_told)
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

TEST(more_threads_than_cpus_are_told)
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

TEST(harness_that_is_a_tenth_of_what_is_measured_is_told)
{
	begin(NB_VERB_PUT);
	result.measured.floor_call_ns = 500;
	result.measured.floor_op_ns = 500;
	ck_assert(!has_note("harness"));
	result.measured.floor_call_ns = 501;
	result.measured.floor_op_ns = 600;
	ASSERT_SAID("the harness is 501 ns of the median latency of 5000 ns, and 600 ns of "
		    "each operation's time; nothing is subtracted: compare with the null "
		    "engine");
	result.measured.floor_call_ns = 100; /* 4900 + 544 ns in the loop, then 4900 + 545 */
	result.measured.floor_op_ns = 544;
	ck_assert(!has_note("harness"));
	result.measured.floor_op_ns = 545;
	ASSERT_SAID("the harness is 545 ns of the some 5445 ns that an operation takes in its "
		    "loop");
	result.is_paced = true; /* where it waits anyway */
	ck_assert(!has_note("harness"));
	result.is_paced = false;
	result.measured.ops = 0;
	ck_assert(!has_note("harness"));
	end();
}

TEST(kinds_of_notes_are_told_once_and_fit)
{
	for (const struct nb_note_kind *kind = nb_note_kinds(); kind->id != NULL; kind++) {
		ck_assert_uint_lt(strlen(kind->id), sizeof(result.notes->id));
		ck_assert_uint_eq(
			strspn(kind->id, "abcdefghijklmnopqrstuvwxyz-"), strlen(kind->id));
		ck_assert_str_ne(kind->what, "");
		for (const struct nb_note_kind *other = nb_note_kinds(); other != kind; other++)
			ck_assert_str_ne(other->id, kind->id);
	}
}

TEST(cache_that_holds_all_is_told)
{
	begin(NB_VERB_GET); /* 116 GiB */
	result.cache_bytes = (uint64_t)117 << 30;
	ASSERT_SAID("data of 116GiB fits into the engine's cache of 117GiB: what lies below "
		    "that was hardly measured; take a smaller --cache, or more data");
	result.cache_bytes = (uint64_t)116 << 30;
	ck_assert(!has_note("small-cache"));
	result.cache_bytes = 0; /* the engine's default, which is not known */
	ck_assert(!has_note("small-cache"));
	result.cache_bytes = (uint64_t)117 << 30;
	result.engine.caps &= ~NB_CAP_PERSISTENT;
	ck_assert(!has_note("small-cache"));
	end();
}

TEST(percentile_without_samples_enough_is_told)
{
	static const struct {
		uint64_t count;
		const char *part;
	} cases[] = {
		{1,
			"1 operations are too few for p50, which takes 20, and for what is "
			"above; raise --count"},
		{199, "199 operations are too few for p95, which takes 200"},
		{999, "too few for p99, which takes 1000"},
		{9999, "too few for p99.9, which takes 10000"},
		{99999, "too few for p99.99, which takes 100000"}};
	begin(NB_VERB_GET);
	ck_assert(!has_note("few-samples"));
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		nb_histogram_reset(result.measured.service);
		for (uint64_t i = 0; i < cases[c].count; i++)
			nb_histogram_add(result.measured.service, 5000);
		ASSERT_SAID(cases[c].part);
	}
	result.is_bound_by_time = true;
	ASSERT_SAID("raise --duration");
	nb_histogram_reset(result.measured.service);
	ck_assert(!has_note("few-samples")); /* of nothing there is nothing to say */
	end();
}

enum { PULSES = 151 };

/** Three seconds of pulses of 20 ms, a third each with so many operations in a pulse. */
static struct pulses
pulses_of(uint32_t *ops, uint32_t first, uint32_t middle, uint32_t last)
{
	for (int i = 0; i < PULSES; i++)
		ops[i] = i < 50 ? first : i < 100 ? middle : last;
	ops[PULSES - 1] = 0; /* in which the run ended */
	return (struct pulses){.pulse_ns = 20000000, .ops = ops, .count = PULSES};
}

TEST(rate_that_still_changes_is_told)
{
	uint32_t ops[PULSES], steady[PULSES];
	struct pulses pulses[] = {
		pulses_of(ops, 1, 1000, 1101), pulses_of(steady, 500, 500, 500)};
	begin(NB_VERB_PUT);
	ck_assert(!has_note("drift")); /* where it is not known */
	result.measured.series = (struct series){.pulses = pulses, .pulses_count = 2};
	ASSERT_SAID("not steady: the rate rose by 10 % from the middle third of the time to "
		    "the last one; raise --count");
	pulses_of(ops, 1, 1000, 1099); /* the beginning is nobody's concern */
	ck_assert(!has_note("drift"));
	pulses_of(ops, 1000, 1000, 901);
	ck_assert(!has_note("drift"));
	pulses_of(ops, 1000, 1000, 250);
	ASSERT_SAID("the rate fell by 75 %");
	result.is_paced = true; /* the rate is what was asked for */
	ck_assert(!has_note("drift"));
	result.is_paced = false;
	pulses_of(ops, 39, 39, 20); /* too few to tell that from chance */
	ck_assert(!has_note("drift"));
	pulses_of(ops, 1000, 1000, 250);
	pulses[0].pulse_ns = 6666666; /* all in less than a second */
	ck_assert(!has_note("drift"));
	end();
}

TEST(warm_up_is_no_part_of_what_has_to_be_steady)
{
	uint32_t ops[PULSES];
	struct pulses pulses = pulses_of(ops, 100, 100, 1000);
	struct sample samples[] = {{.end_ns = 2001000000, .phase = 0, .is_warmup = 1},
		{.end_ns = 3000000000, .phase = 0},
		{.end_ns = 3000000000, .phase = 1, .is_warmup = 1}};
	begin(NB_VERB_PUT);
	for (int i = 0; i < 50; i++)
		ops[100 + i] = 2000 + (uint32_t)i;
	pulses.pulse_ns = 21000000; /* 50 of them are more than a second */
	samples[0].end_ns = 99 * pulses.pulse_ns + 1;
	result.measured.series = (struct series){.pulses = &pulses, .pulses_count = 1};
	result.is_bound_by_time = true;
	ASSERT_SAID("raise --duration, or take a --warmup");
	result.measured.series.samples = samples;
	result.measured.series.count = 3;
	ck_assert(!has_note("drift"));
	pulses_of(ops, 100, 100, 1000);
	samples[0].end_ns = 1;
	ASSERT_SAID("raise --duration, or --warmup");
	pulses.count = 0;
	ck_assert(!has_note("drift"));
	end();
}

TEST(reads_that_found_nothing_are_told)
{
	begin(NB_VERB_GET);
	result.measured.answers[NB_OK] = 500;
	result.measured.answers[NB_NOT_FOUND] = 500;
	ck_assert(!has_note("misses"));
	result.measured.answers[NB_NOT_FOUND] = 1500;
	ASSERT_SAID("75 % of the reads found nothing: what was measured is how fast that is "
		    "told; read the keys that were put");
	result.workload.verb = NB_VERB_DELETE;
	ck_assert(!has_note("misses"));
	result.workload.verb = NB_VERB_GET;
	result.engine.caps |= NB_CAP_SYNTHETIC;
	ck_assert(!has_note("misses"));
	end();
}

static struct residency
resident(uint64_t bytes)
{
	return (struct residency){
		.resident_bytes = bytes, .total_bytes = 1000, .files = 1, .is_known = 1};
}

TEST(what_is_neither_warm_nor_cold_is_told)
{
	begin(NB_VERB_GET);
	result.sysinfo.memory_bytes = (uint64_t)200 << 30;
	result.measured.residency_begin = resident(430);
	ASSERT_SAID("neither warm nor cold: 43 % of the database was in memory when the first "
		    "operation began; read it all once before, or make the run cold");
	result.measured.residency_begin = resident(900);
	ck_assert(!has_note("lukewarm"));
	result.measured.residency_begin = resident(50);
	ck_assert(!has_note("lukewarm"));
	result.measured.residency_begin = resident(430);
	result.measured.cold = COLD_FILES; /* as was asked */
	ck_assert(!has_note("lukewarm"));
	result.measured.cold = COLD_NOT;
	result.sysinfo.memory_bytes = (uint64_t)100 << 30; /* where it cannot be warm */
	ck_assert(!has_note("lukewarm"));
	end();
}

TEST(faults_on_storage_of_a_warm_run_are_told)
{
	begin(NB_VERB_GET);
	result.sysinfo.memory_bytes = (uint64_t)200 << 30;
	result.measured.residency_begin = resident(1000);
	result.measured.usage_ops = 1000000;
	result.measured.used = (struct system_counts){
		.known = SYSTEM_PROCESS, .major_faults = 1001};
	ASSERT_SAID("not warm: 1001 pages were fetched from storage while the operations ran; "
		    "read all of the database once before, or make the run cold");
	result.measured.used.major_faults = 1000;
	ck_assert(!has_note("lukewarm"));
	result.measured.used.major_faults = 1001;
	result.measured.used.known = 0;
	ck_assert(!has_note("lukewarm"));
	result.measured.used.known = SYSTEM_PROCESS;
	result.workload.verb = NB_VERB_PUT;
	ck_assert(!has_note("lukewarm"));
	end();
}

TEST(run_that_was_not_cold_although_that_was_asked_is_told)
{
	begin(NB_VERB_GET);
	result.flags = NB_RUN_COLD;
	result.measured.cold = COLD_CACHES;
	result.measured.residency_before = resident(1);
	result.measured.residency_begin = resident(50);
	ck_assert(!has_note("not-cold"));
	result.measured.residency_begin = resident(410);
	ASSERT_SAID("not cold, though that was asked: opening read 41 % of the database before "
		    "the first operation");
	result.measured.residency_before = resident(400);
	ASSERT_SAID("40 % of the database stayed in memory; see whether another process has it "
		    "open");
	result.measured.residency_begin.is_known = 0;
	ASSERT_SAID("whether it was cold is not known");
	result.measured.cold = COLD_NOT; /* a new one */
	ck_assert(!has_note("not-cold"));
	result.engine.caps &= ~NB_CAP_PERSISTENT;
	ASSERT_SAID("not cold, though that was asked: thing keeps its data in memory");
	result.flags = 0;
	ck_assert(!has_note("not-cold"));
	end();
}

TEST(file_system_that_is_nearly_full_is_told)
{
	begin(NB_VERB_PUT);
	ck_assert(!has_note("full")); /* nothing is known of it */
	result.environment.filesystem_bytes = (uint64_t)100 << 30;
	result.environment.free_bytes = (uint64_t)10 << 30;
	ck_assert(!has_note("full"));
	result.environment.free_bytes = (uint64_t)4 << 30;
	ASSERT_SAID("the file system is 96 % full (4GiB left): writes may be slower than on "
		    "one with room; free some");
	result.engine.caps &= ~NB_CAP_PERSISTENT;
	ck_assert(!has_note("full"));
	end();
}

TEST(governor_that_is_not_performance_is_told)
{
	begin(NB_VERB_GET);
	ck_assert(!has_note("governor"));
	strcpy(result.environment.governor, "performance");
	ck_assert(!has_note("governor"));
	strcpy(result.environment.governor, "powersave");
	ASSERT_SAID("the CPU's governor is powersave: its clock follows the load; set it to "
		    "performance (cpupower frequency-set -g performance)");
	end();
}

TEST(container_is_told)
{
	begin(NB_VERB_GET);
	ck_assert(!has_note("container"));
	strcpy(result.environment.container, "docker");
	ASSERT_SAID("container (docker): its limits");
	end();
}

TEST(swapping_is_told)
{
	begin(NB_VERB_GET);
	result.measured.used.swap_in_bytes = 1 << 20;
	ck_assert(!has_note("swap")); /* which is not known */
	result.measured.used.known = SYSTEM_MACHINE;
	ASSERT_SAID("the machine swapped while the operations ran: 1MiB came in, 0B went out; "
		    "take less memory, or none for swap (swapoff -a)");
	result.measured.used.swap_in_bytes = 0;
	ck_assert(!has_note("swap"));
	result.sysinfo.memory_bytes = 100 << 20;
	result.environment.swap_used_bytes = 1 << 20;
	ck_assert(!has_note("swap"));
	result.environment.swap_used_bytes = 2 << 20;
	ASSERT_SAID("2MiB were in swap when the run began");
	end();
}

TEST(quota_of_the_cgroup_is_told)
{
	begin(NB_VERB_GET);
	result.measured.used.throttled_ns = 1200000000;
	ck_assert(!has_note("throttled"));
	result.measured.used.known = SYSTEM_CGROUP;
	ASSERT_SAID("the CPU quota of the cgroup held threads up for 1.2s: the highest "
		    "latencies are its; raise cpu.max, or take fewer threads");
	result.measured.used.throttled_ns = 0;
	ck_assert(!has_note("throttled"));
	end();
}

TEST(pressure_is_told_unless_the_threads_explain_it)
{
	begin(NB_VERB_GET); /* 60 s, two threads, four CPUs */
	result.measured.used = (struct system_counts){
		.pressure_cpu_ns = 6000000000, .pressure_memory_ns = 1200000000};
	ck_assert(!has_note("pressure-cpu") && !has_note("pressure-memory"));
	result.measured.used.known = SYSTEM_PRESSURE;
	ASSERT_SAID("tasks waited for a CPU 10.0 % of the time, though there are 4 for 2 "
		    "threads: stop what else runs");
	ASSERT_SAID("tasks waited for memory 2.0 % of the time");
	result.threads = 5;
	ck_assert(!has_note("pressure-cpu") && has_note("pressure-memory"));
	result.threads = 2;
	result.measured.used.pressure_cpu_ns = 3000000000;
	result.measured.used.pressure_memory_ns = 600000000;
	ck_assert(!has_note("pressure-cpu") && !has_note("pressure-memory"));
	result.measured.usage_ns = 99999999; /* of so little time nothing can be said */
	ck_assert(!has_note("pressure-cpu") && !has_note("pressure-memory"));
	end();
}

TEST(counters_that_ran_backwards_are_named)
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

TEST(names_of_many_counters_that_ran_backwards_are_cut)
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

TEST(run_of_no_time_and_no_operation_has_notes_without_nonsense)
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
