#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What we write in HdrHistogram's forms, read by PyPI's hdrhistogram.

    test_hdr_writers.py PATH_OF_hdr_writers

Skipped (77) where that module is missing: give Meson -Dhdr_python=, or set
HDR_PYTHON, to a python that has it (pip install hdrhistogram, in a venv).
"""
import os
import re
import subprocess
import sys
import tempfile

try:
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader
except ImportError:
    other = os.environ.pop("HDR_PYTHON", None)
    if other:
        os.execv(other, [other] + sys.argv)
    print("skipped: %s has no module hdrhistogram" % sys.executable)
    sys.exit(77)

HOUR_NS = 3600 * 10**9


def check(what, ours, theirs):
    if ours != theirs:
        sys.exit("%s: ours %s, hdrhistogram's %s" % (what, ours, theirs))


def read_log(path):
    """Of each tag: all its intervals together; and the times of all lines."""
    reader = HistogramLogReader(path, HdrHistogram(1, HOUR_NS, 3))
    tags, spans = {}, []
    while True:
        interval = reader.get_next_interval_histogram()
        if interval is None:
            break
        spans.append((interval.get_start_time_stamp() / 1000, interval.get_end_time_stamp() / 1000))
        tags.setdefault(interval.get_tag(), HdrHistogram(1, HOUR_NS, 3)).add(interval)
    reader.close()
    return tags, spans, reader.get_start_time_sec()


def check_over_time(path, lines):
    tags, spans, start = read_log(path)
    check("start", 1767323045.0, start)  # 2026-01-02T03:04:05Z
    check("first line", start, min(begin for begin, _ in spans))
    check("last line", start + 30, max(end for _, end in spans))
    checked = set()
    for line in lines:
        _, title, kind, response, count, p50, p99, most = line.split()
        tag = "%s/%s/%s" % (title, kind, "response" if response == "1" else "service")
        theirs = tags[tag]
        check(tag + ": count", int(count), theirs.get_total_count())
        check(tag + ": p50", int(p50), theirs.get_value_at_percentile(50))
        check(tag + ": p99", int(p99), theirs.get_value_at_percentile(99))
        check(tag + ": max", int(most), theirs.get_max_value())
        checked.add(tag)
    check("tags over time", checked, {tag for tag in tags if not tag.endswith("/lateness")})
    check("number of tags", 7, len(checked))
    return len(spans)


def tables(path):
    title, points, footer = None, [], {}
    for line in open(path, encoding="utf-8"):
        if line.startswith("# "):
            if title:
                yield title, points, footer
            title, points, footer = line[2:].strip(), [], {}
        elif line.startswith("#["):
            footer.update(re.findall(r"(Mean|StdDeviation|Max|Total count|(?<!Sub)Buckets) *= *([\d.]+)", line))
        elif re.match(r" *[\d.]+ ", line):
            points.append([float(word) for word in line.split()])
    yield title, points, footer


def cumulated(histogram):
    """(upper end of a bucket in ns, values up to there), ascending."""
    seen, out = 0, []
    for item in histogram.get_recorded_iterator():
        seen += item.count_at_value_iterated_to
        out.append((item.value_iterated_to, seen))
    return out


def check_table(title, points, footer, theirs):
    total, most = theirs.get_total_count(), float(footer["Max"])
    steps = cumulated(theirs)
    check(title + ": first levels", [0, .1, .2, .3, .4, .5, .55, .6, .65, .7, .75, .775],
          [round(point[1], 12) for point in points[:12]])
    for point in points:
        value, level, count = point[:3]
        at = next(i for i, step in enumerate(steps) if step[1] >= level * total - 1e-6)
        check("%s: count at %s" % (title, level), count, steps[at][1])
        if abs(value - min(steps[at][0] / 1000, most)) > 0.0005:
            check("%s: value at %s" % (title, level), value, steps[at][0] / 1000)
        # the level stands there with 12 digits only
        if level < 1 and abs(point[3] * (1 - level) - 1) > 0.005:
            check("%s: distance at %s" % (title, level), point[3], 1 / (1 - level))
    check(title + ": last", [1.0, total], points[-1][1:])
    check(title + ": total", int(footer["Total count"]), total)
    check(title + ": buckets", int(footer["Buckets"]), theirs.bucket_count)
    for name, other in (("Mean", theirs.get_mean_value()), ("StdDeviation", theirs.get_stddev())):
        if abs(float(footer[name]) - other / 1000) > 0.001 * other / 1000:
            check("%s: %s" % (title, name), footer[name], other / 1000)


def tag_of(title):
    """The tag in the log that has the same histogram as a table of that title."""
    head, series = title.rsplit(": ", 1)
    words = head.split(", ")
    if words[1] == "put" and len(words) == 4:
        words.pop(2)  # the group of a classic action has no name in a tag
    return "/".join([words[0]] + words[2:] + [series.split()[0]])


def main():
    with tempfile.TemporaryDirectory() as directory:
        lines = subprocess.run([sys.argv[1], directory], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.splitlines()
        lines = [line for line in lines if line.startswith("over-time ")]
        intervals = check_over_time(os.path.join(directory, "over-time.hlog"), lines)
        tags, _, _ = read_log(os.path.join(directory, "whole.hlog"))
        checked = 0
        for title, points, footer in tables(os.path.join(directory, "whole.hgrm")):
            if ", all: " in title:
                continue
            check_table(title, points, footer, tags.pop(tag_of(title)))
            checked += 1
        check("tags without a table", [], list(tags))
        check("tables", 10, checked)
    print("%d intervals and %d distributions: equal" % (intervals, checked))


main()
