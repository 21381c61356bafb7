#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare mininb's histograms with PyPI's hdrhistogram, in both directions.

    test_histogram_oracle.py PATH_OF_histogram_oracle

Exit status 77: the module is missing, see hdr.py.
"""
import subprocess
import sys

from hdr import HOUR_NS, HdrHistogram, check

# Each printed percentile has a whole rank. For others, the two implementations round differently;
# mininb rounds up.
COUNT = 20000


def run(args, given=""):
    done = subprocess.run(args, input=given, stdout=subprocess.PIPE, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def buckets(histogram):
    return {
        histogram.get_value_from_index(i): histogram.get_count_at_index(i)
        for i in range(histogram.counts_len)
        if histogram.get_count_at_index(i) != 0
    }


def check_percentiles(what, lines, theirs, maximum):
    checked = 0
    for name, percent, value in (line for line in lines if line[0] == "p"):
        # hdrhistogram returns the end of the bucket even if it exceeds the maximum.
        expected = min(theirs.get_value_at_percentile(float(percent)), maximum)
        check("%s: p%s" % (what, percent), int(value), expected)
        checked += 1
    if checked < 10:
        sys.exit("%s: percentiles are missing" % what)


def check_seed(program, seed):
    lines = run([program, "make", str(seed), str(COUNT)])
    values = [int(line[0]) for line in lines if len(line) == 1]
    encoded = [line[1] for line in lines if line[0] == "encoded"][0]
    check("number of values", len(values), COUNT)

    theirs = HdrHistogram(1, HOUR_NS, 3)
    for value in values:
        theirs.record_value(value)

    ours = HdrHistogram.decode(encoded)
    check("count that they read", ours.get_total_count(), COUNT)
    check("buckets that they read", buckets(ours), buckets(theirs))
    check_percentiles("counted here", lines, theirs, max(values))
    check_percentiles("read there", lines, ours, max(values))

    lines = run([program, "read"], theirs.encode().decode())
    fields = {line[0]: int(line[1]) for line in lines if len(line) == 2}
    check("count that we read", fields["count"], COUNT)
    check("min", fields["min"], theirs.get_lowest_equivalent_value(min(values)))
    check("max", fields["max"], theirs.get_highest_equivalent_value(max(values)))
    read = {int(line[1]): int(line[2]) for line in lines if line[0] == "bucket"}
    check("buckets that we read", read, buckets(theirs))
    check_percentiles("read here", lines, theirs, fields["max"])


def main():
    for seed in range(3):
        check_seed(sys.argv[1], seed)
    print("3 seeds of %d values: equal in both directions" % COUNT)


main()
