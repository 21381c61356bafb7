/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static void
check(const char *text, uint32_t kind, uint64_t min, uint64_t max, double a, double b)
{
	struct nb_sizes sizes;
	int rc = nb_sizes_parse(&sizes, text);
	ck_assert_msg(rc == NB_OK, "%s: %s", text, nb_error_text());
	ck_assert_msg(sizes.kind == kind && sizes.min == min && sizes.max == max &&
			sizes.a == a && sizes.b == b,
		"%s: %u, %llu..%llu, %g, %g", text, sizes.kind, (unsigned long long)sizes.min,
		(unsigned long long)sizes.max, sizes.a, sizes.b);
	nb_sizes_destroy(&sizes);
}

TEST(every_form_is_read)
{
	check("100", NB_SIZE_FIXED, 100, 100, 0, 0);
	check("0", NB_SIZE_FIXED, 0, 0, 0, 0);
	check("4KiB", NB_SIZE_FIXED, 4096, 4096, 0, 0);
	check("uniform:10..1000", NB_SIZE_UNIFORM, 10, 1000, 0, 0);
	check("uniform:1.5k..4Ki", NB_SIZE_UNIFORM, 1500, 4096, 0, 0);
	check("uniform:7..7", NB_SIZE_UNIFORM, 7, 7, 0, 0);
	check("zipfian:10..1000", NB_SIZE_ZIPFIAN, 10, 1000, 0.99, 0);
	check("zipfian:10..1000,1.25", NB_SIZE_ZIPFIAN, 10, 1000, 1.25, 0);
	check("normal:100,20,1..500", NB_SIZE_NORMAL, 1, 500, 100, 20);
	check("normal:100,20", NB_SIZE_NORMAL, 0, 220, 100, 20);
	check("normal:1000,20.5", NB_SIZE_NORMAL, 877, 1123, 1000, 20.5);
	check("normal:4KiB,0.5k", NB_SIZE_NORMAL, 1096, 7096, 4096, 500);
	check("normal:2.5,0.01", NB_SIZE_NORMAL, 3, 3, 2.5, 0.01);
	check("normal:-10,20,0..100", NB_SIZE_NORMAL, 0, 100, -10, 20);
	check("pareto:0.2615,25.45,10..1024", NB_SIZE_PARETO, 10, 1024, 0.2615, 25.45);
	check("pareto:-0.5,1k,0..1Mi", NB_SIZE_PARETO, 0, 1048576, -0.5, 1000);
}

static void
check_refused(const char *text, int code, const char *what)
{
	struct nb_sizes sizes;
	memset(&sizes, 0xff, sizeof(sizes));
	ck_assert_int_eq(nb_sizes_parse(&sizes, text), code);
	ck_assert_msg(strstr(nb_error_text(), what) != NULL, "'%s': %s", text, nb_error_text());
	ck_assert_ptr_null(strchr(nb_error_text(), '\n'));
	ck_assert(sizes.sizes == NULL && sizes.weights == NULL);
}

