# SPDX-License-Identifier: BSD-2-Clause
"""PyPI's hdrhistogram. A test that imports this without the module ends with exit status 77.

In that case, set Meson's -Dhdr_python=, or the variable HDR_PYTHON, to a python that has it
(pip install hdrhistogram, in a venv).
"""
import os
import sys

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
