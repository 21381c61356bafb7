/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H
/**
 * Numbers as people read them: three digits and a suffix. The other direction
 * is nb_parse_count() and its kin in <mininb/mininb.h>. Neither depends on the
 * locale. What does not fit into `size` bytes is cut; UNITS_SIZE always fits.
 */
#include <stddef.h>

enum { UNITS_SIZE = 32 };

/** "0", "12.5", "999", "1k", "1.23M", "500G". What is not above 0 is "0". */
void
units_format_count(char *buf, size_t size, double count);

/** "100B", "4KiB", "1.5GiB". */
void
units_format_bytes(char *buf, size_t size, double bytes);

/** "30ns", "1.25us", "250ms", "10s"; from a minute on "2m05s", "1h30m". */
void
units_format_ns(char *buf, size_t size, double ns);

#endif /* BASE_UNITS_H */
