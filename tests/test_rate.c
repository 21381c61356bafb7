/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates parsed from text. Expected steps and error texts are complete. */
#include <stdlib.h>
#include <string.h>

#include <mininb/job.h>

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

#define S UINT64_C(1000000000)
#define EVER UINT64_MAX
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { STEPS = 5 };

struct good {
	const char *text;
	struct nb_rate_step steps[STEPS]; /* all later steps are 0 */
};

static void
check_good(const struct good *good)
{
	struct nb_rate_step *steps = NULL;
	size_t count = 0;
	ck_assert_msg(nb_rate_parse(&steps, &count, good->text) == NB_OK, "%s: %s", good->text,
		nb_error_text());
	for (size_t i = 0; i < STEPS && good->steps[i].duration_ns != 0; i++) {
		ck_assert_msg(i < count, "%s: only %zu steps", good->text, count);
		ck_assert_msg(steps[i].duration_ns == good->steps[i].duration_ns &&
				steps[i].from_ops_s == good->steps[i].from_ops_s &&
				steps[i].to_ops_s == good->steps[i].to_ops_s,
			"%s: step %zu is %.17g..%.17g for %ju", good->text, i,
			steps[i].from_ops_s, steps[i].to_ops_s,
			(uintmax_t)steps[i].duration_ns);
		if (good->steps[i].duration_ns == EVER)
			ck_assert_uint_eq(count, i + 1);
	}
	free(steps);
}

static void
check_bad(const char *text, int code, const char *why)
{
	struct nb_rate_step *untouched = (struct nb_rate_step *)(void *)&untouched;
	struct nb_rate_step *steps = untouched;
	size_t count = 77;
	ck_assert_msg(
		nb_rate_parse(&steps, &count, text) == code, "'%s': %s", text, nb_error_text());
	ck_assert_str_eq(nb_error_text(), why);
	ck_assert_ptr_eq(steps, untouched);
	ck_assert_uint_eq(count, 77);
}

TEST(single_rate_holds_forever)
{
	static const struct good good[] = {
		{"200k", {{EVER, 200000, 200000}}},
		{"1", {{EVER, 1, 1}}},
		{"0.5", {{EVER, 0.5, 0.5}}},
		{"2.3k", {{EVER, 2300, 2300}}},
		{"1e6", {{EVER, 1e6, 1e6}}},
		{"1.0005k", {{EVER, 1000.5, 1000.5}}},
		{"0.25Ki", {{EVER, 256, 256}}},
		{"1G", {{EVER, 1e9, 1e9}}},
		{"1e-9", {{EVER, 1e-9, 1e-9}}},
	};
	for (size_t i = 0; i < COUNT_OF(good); i++)
		check_good(&good[i]);
}

TEST(steps_and_ramps_follow_one_another)
{
	static const struct good good[] = {
		{"10k/30s,20k/30s",
			{{30 * S, 10000, 10000}, {30 * S, 20000, 20000}, {EVER, 20000, 20000}}},
		{"10k/30s,20k", {{30 * S, 10000, 10000}, {EVER, 20000, 20000}}},
		{"10k..50k/60s", {{60 * S, 10000, 50000}, {EVER, 50000, 50000}}},
		{"0..1k/1m,1k/1h,1k..0/500ms",
			{{60 * S, 0, 1000}, {3600 * S, 1000, 1000}, {S / 2, 1000, 0},
				{EVER, 0, 0}}},
		{"0/5s,.5..1.5/1.5s,0/1s,3",
			{{5 * S, 0, 0}, {S * 3 / 2, 0.5, 1.5}, {S, 0, 0}, {EVER, 3, 3}}},
		{"7/1ns", {{1, 7, 7}, {EVER, 7, 7}}},
		{"5..5/2s", {{2 * S, 5, 5}, {EVER, 5, 5}}},
	};
	for (size_t i = 0; i < COUNT_OF(good); i++)
		check_good(&good[i]);
}

