/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses and formats counts, sizes and times.
 *
 * Parsing is exact: "2.5M" is 25 * 10^5 in integers. A double could not represent 2^53 + 1.
 * "1.5" of an indivisible unit is an error and is not rounded. strtoull is not used: it parses
 * "-1" as 2^64 - 1, skips blanks, and accepts 0x10 and 010 in other bases. Only nb_parse_real()
 * needs strtod. It uses the C locale, after a check that the text is a plain decimal number.
 */
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/uint128.h"

/* ---- parsing ---- */

struct suffix {
	const char *text;
	uint64_t factor;
	bool is_alias; /* accepted, but not listed in messages */
};

struct kind {
	const struct suffix *suffixes;
	size_t suffix_count;
	const char *whole_of; /* unit in the message about a fraction */
	bool takes_b;         /* a B may follow */
	bool needs_suffix;
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct suffix count_suffixes[] = {
	{"k", 1000},
	{"K", 1000, .is_alias = true},
	{"M", 1000000},
	{"G", 1000000000},
	{"T", 1000000000000},
	{"Ki", UINT64_C(1) << 10},
	{"Mi", UINT64_C(1) << 20},
	{"Gi", UINT64_C(1) << 30},
	{"Ti", UINT64_C(1) << 40},
};

static const struct suffix time_suffixes[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60000000000},
	{"h", 3600000000000},
};

static const struct kind count_kind = {
	.suffixes = count_suffixes,
	.suffix_count = COUNT_OF(count_suffixes),
	.whole_of = "",
};

static const struct kind bytes_kind = {
	.suffixes = count_suffixes,
	.suffix_count = COUNT_OF(count_suffixes),
	.whole_of = " of bytes",
	.takes_b = true,
};

static const struct kind time_kind = {
	.suffixes = time_suffixes,
	.suffix_count = COUNT_OF(time_suffixes),
	.whole_of = " of ns",
	.needs_suffix = true,
};

/* digits * 10^exponent. */
struct decimal {
	uint128 digits;
	long exponent;
	bool is_cut; /* has more digits than DIGITS_MAX, not all of them 0 */
};

enum {
	DIGITS_MAX = 25,      /* multiplied by an hour in ns, it still fits into 128 bits */
	EXPONENT_MAX = 10000, /* larger than needed; prevents overflow of sums */
	QUOTE_MAX = 60,       /* bytes of the text in messages */
};

NB_PRINTF(2, 3)
static int
refuse(const char *text, const char *fmt, ...)
{
	char why[256];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	const char *more = strlen(text) > QUOTE_MAX ? "..." : "";
	return error_set(NB_ERR_USAGE, "'%.*s%s'%s", QUOTE_MAX, text, more, why);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
starts_number(const char *text)
{
	return is_digit(text[0]) || (text[0] == '.' && is_digit(text[1]));
}

/* Report a text that is not a number. */
static int
refuse_start(const char *text)
{
	if (text[0] == '\0')
		return refuse(text, " is empty");
	if (isspace((unsigned char)text[0]))
		return refuse(text, " begins with a blank");
	return refuse(text, " is not a number");
}

static void
take_digit(struct decimal *decimal, char digit, bool is_fraction)
{
	uint128 ten_to_max_1 = (uint128)1000000000000 * 1000000000000; /* 10^24 */
	if (decimal->digits < ten_to_max_1) {
		decimal->digits = decimal->digits * 10 + (uint64_t)(digit - '0');
		decimal->exponent -= is_fraction;
	} else {
		decimal->is_cut |= digit != '0';
		decimal->exponent += !is_fraction;
	}
}

/* Parse an optional exponent "e6", "E-3"; returns the rest. */
static const char *
scan_exponent(struct decimal *decimal, const char *text)
{
	if (*text != 'e' && *text != 'E')
		return text;
	const char *digit = text + 1;
	bool is_negative = *digit == '-';
	if (*digit == '-' || *digit == '+')
		digit++;
	if (!is_digit(*digit))
		return text;
	long exponent = 0;
	for (; is_digit(*digit); digit++)
		if (exponent < EXPONENT_MAX)
			exponent = exponent * 10 + (*digit - '0');
	decimal->exponent += is_negative ? -exponent : exponent;
	return digit;
}

/* Parse a number accepted by starts_number(); returns the rest. */
static const char *
scan_decimal(struct decimal *decimal, const char *text)
{
	*decimal = (struct decimal){0};
	while (is_digit(*text))
		take_digit(decimal, *text++, false);
	if (text[0] == '.' && is_digit(text[1]))
		for (text++; is_digit(*text);)
			take_digit(decimal, *text++, true);
	return scan_exponent(decimal, text);
}

/* The factor of a suffix; 0 if the suffix does not exist. */
static uint64_t
factor_of(const struct kind *kind, const char *suffix)
{
	size_t length = strlen(suffix);
	if (kind->takes_b && length > 0 && suffix[length - 1] == 'B')
		length--;
	if (length == 0)
		return kind->needs_suffix ? 0 : 1;
	for (size_t i = 0; i < kind->suffix_count; i++) {
		const char *text = kind->suffixes[i].text;
		if (strlen(text) == length && memcmp(text, suffix, length) == 0)
			return kind->suffixes[i].factor;
	}
	return 0;
}

static int
refuse_suffix(const struct kind *kind, const char *text, const char *suffix)
{
	char allowed[64];
	size_t used = 0;
	for (size_t i = 0; i < kind->suffix_count; i++) {
		if (!kind->suffixes[i].is_alias)
			used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, " %s",
				kind->suffixes[i].text);
	}
	if (kind->takes_b)
		snprintf(allowed + used, sizeof(allowed) - used, ", alone or with B");
	if (*suffix == '\0')
		return refuse(text, " has no unit; allowed:%s", allowed);
	return refuse(text, ": '%.20s' is not a %s; allowed:%s", suffix,
		kind->needs_suffix ? "unit" : "suffix", allowed);
}

