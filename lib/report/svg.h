/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H
/**
 * What any drawing of figures needs: where a value is on an axis, which values to name on
 * it, how they are written, and short paths. Nothing here depends on the locale.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** What the numbers on an axis are. */
enum svg_unit {
	SVG_COUNT,      /* "12.5k" */
	SVG_BYTES,      /* "4MiB" */
	SVG_NS,         /* a time: "250us" */
	SVG_SECONDS,    /* since the beginning: "12.5" */
	SVG_PERCENTILE, /* 1 / (1 - share): "99.9%" */
	SVG_UNITS
};

/** As the data of a chart names them: "count", "bytes", "ns", "s", "percentile". */
const char *
svg_unit_name(enum svg_unit unit);

/** low..high, low < high, are at from..to; logarithmic ones are above 0. */
struct svg_scale {
	double low, high;
	double from, to;
	bool is_log;
};

/**
 * A scale that holds low..high, whatever they are: what is equal, not finite, or not above 0
 * on a logarithmic one is made so that it can be drawn.
 */
struct svg_scale
svg_scale(double low, double high, double from, double to, bool is_log);

/** Cut to the scale's ends. */
double
svg_at(const struct svg_scale *scale, double value);

enum { SVG_TICKS = 24 };

/** Round values within the scale, ascending, about `wanted`, which is 2..10. */
size_t
svg_ticks(const struct svg_scale *scale, enum svg_unit unit, size_t wanted,
	double ticks[SVG_TICKS]);

/** As it stands on an axis or in a text; UNITS_SIZE always fits. */
void
svg_format(char *text, size_t size, enum svg_unit unit, double value);

/** With one digit behind the point at most, which is 1/10 of a pixel. */
void
svg_number(FILE *out, double value);

/** A path that is written as it goes: each point by its distance from the one before. */
struct svg_path {
	FILE *out;
	long x, y; /* of the pen, in tenths */
	bool is_down;
};

void
svg_path_begin(struct svg_path *path, FILE *out);

/** The next point goes there without a line. */
void
svg_path_lift(struct svg_path *path);

void
svg_path_to(struct svg_path *path, double x, double y);

#endif /* REPORT_SVG_H */
