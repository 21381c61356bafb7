/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses rates: one rate, steps and ramps, or a file.
 *
 * A rate is a count ("200k"), and may have a fraction: half an operation per second is one
 * every two seconds. Fractions are doubles, as schedules use doubles; whole numbers are not, so
 * "2.3k" is exactly 2300.
 *
 * A parsed rate ends in a step without end, so callers need no rule for the time after the last
 * step. A rate of 0 for some time is a pause. A rate that is always 0 is rejected: other tools
 * interpret it as "as fast as possible", and here no operation would ever be due. A step
 * without duration is rejected, because it is probably a wrong unit.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/job.h>

#include "base/array.h"
#include "base/error.h"
#include "base/lines.h"

enum { NUMBER_MAX = 64 /* characters of a number with a fraction */ };

/* One operation per ns, the resolution of due times. */
static const double rate_max = 1e9;

/* 292 years in ns: sums of times fit into 64 bits. */
static const uint64_t time_max = UINT64_MAX / 2;

struct steps {
	struct nb_rate_step *items;
	size_t count;
	uint64_t total_ns; /* without the last step */
};

static int
push(struct steps *steps, uint64_t duration_ns, double from, double to)
{
	if (steps->count == NB_RATE_STEPS_MAX)
		return error_set(NB_ERR_USAGE, "more than %u steps", NB_RATE_STEPS_MAX);
	struct nb_rate_step *step = array_append(&steps->items, &steps->count, sizeof(*step));
	if (step == NULL)
		return NB_FAIL;
	*step = (struct nb_rate_step){
		.duration_ns = duration_ns, .from_ops_s = from, .to_ops_s = to};
	return NB_OK;
}

static int
add_step(struct steps *steps, uint64_t duration_ns, double from, double to)
{
	if (duration_ns > time_max - steps->total_ns)
		return error_set(NB_ERR_USAGE, "the steps take more than 292 years");
	steps->total_ns += duration_ns;
	return push(steps, duration_ns, from, to);
}

static int
add_last(struct steps *steps, double rate)
{
	return push(steps, UINT64_MAX, rate, rate);
}

/** Multiply the number before the suffix by the suffix's factor. */
static bool
read_fraction(double *out, const char *text)
{
	char number[NUMBER_MAX], suffix[NUMBER_MAX];
	size_t length = strcspn(text, "kKMGT");
	if (text[0] == '-' || strlen(text) >= NUMBER_MAX - 1)
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)length, text);
	snprintf(suffix, sizeof(suffix), "1%s", text + length);
	double value;
	uint64_t factor;
	if (nb_parse_real(&value, number) != NB_OK || nb_parse_count(&factor, suffix) != NB_OK)
		return false;
	*out = value * (double)factor;
	return true;
}

static int
parse_rate(double *out, const char *text)
{
	uint64_t whole;
	double rate;
	if (nb_parse_count(&whole, text) == NB_OK)
		rate = (double)whole;
	else if (!read_fraction(&rate, text)) /* the message is that of a count */
		return nb_parse_count(&whole, text);
	if (rate > rate_max)
		return error_set(
			NB_ERR_USAGE, "'%s' is larger than 1G, one operation per ns", text);
	*out = rate;
	return NB_OK;
}

/** "10k", "10k..50k". */
static int
parse_rates(double *from, double *to, char *text)
{
	char *dots = strstr(text, "..");
	if (dots != NULL)
		*dots = '\0';
	int rc = parse_rate(from, text);
	*to = *from;
	return rc != NB_OK || dots == NULL ? rc : parse_rate(to, dots + 2);
}

static int
refuse_endless(const char *text, bool is_ramp)
{
	if (is_ramp)
		return error_set(
			NB_ERR_USAGE, "'%s' has no duration; write 10k..50k/60s", text);
	return error_set(NB_ERR_USAGE,
		"'%s' has no duration; write 10k/30s (only the last step needs none)", text);
}

