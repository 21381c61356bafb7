/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H
/**
 * Human-readable numbers: three digits and a suffix, independent of the locale.
 * <mininb/mininb.h> has the inverse functions, nb_parse_count() etc. Text that exceeds `size`
 * bytes is cut; UNITS_SIZE is always enough.
 */
#include <stdbool.h>
#include <stddef.h>

enum { UNITS_SIZE = 32 };

/** "0", "12.5", "999", "1k", "1.23M", "500G". Values that are not above 0 give "0". */
void
units_format_count(char *buf, size_t size, double count);

/** "100B", "4KiB", "1.5GiB". */
void
units_format_bytes(char *buf, size_t size, double bytes);

/** "30ns", "1.25us", "250ms", "10s"; from one minute "2m05s", "1h30m". */
void
units_format_ns(char *buf, size_t size, double ns);

/** Format a counter of an engine in its unit "bytes", "ns" or "us"; false for another unit. */
bool
units_format_of(char *buf, size_t size, const char *unit, double value);

/* Variants for arguments of printf(): the text is valid until the end of the block. */

static inline const char *
units_bytes(char buf[UNITS_SIZE], double bytes)
{
	units_format_bytes(buf, UNITS_SIZE, bytes);
	return buf;
}

static inline const char *
units_ns(char buf[UNITS_SIZE], double ns)
{
	units_format_ns(buf, UNITS_SIZE, ns);
	return buf;
}

#define UNITS_BYTES(bytes) units_bytes((char[UNITS_SIZE]){""}, (double)(bytes))
#define UNITS_NS(ns) units_ns((char[UNITS_SIZE]){""}, (double)(ns))

#endif /* BASE_UNITS_H */
