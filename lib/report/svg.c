/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Axes and paths.
 *
 * Ticks are 1, 2 or 5 times a power of ten of what the unit is told in: of bytes that is the
 * KiB or MiB that the values have, so that 200MiB is a tick and 209.7MB is none. On a
 * logarithmic axis they are powers of ten, thinned out if there are many, and 2 and 5 times
 * those if there are few. The axis of percentiles is HdrHistogram's: 1 / (1 - share), so that
 * 90 %, 99 % and 99.9 % are equally far apart.
 *
 * Paths hold tenths of pixels as integers, each relative to the one before: half as long as
 * absolute ones, and no error adds up.
 */
#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

const char *
svg_unit_name(enum svg_unit unit)
{
	static const char *const names[SVG_UNITS] = {[SVG_COUNT] = "count",
		[SVG_BYTES] = "bytes",
		[SVG_NS] = "ns",
		[SVG_SECONDS] = "s",
		[SVG_PERCENTILE] = "percentile"};
	return names[unit];
}

struct svg_scale
svg_scale(double low, double high, double from, double to, bool is_log)
{
	if (!isfinite(low) || (is_log && low <= 0))
		low = is_log ? 1 : 0;
	if (!isfinite(high) || high < low)
		high = low;
	if (is_log && high < low * 1.001)
		high = low * 10;
	else if (!is_log && high - low <= fabs(high) * 1e-12)
		high = low + (low != 0 ? fabs(low) : 1);
	return (struct svg_scale){low, high, from, to, is_log};
}

double
svg_at(const struct svg_scale *scale, double value)
{
	if (!(value > scale->low))
		return scale->from;
	if (value >= scale->high)
		return scale->to;
	double share = scale->is_log ? log(value / scale->low) / log(scale->high / scale->low)
				     : (value - scale->low) / (scale->high - scale->low);
	return scale->from + share * (scale->to - scale->from);
}

/* ---- ticks ---- */

