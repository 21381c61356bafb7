/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C part of test_histogram_oracle.py.
 *
 *     histogram_oracle make SEED COUNT   prints the values, then "encoded TEXT", "p P VALUE"
 *     histogram_oracle read              reads a text from stdin, prints "count N",
 *                                        "min V", "max V", "bucket LOW N", "p P VALUE"
 */
#include "base/histogram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static const char *const percents[] = {"1", "5", "10", "25", "50", "75", "90", "95", "99",
	"99.5", "99.9", "99.95", "99.99", "100"};

static void
print_percentiles(const struct nb_histogram *histogram)
{
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		printf("p %s %" PRIu64 "\n", percents[i],
			nb_histogram_percentile(histogram, strtod(percents[i], NULL)));
}

static int
make(struct nb_histogram *histogram, uint64_t seed, uint64_t count)
{
	struct rng rng;
	rng_create(&rng, seed);
	for (uint64_t i = 0; i < count; i++) {
		/* a long tail up to 36 minutes, but mostly short values */
		unsigned bits = rng_below(&rng, 4) == 0 ? (unsigned)rng_below(&rng, 42) : 14;
		uint64_t value = rng_below(&rng, UINT64_C(1) << bits);
		nb_histogram_add(histogram, value);
		printf("%" PRIu64 "\n", value);
	}
	char *text;
	if (nb_histogram_encode(histogram, &text) != NB_OK)
		return 1;
	printf("encoded %s\n", text);
	free(text);
	print_percentiles(histogram);
	return 0;
}

static int
read_and_print(void)
{
	static char text[1 << 20];
	if (scanf("%1048575s", text) != 1)
		return 1;
	struct nb_histogram *histogram;
	if (nb_histogram_decode(&histogram, text) != NB_OK) {
		fprintf(stderr, "%s\n", nb_error_text());
		return 1;
	}
	printf("count %" PRIu64 "\n", nb_histogram_count(histogram));
	printf("min %" PRIu64 "\n", nb_histogram_min(histogram));
	printf("max %" PRIu64 "\n", nb_histogram_max(histogram));
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram_at(histogram, i) != 0)
			printf("bucket %" PRIu64 " %" PRIu64 "\n", histogram_low(i),
				histogram_at(histogram, i));
	print_percentiles(histogram);
	nb_histogram_delete(histogram);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "read") == 0)
		return read_and_print();
	if (argc != 4 || strcmp(argv[1], "make") != 0)
		return 2;
	struct nb_histogram *histogram;
	if (nb_histogram_new(&histogram) != NB_OK)
		return 1;
	int rc = make(histogram, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	nb_histogram_delete(histogram);
	return rc;
}
