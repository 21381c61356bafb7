/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses sizes of values: "100", "uniform:10..1000", ... Each distribution is a row of a table
 * with its syntax, which messages repeat.
 */
#include "workload/sizes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/lines.h"

struct law {
	const char *name;
	const char *form; /* syntax after "name:" */
	uint32_t kind;
	int (*parse)(struct nb_sizes *out, char *args);
};

enum {
	LINES_MAX = 1 << 24, /* sizes of a histogram: its table needs 24 bytes each */
	NORMAL_REACH = 6,    /* standard deviations; 1 draw in 10^9 is outside */
	QUOTE_MAX = 60,
};

/** Cut the text at the separator; returns the rest after it, or NULL. */
static char *
cut_at(char *text, const char *separator)
{
	char *at = strstr(text, separator);
	if (at == NULL)
		return NULL;
	*at = '\0';
	return at + strlen(separator);
}

static int
parse_bounds(struct nb_sizes *out, char *text)
{
	char *max = cut_at(text, "..");
	if (max == NULL)
		return error_set(NB_ERR_USAGE, "'%.*s' is not MIN..MAX", QUOTE_MAX, text);
	int rc = nb_parse_bytes(&out->min, text);
	return rc == NB_OK ? nb_parse_bytes(&out->max, max) : rc;
}

/** Parse a length that may have a fraction: "99.5", or a size with a suffix. */
static int
parse_length(double *out, const char *text)
{
	uint64_t bytes;
	if (nb_parse_real(out, text) == NB_OK)
		return NB_OK;
	int rc = nb_parse_bytes(&bytes, text);
	if (rc == NB_OK)
		*out = (double)bytes;
	return rc;
}

static int
parse_zipfian(struct nb_sizes *out, char *args)
{
	char *exponent = cut_at(args, ",");
	out->a = 0.99;
	int rc = parse_bounds(out, args);
	return rc == NB_OK && exponent != NULL ? nb_parse_real(&out->a, exponent) : rc;
}

/** Default limits: 1 draw in 10^9 is outside. No size is below 0. */
static int
reach(struct nb_sizes *out)
{
	double min = ceil(out->a - NORMAL_REACH * out->b);
	double max = floor(out->a + NORMAL_REACH * out->b);
	if (max < 0 || !(max <= NB_VALUE_SIZE_MAX))
		return error_set(NB_ERR_USAGE,
			"that reaches to %.3g bytes; give MIN..MAX, within 0..%u", max,
			NB_VALUE_SIZE_MAX);
	out->min = min > 0 ? (uint64_t)min : 0;
	out->max = (uint64_t)max;
	if (out->min > out->max) /* no integer is that near */
		out->min = out->max = (uint64_t)floor(out->a + 0.5);
	return NB_OK;
}

static int
parse_normal(struct nb_sizes *out, char *args)
{
	char *deviation = cut_at(args, ",");
	if (deviation == NULL)
		return error_set(NB_ERR_USAGE, "the deviation is missing");
	char *bounds = cut_at(deviation, ",");
	int rc = parse_length(&out->a, args);
	if (rc == NB_OK)
		rc = parse_length(&out->b, deviation);
	if (rc == NB_OK && out->b < 0)
		return error_set(NB_ERR_USAGE, "the deviation is negative");
	if (rc != NB_OK)
		return rc;
	return bounds != NULL ? parse_bounds(out, bounds) : reach(out);
}

static int
parse_pareto(struct nb_sizes *out, char *args)
{
	char *scale = cut_at(args, ",");
	char *bounds = scale != NULL ? cut_at(scale, ",") : NULL;
	if (bounds == NULL)
		return error_set(NB_ERR_USAGE, "%s",
			scale == NULL ? "SCALE and MIN..MAX are missing"
				      : "MIN..MAX is missing");
	int rc = nb_parse_real(&out->a, args);
	if (rc == NB_OK)
		rc = parse_length(&out->b, scale);
	return rc == NB_OK ? parse_bounds(out, bounds) : rc;
}

/* ---- files ---- */