/** 1, 2 or 5 times a power of ten, at least `step`. */
static double
round_step(double step)
{
	double power = pow(10, floor(log10(step)));
	double digit = step / power;
	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static size_t
linear_ticks(const struct svg_scale *scale, enum svg_unit unit, size_t wanted,
	double ticks[SVG_TICKS])
{
	double factor = 1;
	size_t count = 0;
	for (; unit == SVG_BYTES && factor * 1024 <= scale->high; factor *= 1024)
		;
	double step = round_step((scale->high - scale->low) / factor / (double)wanted) * factor;
	if (unit == SVG_BYTES && step < 1)
		step = 1;
	double first = ceil(scale->low / step - 1e-9);
	for (; count < SVG_TICKS; count++) {
		double tick = (first + (double)count) * step;
		if (tick > scale->high + step * 1e-9)
			break;
		ticks[count] = tick;
	}
	return count;
}

static size_t
log_ticks(const struct svg_scale *scale, size_t wanted, double ticks[SVG_TICKS])
{
	static const double fine[] = {1, 2, 5};
	double decades = log10(scale->high / scale->low);
	int last = (int)ceil(log10(scale->high) - 1e-9);
	int every = (int)ceil(decades / (double)wanted);
	size_t steps = decades * 3 <= (double)wanted ? 3 : 1, count = 0;
	int first = (int)(steps > 1 ? floor(log10(scale->low))
				    : ceil(log10(scale->low) - 1e-9));
	for (int power = first; power <= last; power += every > 1 ? every : 1) {
		for (size_t i = 0; i < steps && count < SVG_TICKS; i++) {
			double tick = fine[i] * pow(10, power);
			if (tick >= scale->low * (1 - 1e-9) && tick <= scale->high * (1 + 1e-9))
				ticks[count++] = tick;
		}
	}
	return count;
}

/** 50 %, then 90 %, 99 %, ... */
static size_t
percentile_ticks(const struct svg_scale *scale, double ticks[SVG_TICKS])
{
	size_t count = 0;
	if (scale->low <= 2 && scale->high >= 2)
		ticks[count++] = 2;
	for (double tick = 10; tick <= scale->high * (1 + 1e-9) && count < SVG_TICKS;
		tick *= 10)
		ticks[count++] = tick;
	return count;
}

size_t
svg_ticks(const struct svg_scale *scale, enum svg_unit unit, size_t wanted,
	double ticks[SVG_TICKS])
{
	if (unit == SVG_PERCENTILE)
		return percentile_ticks(scale, ticks);
	return scale->is_log ? log_ticks(scale, wanted, ticks)
			     : linear_ticks(scale, unit, wanted, ticks);
}

/* ---- numbers ---- */

/** Three digits of what is below 1, else two behind the point; none that is 0 at the end. */
static void
format_plain(char *text, size_t size, double value)
{
	double least = fabs(value);
	int digits = least > 0 && least < 1 ? (int)ceil(-log10(least)) + 2 : 2;
	digits = digits < 2 ? 2 : digits > 9 ? 9 : digits;
	long long unit = llround(pow(10, digits));
	long long number = llround(fmin(least, 1e9) * (double)unit);
	for (; digits > 0 && number % 10 == 0; digits--, number /= 10, unit /= 10)
		;
	const char *sign = value < 0 && number > 0 ? "-" : "";
	if (digits == 0)
		snprintf(text, size, "%s%lld", sign, number);
	else
		snprintf(text, size, "%s%lld.%0*lld", sign, number / unit, digits,
			number % unit);
}

/** "50%", "99%", "99.9%": nines without end, and what is between two of them. */
static void
format_percentile(char *text, size_t size, double value)
{
	double beyond = value >= 1 ? 100 / value : 100;
	int digits = 0;
	for (double rest = beyond; rest < 0.9999 && digits < 9; rest *= 10)
		digits++;
	double factor = pow(10, digits);
	long long number = llround((100 - beyond) * factor);
	long long unit = llround(factor);
	if (digits == 0)
		snprintf(text, size, "%lld%%", number);
	else
		snprintf(text, size, "%lld.%0*lld%%", number / unit, digits, number % unit);
}

/** A count below 1 has no suffix, and must not become 0. */
static void
format_count(char *text, size_t size, double value)
{
	if (value > 0 && value < 1)
		format_plain(text, size, value);
	else
		units_format_count(text, size, value);
}

void
svg_format(char *text, size_t size, enum svg_unit unit, double value)
{
	switch (unit) {
	case SVG_BYTES:
		units_format_bytes(text, size, value);
		break;
	case SVG_NS:
		units_format_ns(text, size, value);
		break;
	case SVG_SECONDS:
		format_plain(text, size, value);
		break;
	case SVG_PERCENTILE:
		format_percentile(text, size, value);
		break;
	default:
		format_count(text, size, value);
	}
}

static void
write_tenths(FILE *out, long tenths)
{
	long size = tenths < 0 ? -tenths : tenths;
	if (tenths < 0)
		fputc('-', out);
	if (size >= 10 || size == 0)
		fprintf(out, "%ld", size / 10);
	if (size % 10 != 0)
		fprintf(out, ".%ld", size % 10);
}

void
svg_number(FILE *out, double value)
{
	write_tenths(out, lround(value * 10));
}

/* ---- paths ---- */

void
svg_path_begin(struct svg_path *path, FILE *out)
{
	*path = (struct svg_path){.out = out};
}

void
svg_path_lift(struct svg_path *path)
{
	path->is_down = false;
}

/** A minus sign parts two numbers by itself. */
void
svg_path_to(struct svg_path *path, double x, double y)
{
	long to_x = lround(x * 10), to_y = lround(y * 10);
	fputc(path->is_down ? 'l' : 'M', path->out);
	write_tenths(path->out, path->is_down ? to_x - path->x : to_x);
	long second = path->is_down ? to_y - path->y : to_y;
	if (second >= 0)
		fputc(' ', path->out);
	write_tenths(path->out, second);
	path->x = to_x;
	path->y = to_y;
	path->is_down = true;
}
