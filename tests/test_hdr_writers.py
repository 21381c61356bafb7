#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mininb's output in HdrHistogram's formats, read by PyPI's hdrhistogram.

    test_hdr_writers.py MININB STORED_RESULTS

Exit status 77: the module is missing, see hdr.py.
"""
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

from hdr import HOUR_NS, HdrHistogram, HistogramLogReader, check


def read_log(path):
    """The sum of the intervals of each tag, the times of all lines, and the start time."""
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


def begun(result):
    return datetime.datetime.fromisoformat(result["environment"]["begun"]).timestamp()


def check_over_time(path, results):
    """The sum of the intervals of a tag must be the histogram of the result file."""
    tags, spans, start = read_log(path)
    check("start", begun(results[0]), start)
    checked = set()
    for result in results:
        for sample in result["measured"]["series"]["samples"]:
            end, counts = begun(result) + sample["end_ns"] / 1e9, any(it["count"] for it in sample["latencies"])
            check("a line ends at %s" % end, counts, any(abs(end - it) < 0.002 for _, it in spans))
        for operation in (it for group in result["groups"] for it in group["operations"]):
            for series in ("service", "response"):
                tag = "%s_%s/%s/%s" % (result["driver"], result["action"], operation["operation"], series)
                whole = operation[series]
                if not whole or not whole["count"]:
                    continue
                theirs = tags[tag]
                check(tag + ": count", whole["count"], theirs.get_total_count())
                for percent in (50, 99):
                    if "p%d_ns" % percent in whole:
                        check("%s: p%d" % (tag, percent), whole["p%d_ns" % percent],
                              theirs.get_value_at_percentile(percent))
                checked.add(tag)
    check("tags over time", checked, {tag for tag in tags if not tag.endswith("/lateness")})
    check("number of tags", 5, len(checked))
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
    """Pairs (upper end of a bucket in ns, number of values up to it), ascending."""
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
        # the table prints only 12 digits of the level
        if level < 1 and abs(point[3] * (1 - level) - 1) > 0.005:
            check("%s: distance at %s" % (title, level), point[3], 1 / (1 - level))
    check(title + ": last", [1.0, total], points[-1][1:])
    check(title + ": total", int(footer["Total count"]), total)
    check(title + ": buckets", int(footer["Buckets"]), theirs.bucket_count)
    for name, other in (("Mean", theirs.get_mean_value()), ("StdDeviation", theirs.get_stddev())):
        if abs(float(footer[name]) - other / 1000) > 0.001 * other / 1000:
            check("%s: %s" % (title, name), footer[name], other / 1000)


def tag_of(title):
    """The tag of the log whose histogram is that of the table with this title."""
    head, series = title.rsplit(": ", 1)
    words = head.split(", ")
    if words[1] == "put" and len(words) == 4:
        words.pop(2)  # tags omit the group of a classic action
    return "/".join([words[0].replace(" ", "_")] + words[2:] + [series.split()[0]])


def write(directory, results, name):
    """Write the results in the format of the name's suffix."""
    path, form = os.path.join(directory, name), name.split(".")[1]
    with open(path + ".json", "w", encoding="utf-8") as file:
        json.dump(results, file)
    with open(path, "w", encoding="utf-8") as file:
        subprocess.run([sys.argv[1], "report", "--format=" + form, path + ".json"], stdout=file, check=True)
    return path


def main():
    both = []
    for name in ("put", "rate"):
        with open(os.path.join(sys.argv[2], name + ".json"), encoding="utf-8") as file:
            both.append(json.load(file))
    stored, results = both[0], [both[0]["results"][0], both[1]["results"][0]]
    stored["results"] = results
    with tempfile.TemporaryDirectory() as directory:
        intervals = check_over_time(write(directory, stored, "over-time.hlog"), results)
        for result in results:
            result["measured"]["series"] = None
        tags, _, _ = read_log(write(directory, stored, "whole.hlog"))
        checked = 0
        for title, points, footer in tables(write(directory, stored, "whole.hgrm")):
            if ", all: " in title:
                continue
            check_table(title, points, footer, tags.pop(tag_of(title)))
            checked += 1
        check("tags without a table", [], list(tags))
        check("tables", 8, checked)
    print("%d intervals and %d distributions: equal" % (intervals, checked))


main()
