/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that are there where something is known, and only there. */
#include <string.h>

#include "doc_rig.h"
#include "report/report.h"

static struct nb_result run;
static struct record record;
static char *text;

static void
begin(void)
{
	run = (struct nb_result){.workload = {.verb = NB_VERB_PUT, .key_size = 24},
		.measured = {.ops = 1000,
			.usage_ops = 1000,
			.usage_ns = 2000000000,
			.value_bytes = 1000000,
			.max_resident_bytes = 64 << 20}};
	record = (struct record){.run = &run};
}

static void
write_all(void)
{
	struct doc doc = {0};
	free(text);
	report_memory(&doc, &run);
	report_usage(&doc, &record);
	text = doc_rig_written(&doc, DOC_TEXT);
}

TEST(of_what_is_not_known_there_is_no_line)
{
	begin();
	write_all();
	ck_assert_str_eq(text, "Memory            : 64MiB resident at most\n");
}

TEST(all_that_is_known_has_its_line)
{
	begin();
	struct measurement *measured = &run.measured;
	measured->after = (struct system_levels){
		.anonymous_bytes = 12 << 20, .file_bytes = 3 << 20, .shared_bytes = 1 << 20};
	measured->used = (struct system_counts){.known = SYSTEM_PROCESS | SYSTEM_IO |
			SYSTEM_DEVICE | SYSTEM_CYCLES | SYSTEM_CACHE,
		.minor_faults = 300,
		.major_faults = 4,
		.voluntary_switches = 5000,
		.involuntary_switches = 90,
		.call_write_bytes = 1024000,
		.storage_write_bytes = 2048000,
		.device_write_bytes = 8192000,
		.call_read_bytes = 512,
		.device_read_bytes = 1024,
		.cycles = 4000000,
		.instructions = 6000000,
		.cache_misses = 12500};
	measured->used_after = (struct system_counts){
		.known = SYSTEM_IO | SYSTEM_DEVICE, .call_write_bytes = 1024000};
	measured->live_bytes = 1024000;
	measured->data_bytes = 12288000;
	write_all();
	ck_assert_str_eq(text,
		"Memory            : 64MiB resident at most; at the end 12MiB anonymous, 3MiB "
		"of files, shared 1MiB\n"
		"Faults            : 300 minor (150/s), 4 major (2/s)\n"
		"Switches          : 2500/s voluntary, 45/s involuntary\n"
		"Bytes written     : calls 1.95MiB (2.00x), storage 1.95MiB (2.00x), device "
		"7.81MiB (8.00x)\n"
		"Bytes read        : calls 512B, storage 0B, device 1KiB\n"
		"Space             : 11.7MiB allocated for 1000KiB of keys and values (12.0x)\n"
		"Processor         : 4000 cycles/op, 6000 instructions/op, IPC 1.50, 12.5 "
		"cache "
		"misses/op\n");
}

TEST(bytes_of_others_are_not_told_as_the_runs)
{
	begin();
	run.workload.verb = NB_VERB_GET;
	run.measured.used = (struct system_counts){.known = SYSTEM_IO | SYSTEM_DEVICE,
		.device_read_bytes = 5000,
		.device_write_bytes = 5000};
	run.measured.used_after.known = SYSTEM_IO | SYSTEM_DEVICE;
	write_all();
	ck_assert_ptr_null(strstr(text, "Bytes written"));
	ck_assert_ptr_nonnull(
		strstr(text, "Bytes read        : calls 0B, storage 0B, device "));
}

TEST(why_the_processor_is_not_counted_is_told)
{
	begin();
	strcpy(run.measured.used_missing,
		"hardware counters: this machine has none (ENOENT); device: none");
	write_all();
	ck_assert_ptr_nonnull(strstr(
		text, "Processor         : not counted: this machine has none (ENOENT)\n"));
	strcpy(run.measured.used_missing, "device: none");
	write_all();
	ck_assert_ptr_null(strstr(text, "Processor"));
	strcpy(run.measured.used_missing,
		"hardware counters: of user code only, the kernel's are not allowed");
	run.measured.used = (struct system_counts){
		.known = SYSTEM_CYCLES, .cycles = 1000, .instructions = 500};
	write_all();
	ck_assert_ptr_nonnull(strstr(text,
		"Processor         : 1 cycles/op, 0 instructions/op, IPC 0.50 (user code "
		"only)\n"));
}

TEST(stalls_are_told_with_the_worst_and_its_cause)
{
	static uint32_t ops[501];
	static uint64_t values[10];
	static struct sample samples[10];
	static struct counter compactions = {.name = (char *)(uintptr_t) "compactions",
		.unit = (char *)(uintptr_t) "times",
		.kind = NB_STAT_COUNTER};
	static struct pulses pulses = {.pulse_ns = 20000000, .ops = ops, .count = 501};
	begin();
	run.measured.wall_ns = 10020000000;
	run.measured.series = (struct series){.pulses = &pulses,
		.pulses_count = 1,
		.samples = samples,
		.count = 10,
		.counters = {.items = &compactions, .count = 1}};
	for (size_t i = 0; i < 501; i++)
		ops[i] = 40;
	for (size_t i = 0; i < 10; i++)
		samples[i] = (struct sample){.end_ns = (i + 1) * UINT64_C(1000000000),
			.duration_ns = 1000000000,
			.counters = &values[i],
			.counter_count = 1};
	write_all();
	ck_assert_ptr_nonnull(strstr(text, "Stalls            : none in 10s\n"));
	memset(&ops[100], 0, 30 * sizeof(*ops));
	memset(&ops[200], 0, 10 * sizeof(*ops));
	values[2] = 7;
	write_all();
	ck_assert_ptr_nonnull(strstr(text,
		"Stalls            : 800ms of 10s below half of 2000 ops/sec, longest gap "
		"600ms\n"
		"Worst stall       : 600ms at 2s, 0 ops/sec: compactions 7\n"));
	free(text);
	text = NULL;
}