/* Convert to an integer, or report why that is impossible. */
static int
decimal_to_whole(
	uint64_t *out, struct decimal decimal, const struct kind *kind, const char *text)
{
	uint128 value = decimal.digits;
	bool is_whole = true;
	while (value != 0 && decimal.exponent > 0 && value <= UINT64_MAX) {
		value *= 10;
		decimal.exponent--;
	}
	while (value != 0 && decimal.exponent < 0) {
		is_whole = is_whole && value % 10 == 0;
		value /= 10;
		decimal.exponent++;
	}
	if (value > UINT64_MAX)
		return refuse(text, " is too large");
	if (!is_whole || decimal.is_cut)
		return refuse(text, " is not a whole number%s", kind->whole_of);
	*out = (uint64_t)value;
	return NB_OK;
}

static int
parse(uint64_t *out, const char *text, const struct kind *kind)
{
	if (text[0] == '-' && starts_number(text + 1))
		return refuse(text, " is negative");
	if (!starts_number(text))
		return refuse_start(text);
	struct decimal decimal;
	const char *suffix = scan_decimal(&decimal, text);
	uint64_t factor = factor_of(kind, suffix);
	if (factor == 0)
		return refuse_suffix(kind, text, suffix);
	decimal.digits *= factor;
	return decimal_to_whole(out, decimal, kind, text);
}

int
nb_parse_count(uint64_t *out, const char *text)
{
	return parse(out, text, &count_kind);
}

int
nb_parse_threads(uint64_t *out, const char *text)
{
	cpu_set_t set;
	if (strcmp(text, "all") != 0)
		return nb_parse_count(out, text);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return error_system("threads: sched_getaffinity");
	*out = (uint64_t)CPU_COUNT(&set);
	return NB_OK;
}

int
nb_parse_bytes(uint64_t *out, const char *text)
{
	return parse(out, text, &bytes_kind);
}

int
nb_parse_time(uint64_t *out, const char *text)
{
	return parse(out, text, &time_kind);
}

/** "1790000000.5". */
static bool
read_seconds(uint64_t *ns, const char *text)
{
	uint64_t seconds = 0, part = 0, unit = 1000000000;
	size_t whole = strspn(text, "0123456789"), decimals = 0;
	if (whole == 0 || whole > 10)
		return false;
	for (size_t i = 0; i < whole; i++)
		seconds = seconds * 10 + (uint64_t)(text[i] - '0');
	text += whole;
	if (text[0] == '.') {
		decimals = strspn(text + 1, "0123456789");
		for (size_t i = 1; i <= decimals && i <= 9; i++) {
			unit /= 10;
			part += unit * (uint64_t)(text[i] - '0');
		}
		text += 1 + decimals;
	}
	*ns = seconds * 1000000000 + part;
	return text[0] == '\0' && decimals <= 9;
}