/** Parse "10k/30s", "10k..50k/60s" or "10k". Modifies `text`. */
static int
parse_step(struct steps *steps, char *text, bool is_last)
{
	bool is_ramp = strstr(text, "..") != NULL;
	char *slash = strchr(text, '/');
	if (slash == NULL && (is_ramp || !is_last))
		return refuse_endless(text, is_ramp);
	if (slash != NULL)
		*slash = '\0';
	uint64_t duration_ns = 0;
	double from = 0, to = 0;
	int rc = parse_rates(&from, &to, text);
	if (rc != NB_OK)
		return rc;
	if (slash == NULL)
		return add_last(steps, to);
	rc = nb_parse_time(&duration_ns, slash + 1);
	if (rc == NB_OK && duration_ns == 0)
		rc = error_set(NB_ERR_USAGE, "'%s' is not a duration of a step", slash + 1);
	return rc == NB_OK ? add_step(steps, duration_ns, from, to) : rc;
}

static int
parse_text(struct steps *steps, const char *text)
{
	char *copy = strdup(text), *rest = copy, *step;
	if (copy == NULL)
		return error_memory();
	int rc = NB_OK;
	bool has_many = strchr(text, ',') != NULL;
	while (rc == NB_OK && (step = strsep(&rest, ",")) != NULL) {
		if (*step == '\0' && has_many)
			rc = error_set(NB_ERR_USAGE, "'%s' has an empty step", text);
		else
			rc = parse_step(steps, step, rest == NULL);
	}
	free(copy);
	return rc;
}

/** Parse seconds; a unit is optional. */
static int
parse_seconds(uint64_t *out, const char *text)
{
	char last = text[strlen(text) - 1], with_unit[NUMBER_MAX];
	if (last != '.' && (last < '0' || last > '9'))
		return nb_parse_time(out, text);
	double seconds; /* only for the error message */
	int rc = nb_parse_real(&seconds, text);
	if (rc != NB_OK)
		return rc;
	if (seconds < 0)
		return error_set(NB_ERR_USAGE, "'%s' is negative", text);
	int length = snprintf(with_unit, sizeof(with_unit), "%ss", text);
	if (length >= (int)sizeof(with_unit))
		return error_set(
			NB_ERR_USAGE, "'%s' has more than %d digits", text, NUMBER_MAX - 2);
	return nb_parse_time(out, with_unit);
}

/** State of reading a file. */
struct file {
	struct steps *steps;
	uint64_t since_ns, at_ns; /* start of `rate`; time of the previous line */
	double rate;
	bool is_begun;
};

static int
take_line(void *arg, const char *seconds, const char *text)
{
	struct file *file = arg;
	uint64_t at_ns = 0;
	double rate = 0;
	int rc = parse_seconds(&at_ns, seconds);
	if (rc == NB_OK)
		rc = parse_rate(&rate, text);
	if (rc == NB_OK && file->is_begun && at_ns <= file->at_ns)
		rc = error_set(NB_ERR_USAGE,
			"'%s' is not later than the time of the previous line", seconds);
	if (rc != NB_OK)
		return rc;
	if (file->is_begun) {
		rc = add_step(file->steps, at_ns - file->since_ns, file->rate, file->rate);
		file->since_ns = at_ns;
	}
	file->at_ns = at_ns;
	file->rate = rate;
	file->is_begun = true;
	return rc;
}

static int
parse_file(struct steps *steps, const char *path)
{
	if (*path == '\0')
		return error_set(NB_ERR_USAGE, "'@' is not followed by the name of a file");
	struct file file = {.steps = steps};
	int rc = lines_read_pairs(path, "SECONDS RATE", take_line, &file);
	if (rc == NB_OK && (rc = add_last(steps, file.rate)) != NB_OK)
		rc = error_prefix(rc, "%s", path);
	return rc;
}

static bool
is_ever_above_0(const struct steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		if (steps->items[i].from_ops_s > 0 || steps->items[i].to_ops_s > 0)
			return true;
	return false;
}

int
nb_rate_parse(struct nb_rate_step **out, size_t *count, const char *text)
{
	struct steps steps = {0};
	int rc = text[0] == '@' ? parse_file(&steps, text + 1) : parse_text(&steps, text);
	if (rc == NB_OK && !is_ever_above_0(&steps))
		rc = error_set(
			NB_ERR_USAGE, "'%s' is always 0: no operation would be due", text);
	if (rc == NB_OK && steps.items[steps.count - 1].duration_ns != UINT64_MAX)
		rc = add_last(&steps, steps.items[steps.count - 1].to_ops_s);
	if (rc != NB_OK) {
		free(steps.items);
		return rc;
	}
	*out = steps.items;
	*count = steps.count;
	return NB_OK;
}