TEST(error_is_named)
{
	static const char *const cases[][2] = {
		{"", "'' is empty"},
		{"-1", "'-1' is negative"},
		{"1.5", "is not a whole number of bytes"},
		{"100x", "'x' is not a suffix"},
		{"2Gi", "at most 1073741824 bytes"},
		{"unifrom:1..2",
			"'unifrom' is neither a size nor a distribution of sizes, did you mean 'uniform'?"},
		{"gauss:1,2",
			"'gauss' is neither a size nor a distribution of sizes; allowed: uniform, zipfian, normal, pareto, histogram"},
		{":1..2", "'' is neither a size nor a distribution of sizes; allowed:"},
		{"uniform", "sizes 'uniform': write uniform:MIN..MAX"},
		{"pareto:", "write pareto:SHAPE,SCALE,MIN..MAX"},
		{"uniform:10", "sizes uniform:MIN..MAX: '10' is not MIN..MAX"},
		{"uniform:10..", "sizes uniform:MIN..MAX: '' is empty"},
		{"uniform:..10", "sizes uniform:MIN..MAX: '' is empty"},
		{"uniform:10..20..30", "'..30' is not a suffix"},
		{"uniform:20..10", "sizes of 20..10: the first is the larger"},
		{"uniform:0..2Gi", "a value has at most"},
		{"zipfian:1..2,", "'' is empty"},
		{"zipfian:1..2,x", "'x' is not a number"},
		{"zipfian:1..2,0", "the exponent must be above 0"},
		{"zipfian:1..2,-1", "the exponent must be above 0"},
		{"normal:100",
			"sizes normal:MEAN,DEVIATION[,MIN..MAX]: the deviation is missing"},
		{"normal:100,x", "'x' is not a number"},
		{"normal:100,-2", "the deviation is negative"},
		{"normal:-100,2", "give MIN..MAX"},
		{"normal:2G,2", "give MIN..MAX"},
		{"normal:1e300,1e300", "give MIN..MAX"},
		{"normal:100,2,5", "'5' is not MIN..MAX"},
		{"normal:100,2,5..6,7", "'6,7'"},
		{"pareto:0.2", "SCALE and MIN..MAX are missing"},
		{"pareto:0.2,25", "MIN..MAX is missing"},
		{"pareto:0.2,0,1..2", "the scale must be above 0"},
		{"pareto:x,1,1..2", "'x' is not a number"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_refused(cases[i][0], NB_ERR_USAGE, cases[i][1]);
}

static void
check_file(const char *content, size_t size, const char *what)
{
	file_put("sizes", content, size);
	check_refused("histogram:sizes", NB_ERR_USAGE, what);
}

TEST(a_histogram_is_read_from_its_file)
{
	scratch_fresh("histogram");
	static const char content[] = "# sizes of a service\n\n16 10\n  1KiB\t2k # often\r\n"
				      "0 1\n4Mi 0\n16 5";
	file_put("a,b..c", content, sizeof(content) - 1);
	struct nb_sizes sizes;
	ck_assert_int_eq(nb_sizes_parse(&sizes, "histogram:a,b..c"), NB_OK);
	static const uint64_t expected[][2] = {
		{16, 10}, {1024, 2000}, {0, 1}, {4194304, 0}, {16, 5}};
	ck_assert_uint_eq(sizes.count, 5);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(sizes.sizes[i], expected[i][0]);
		ck_assert_uint_eq(sizes.weights[i], expected[i][1]);
	}
	ck_assert_uint_eq(sizes.min, 0);
	ck_assert_uint_eq(sizes.max, 1024); /* a size of weight 0 does not occur */
	struct sizes drawn;
	ck_assert_int_eq(sizes_create(&drawn, &sizes), NB_OK);
	nb_sizes_destroy(&sizes);
	ck_assert_double_eq_tol(sizes_mean(&drawn), (15 * 16 + 2000 * 1024) / 2016.0, 1e-9);
	sizes_destroy(&drawn);
}

TEST(a_long_histogram_is_read_whole)
{
	enum { LINES = 10000 };
	scratch_fresh("long");
	FILE *file = fopen("sizes", "w");
	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < LINES; i++)
		fprintf(file, "%d %d\n", i, i * 3);
	fclose(file);
	struct nb_sizes sizes;
	ck_assert_int_eq(nb_sizes_parse(&sizes, "histogram:sizes"), NB_OK);
	ck_assert_uint_eq(sizes.count, LINES);
	for (uint64_t i = 0; i < LINES; i++)
		ck_assert(sizes.sizes[i] == i && sizes.weights[i] == i * 3);
	nb_sizes_destroy(&sizes);
	ck_assert_ptr_null(sizes.sizes);
}

TEST(a_wrong_line_is_named)
{
	scratch_fresh("lines");
	static const char *const cases[][2] = {
		{"", "sizes: has no line 'SIZE WEIGHT'"},
		{"# nothing\n \n", "sizes: has no line 'SIZE WEIGHT'"},
		{"1 2\n3\n", "sizes:2: is not a line 'SIZE WEIGHT'"},
		{"1 2\n\n#\n3 4 5\n", "sizes:4: is not a line 'SIZE WEIGHT'"},
		{"x 1\n", "sizes:1: 'x' is not a number"},
		{"1 -1\n", "sizes:1: '-1' is negative"},
		{"1 0.5\n", "sizes:1: '0.5' is not a whole number"},
		{"2Gi 0\n", "sizes:1: '2Gi': a value has at most 1073741824 bytes"},
		{"1 0\n2 0\n", "sizes: a histogram in which all weights are 0"},
		{"1 18446744073709551615\n2 1\n", "sizes: the weights of a histogram exceed"},
		{"1 18446744073709551616\n", "sizes:1: '18446744073709551616' is too large"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_file(cases[i][0], strlen(cases[i][0]), cases[i][1]);
	check_file("1 2\n1\0 2\n3 4\n", 12, "sizes:2: contains a byte of zero");
	char blanks[1000];
	memset(blanks, ' ', sizeof(blanks));
	check_file(blanks, sizeof(blanks), "sizes: has no line 'SIZE WEIGHT'");
	memset(blanks, 0, sizeof(blanks));
	check_file(blanks, sizeof(blanks), "sizes:1: contains a byte of zero");
}

TEST(a_file_that_cannot_be_read_is_named)
{
	scratch_fresh("unreadable");
	check_refused("histogram:missing", NB_FAIL,
		"sizes histogram:FILE: missing: No such file or directory");
	check_refused("histogram:.", NB_FAIL, "sizes histogram:FILE: .: Is a directory");
	check_refused("histogram:/dev/zero", NB_ERR_USAGE, "/dev/zero: is larger than 256 MiB");
}