int
nb_parse_moment(uint64_t *out, const char *text)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (rest != NULL && *rest == '\0' && timegm(&tm) > 0) {
		*out = (uint64_t)timegm(&tm) * 1000000000;
		return NB_OK;
	}
	if (read_seconds(out, text))
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"'%s' is not a moment; write seconds since 1970, as date +%%s prints them, or 2026-09-21T14:13:20Z",
		text);
}

static int
strtod_in_c_locale(double *out, const char *text)
{
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (c_locale == (locale_t)0)
		return error_system("the C locale");
	*out = strtod_l(text, NULL, c_locale);
	freelocale(c_locale);
	return NB_OK;
}

int
nb_parse_real(double *out, const char *text)
{
	const char *number = text[0] == '-' ? text + 1 : text;
	if (!starts_number(number))
		return refuse_start(text);
	struct decimal decimal;
	const char *rest = scan_decimal(&decimal, number);
	if (*rest != '\0')
		return refuse(text, ": '%.20s' is not part of a number", rest);
	double value;
	int rc = strtod_in_c_locale(&value, text);
	if (rc != NB_OK)
		return rc;
	if (!isfinite(value))
		return refuse(text, " is too large");
	*out = value;
	return NB_OK;
}

/* ---- formatting ---- */

struct step {
	const char *text;
	double factor;
};

static const struct step count_steps[] = {
	{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
static const struct step bytes_steps[] = {
	{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
static const struct step time_steps[] = {
	{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};

/* Three digits: 1.23, 12.3, 123, 1234; without trailing zeros in a fraction. */
struct rounded {
	uint64_t number;
	unsigned decimals;
};

static struct rounded
round_to_3(double value)
{
	struct rounded rounded = {0};
	rounded.decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	double scale = rounded.decimals == 2 ? 100 : rounded.decimals == 1 ? 10 : 1;
	double limit = 1e18; /* also turns infinity and NaN into a number */
	value = value > 0 ? fmin(value * scale, limit) : 0;
	rounded.number = (uint64_t)llround(value);
	while (rounded.decimals > 0 && rounded.number % 10 == 0) {
		rounded.number /= 10;
		rounded.decimals--;
	}
	return rounded;
}

/* The largest step not above the value, also after rounding. */
static const struct step *
step_of(double value, const struct step *steps, size_t count)
{
	size_t i = 0;
	while (i + 1 < count) {
		struct rounded rounded = round_to_3(value / steps[i].factor);
		if (rounded.decimals > 0 ||
			(double)rounded.number * steps[i].factor < steps[i + 1].factor)
			break;
		i++;
	}
	return &steps[i];
}

/* In integers, because %f of printf takes its decimal point from the locale. */
static void
format_step(char *buf, size_t size, double value, const struct step *step)
{
	struct rounded rounded = round_to_3(value / step->factor);
	uint64_t scale = rounded.decimals == 2 ? 100 : rounded.decimals == 1 ? 10 : 1;
	if (rounded.decimals == 0)
		snprintf(buf, size, "%" PRIu64 "%s", rounded.number, step->text);
	else
		snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64 "%s", rounded.number / scale,
			(int)rounded.decimals, rounded.number % scale, step->text);
}

void
units_format_count(char *buf, size_t size, double count)
{
	format_step(buf, size, count, step_of(count, count_steps, COUNT_OF(count_steps)));
}

void
units_format_bytes(char *buf, size_t size, double bytes)
{
	format_step(buf, size, bytes, step_of(bytes, bytes_steps, COUNT_OF(bytes_steps)));
}

void
units_format_ns(char *buf, size_t size, double ns)
{
	const struct step *step = step_of(ns, time_steps, COUNT_OF(time_steps));
	if (step->factor < 60e9) {
		format_step(buf, size, ns, step);
		return;
	}
	uint64_t seconds = (uint64_t)llround(fmin(ns / 1e9, 1e15));
	uint64_t minutes = seconds / 60;
	if (minutes < 60)
		snprintf(buf, size, "%" PRIu64 "m%02us", minutes, (unsigned)(seconds % 60));
	else
		snprintf(
			buf, size, "%" PRIu64 "h%02um", minutes / 60, (unsigned)(minutes % 60));
}

bool
units_format_of(char *buf, size_t size, const char *unit, double value)
{
	if (strcmp(unit, "bytes") == 0)
		units_format_bytes(buf, size, value);
	else if (strcmp(unit, "ns") == 0)
		units_format_ns(buf, size, value);
	else if (strcmp(unit, "us") == 0)
		units_format_ns(buf, size, value * 1e3);
	else
		return false;
	return true;
}