static int
take_line(void *arg, const char *size_text, const char *weight_text)
{
	struct nb_sizes *out = arg;
	size_t count = out->count, weight_count = count;
	uint64_t size = 0, weight = 0;
	int rc = count < LINES_MAX ? NB_OK
				   : error_set(NB_ERR_USAGE, "more than %d sizes", LINES_MAX);
	if (rc == NB_OK)
		rc = nb_parse_bytes(&size, size_text);
	if (rc == NB_OK)
		rc = nb_parse_count(&weight, weight_text);
	if (rc == NB_OK && size > NB_VALUE_SIZE_MAX)
		rc = error_set(NB_ERR_USAGE, "'%.*s': a value has at most %u bytes", QUOTE_MAX,
			size_text, NB_VALUE_SIZE_MAX);
	if (rc != NB_OK)
		return rc;
	uint64_t *sizes = array_append(&out->sizes, &count, sizeof(size));
	uint64_t *weights = array_append(&out->weights, &weight_count, sizeof(weight));
	if (sizes == NULL || weights == NULL)
		return NB_FAIL;
	*sizes = size;
	*weights = weight;
	out->count++;
	return NB_OK;
}

/** The smallest and largest size with a weight. */
static void
find_bounds(struct nb_sizes *out)
{
	out->min = UINT64_MAX;
	for (uint32_t i = 0; i < out->count; i++) {
		if (out->weights[i] == 0)
			continue;
		if (out->sizes[i] < out->min)
			out->min = out->sizes[i];
		if (out->sizes[i] > out->max)
			out->max = out->sizes[i];
	}
}

static int
parse_histogram(struct nb_sizes *out, char *path)
{
	int rc = lines_read_pairs(path, "SIZE WEIGHT", take_line, out);
	if (rc != NB_OK)
		return rc;
	find_bounds(out);
	rc = sizes_check(out);
	return rc == NB_OK ? rc : error_prefix(rc, "%s", path);
}

/* ---- all distributions ---- */

static const struct law laws[] = {
	{"uniform", "MIN..MAX", NB_SIZE_UNIFORM, parse_bounds},
	{"zipfian", "MIN..MAX[,EXPONENT]", NB_SIZE_ZIPFIAN, parse_zipfian},
	{"normal", "MEAN,DEVIATION[,MIN..MAX]", NB_SIZE_NORMAL, parse_normal},
	{"pareto", "SHAPE,SCALE,MIN..MAX", NB_SIZE_PARETO, parse_pareto},
	{"histogram", "FILE", NB_SIZE_HISTOGRAM, parse_histogram},
};

enum { LAWS = sizeof(laws) / sizeof(laws[0]) };

const char *
sizes_law_name(uint32_t kind)
{
	size_t i = 0;
	while (i < LAWS && laws[i].kind != kind)
		i++;
	return i < LAWS ? laws[i].name : NULL;
}

static int
parse_law(struct nb_sizes *out, const char *name, char *args)
{
	for (size_t i = 0; i < LAWS; i++) {
		if (strcmp(laws[i].name, name) != 0)
			continue;
		if (args == NULL || *args == '\0')
			return error_set(NB_ERR_USAGE, "sizes '%s': write %s:%s", name, name,
				laws[i].form);
		out->kind = laws[i].kind;
		int rc = laws[i].parse(out, args);
		if (rc == NB_OK)
			rc = sizes_check(out);
		return rc == NB_OK ? rc : error_prefix(rc, "sizes %s:%s", name, laws[i].form);
	}
	const char *names[LAWS];
	for (size_t i = 0; i < LAWS; i++)
		names[i] = laws[i].name;
	return error_unknown(name, names, LAWS,
		"'%.*s' is neither a size nor a distribution of sizes", QUOTE_MAX, name);
}

static int
parse_fixed(struct nb_sizes *out, const char *text)
{
	int rc = nb_parse_bytes(&out->min, text);
	if (rc != NB_OK)
		return rc;
	out->max = out->min;
	return sizes_check(out);
}

int
nb_sizes_parse(struct nb_sizes *out, const char *text)
{
	*out = (struct nb_sizes){0};
	char *copy = strdup(text);
	if (copy == NULL)
		return error_memory();
	char *args = cut_at(copy, ":");
	bool is_name = args != NULL || (copy[0] >= 'a' && copy[0] <= 'z') ||
		(copy[0] >= 'A' && copy[0] <= 'Z');
	int rc = is_name ? parse_law(out, copy, args) : parse_fixed(out, copy);
	free(copy);
	if (rc != NB_OK)
		nb_sizes_destroy(out);
	return rc;
}

void
nb_sizes_destroy(struct nb_sizes *sizes)
{
	free(sizes->sizes);
	free(sizes->weights);
	*sizes = (struct nb_sizes){0};
}
