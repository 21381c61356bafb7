/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any text as a typed value. The target passes it to every reader of values:
 * counts, sizes, times, real numbers, rates, value sizes, steady criteria, gate limits, CPU
 * lists. An accepted value must be usable:
 *
 * - The digits of a number read back as the same number.
 * - Drawn sizes stay within their bounds.
 * - Due times do not decrease.
 * - The CPUs of a list can be counted.
 *
 * The same text is also the content of the file in "histogram:FILE" and "@FILE".
 *
 *     tests/fuzz/fuzz_values -max_len=512 -dict=.../values.dict NEW_CORPUS .../corpus/values
 */
#include <sched.h>

#include "base/units.h"
#include "fuzz.h"
#include "report/compare.h"
#include "run/procfs.h"
#include "run/run.h"
#include "run/schedule.h"
#include "run/steady.h"
#include "workload/job.h"
#include "workload/sizes.h"

enum { DRAWS = 16, THREADS = 3 };

/* ---- numbers ---- */

static void
read_whole(const char *text, int (*parse)(uint64_t *out, const char *text), const char *unit)
{
	char digits[40];
	uint64_t number, again;
	if (parse(&number, text) != NB_OK) {
		require(nb_error_text()[0] != '\0', "the failure has a text");
		return;
	}
	snprintf(digits, sizeof(digits), "%llu%s", (unsigned long long)number, unit);
	require(parse(&again, digits) == NB_OK && again == number,
		"the digits of a number give the number");
}

static void
read_real(const char *text)
{
	char digits[UNITS_SIZE + 8];
	double number, again;
	if (nb_parse_real(&number, text) != NB_OK)
		return;
	snprintf(digits, sizeof(digits), "%.17g", number);
	require(nb_parse_real(&again, digits) == NB_OK && again == number,
		"the digits of a real number give the number");
	units_format_count(digits, UNITS_SIZE, number);
	require(strlen(digits) < UNITS_SIZE - 1, "a count fits its buffer");
	units_format_bytes(digits, UNITS_SIZE, number);
	require(strlen(digits) < UNITS_SIZE - 1, "a size fits its buffer");
	units_format_ns(digits, UNITS_SIZE, number);
	require(strlen(digits) < UNITS_SIZE - 1, "a time fits its buffer");
}

/* ---- distributions ---- */

static void
read_sizes(const char *text)
{
	struct nb_sizes parsed;
	struct sizes sizes;
	if (nb_sizes_parse(&parsed, text) != NB_OK) {
		require(nb_error_text()[0] != '\0', "the failure has a text");
		return;
	}
	require(sizes_create(&sizes, &parsed) == NB_OK, "accepted sizes can be used");
	uint64_t random = 1;
	for (int i = 0; i < DRAWS; i++) {
		uint64_t size = sizes_draw(&sizes, &random);
		require(size >= parsed.min && size <= parsed.max, "a size is within bounds");
	}
	double mean = sizes_mean(&sizes);
	require(mean >= 0.98 * (double)parsed.min && mean <= 1.02 * (double)parsed.max,
		"the mean is within bounds");
	sizes_destroy(&sizes);
	nb_sizes_destroy(&parsed);
}

static void
draw_arrivals(const struct schedule *schedule)
{
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		struct arrivals arrivals;
		uint64_t due_ns[DRAWS], last_ns = 0;
		arrivals_create(&arrivals, schedule, thread, THREADS, 1);
		arrivals_next(&arrivals, due_ns, DRAWS);
		for (int i = 0; i < DRAWS; i++) {
			require(due_ns[i] >= last_ns, "due times do not decrease");
			last_ns = due_ns[i];
		}
	}
}

static void
read_rate(const char *text)
{
	struct nb_group group = {.size = sizeof(group), .threads = THREADS};
	if (nb_rate_parse(&group.rate, &group.rate_count, text) != NB_OK) {
		require(nb_error_text()[0] != '\0', "the failure has a text");
		return;
	}
	require(group.rate_count > 0, "a rate has steps");
	require(group.rate[group.rate_count - 1].duration_ns == UINT64_MAX,
		"the last step has no end");
	for (uint32_t kind = NB_ARRIVAL_FIXED; kind <= NB_ARRIVAL_POISSON; kind++) {
		struct schedule schedule;
		group.arrivals = kind;
		require(schedule_create(&schedule, &group) == NB_OK,
			"an accepted rate can be used");
		double last = 0, rounding = 1e-6 * (double)group.rate_count;
		for (uint64_t at = 1; at < UINT64_MAX / 4; at *= 8) {
			double offered = schedule_offered(&schedule, at);
			require(offered >= last - rounding,
				"the offered operations do not decrease");
			last = offered;
		}
		draw_arrivals(&schedule);
		schedule_destroy(&schedule);
	}
	free(group.rate);
}

/* ---- limits ---- */

static void
read_limits(const char *text)
{
	struct nb_steady steady = {0, 0.05, 0.1};
	struct nb_comparison nothing = {.confidence = 0.95};
	if (nb_steady_parse(&steady, text) == NB_OK)
		require(steady.window_ns > 0 && steady.slope > 0 && steady.slope <= 1 &&
				steady.band > 0 && steady.band <= 1,
			"window and limits are in range");
	FILE *out = fopen("/dev/null", "we");
	require(out != NULL, "/dev/null can be opened");
	require(nb_comparison_gate(&nothing, text, out) == NB_ERR_USAGE,
		"an empty comparison is rejected");
	fclose(out);
}

static void
read_cpus(const char *text)
{
	cpu_set_t all;
	uint64_t number, nth = 0, count = procfs_list(text, &nth);
	if (procfs_parse_number(&number, text))
		require(text[0] >= '0' && text[0] <= '9', "a number begins with a digit");
	if (job_value_check_cpus(text) != NB_OK)
		return;
	require(count > 0, "accepted CPUs can be counted");
	require(sched_getaffinity(0, sizeof(all), &all) == 0, "the allowed CPUs can be read");
	if (run_pin_to(text, 1) == NB_OK) /* this machine may lack these CPUs */
		sched_setaffinity(0, sizeof(all), &all);
}

static void
read_file(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH], value[FUZZ_PATH + 16];
	int fd = file_of(data, size, path);
	snprintf(value, sizeof(value), "histogram:%s", path);
	read_sizes(value);
	snprintf(value, sizeof(value), "@%s", path);
	read_rate(value);
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size);
	defuse(text);
	read_whole(text, nb_parse_count, "");
	read_whole(text, nb_parse_bytes, "");
	read_whole(text, nb_parse_time, "ns");
	read_real(text);
	read_sizes(text);
	read_rate(text);
	read_limits(text);
	read_cpus(text);
	read_file(data, size);
	free(text);
	return 0;
}