TEST(wrong_texts_are_refused_with_their_reason)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "'' is empty"},
		{"fast", "'fast' is not a number"},
		{"-5", "'-5' is negative"},
		{"-0", "'-0' is negative"},
		{"-0.5", "'-0.5' is negative"},
		{"10x", "'10x': 'x' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
		{"0.5x", "'0.5x': 'x' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
		{"10k ", "'10k ': 'k ' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
		{"10k/s", "'s' is not a number"},
		{"10k/30", "'30' has no unit; allowed: ns us ms s m h"},
		{"10k/", "'' is empty"},
		{"/30s", "'' is empty"},
		{"10k/30s/5s", "'30s/5s': 's/5s' is not a unit; allowed: ns us ms s m h"},
		{"10k/0s", "'0s' is not a duration of a step"},
		{"10k/30s,", "'10k/30s,' has an empty step"},
		{",10k", "',10k' has an empty step"},
		{"1/1s,,2/1s", "'1/1s,,2/1s' has an empty step"},
		{"10k/30s, 20k", "' 20k' begins with a blank"},
		{"10k,20k/30s",
			"'10k' has no duration; write 10k/30s (only the last step needs none)"},
		{"10k..50k", "'10k..50k' has no duration; write 10k..50k/60s"},
		{"..50k/1s", "'' is empty"},
		{"10k../1s", "'' is empty"},
		{"10k..x/1s", "'x' is not a number"},
		{"1..2..3/1s", "'2..3': '..3' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
		{"0", "'0' is always 0: no operation would be due"},
		{"0/1s,0..0/1s", "'0/1s,0..0/1s' is always 0: no operation would be due"},
		{"1.1G", "'1.1G' is larger than 1G, one operation per ns"},
		{"1e30", "'1e30' is larger than 1G, one operation per ns"},
		{"1e999", "'1e999' is too large"},
		{"1/2000000h,1/2000000h", "the steps take more than 292 years"},
		{"1/18446744073709551615ns", "the steps take more than 292 years"},
		{"1/9999999h", "'9999999h' is too large"},
		{"@", "'@' is not followed by the name of a file"},
	};
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		check_bad(bad[i].text, NB_ERR_USAGE, bad[i].why);
}

static void
put_text(const char *text)
{
	file_put("rates", text, strlen(text));
}

TEST(file_states_when_each_rate_starts)
{
	static const struct {
		const char *text;
		struct good good;
	} files[] = {
		{"0 10k\n60 20k\n90 0.5\n",
			{"@rates",
				{{60 * S, 10000, 10000}, {30 * S, 20000, 20000},
					{EVER, 0.5, 0.5}}}},
		/* the first rate holds from time 0, whatever its time is */
		{"5 1\n6 2\n", {"@rates", {{6 * S, 1, 1}, {EVER, 2, 2}}}},
		{"# of a day\n\n  0 0 # night\r\n\t0.000000001\t7\n3600 1\n# end",
			{"@rates", {{1, 0, 0}, {3600 * S - 1, 7, 7}, {EVER, 1, 1}}}},
		{"0 5", {"@rates", {{EVER, 5, 5}}}},
		{"0 5\n10 0\n", {"@rates", {{10 * S, 5, 5}, {EVER, 0, 0}}}},
		{"0s 5\n500ms 6\n2m 7\n",
			{"@rates", {{S / 2, 5, 5}, {S * 239 / 2, 6, 6}, {EVER, 7, 7}}}},
	};
	scratch_fresh("files");
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		put_text(files[i].text);
		check_good(&files[i].good);
	}
}

TEST(a_wrong_line_is_named)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "rates: has no line 'SECONDS RATE'"},
		{"# nothing\n\n", "rates: has no line 'SECONDS RATE'"},
		{"0 1\n5\n", "rates:2: is not a line 'SECONDS RATE'"},
		{"0 1 2\n", "rates:1: is not a line 'SECONDS RATE'"},
		{"0 1\n\n# so\n0 2\n",
			"rates:4: '0' is not later than the time of the previous line"},
		{"7 1\n6.5 2\n",
			"rates:2: '6.5' is not later than the time of the previous line"},
		{"x 1\n", "rates:1: 'x' is not a number"},
		{"1.2.3 1\n", "rates:1: '1.2.3': '.3' is not part of a number"},
		{"5sec 1\n", "rates:1: '5sec': 'sec' is not a unit; allowed: ns us ms s m h"},
		{"-1 1\n", "rates:1: '-1' is negative"},
		{"0.0000000001 1\n", "rates:1: '0.0000000001s' is not a whole number of ns"},
		{"1e20 1\n", "rates:1: '1e20s' is too large"},
		{"0 1\n1e10 1\n", "rates:2: the steps take more than 292 years"},
		{"0 1\n1 -1\n", "rates:2: '-1' is negative"},
		{"0 1y\n", "rates:1: '1y': 'y' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
		{"0 0\n9 0\n", "'@rates' is always 0: no operation would be due"},
	};
	scratch_fresh("wrong");
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		put_text(bad[i].text);
		check_bad("@rates", NB_ERR_USAGE, bad[i].why);
	}
}

TEST(a_file_that_cannot_be_read_is_named)
{
	scratch_fresh("unreadable");
	check_bad("@none", NB_FAIL, "none: No such file or directory");
	ck_assert_int_eq(mkdir("folder", 0700), 0);
	check_bad("@folder", NB_FAIL, "folder: Is a directory");
}

/** "0 1\n1 2\n2 3\n" ... */
static void
put_lines(unsigned count)
{
	FILE *file = fopen("rates", "we");
	ck_assert_ptr_nonnull(file);
	for (unsigned i = 0; i < count; i++)
		fprintf(file, "%u %u\n", i, i + 1);
	ck_assert_int_eq(fclose(file), 0);
}

TEST(there_may_be_4096_steps_and_no_more)
{
	struct nb_rate_step *steps;
	size_t count;
	scratch_fresh("many");
	put_lines(NB_RATE_STEPS_MAX);
	ck_assert_int_eq(nb_rate_parse(&steps, &count, "@rates"), NB_OK);
	ck_assert_uint_eq(count, NB_RATE_STEPS_MAX);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(steps[i].duration_ns, i + 1 < count ? S : EVER);
		ck_assert_double_eq(steps[i].from_ops_s, (double)(i + 1));
		ck_assert_double_eq(steps[i].to_ops_s, (double)(i + 1));
	}
	free(steps);
	put_lines(NB_RATE_STEPS_MAX + 1);
	check_bad("@rates", NB_ERR_USAGE, "rates: more than 4096 steps");
}
