# SPDX-License-Identifier: BSD-2-Clause
"""The load of the workload 220w, written as a trace, equals the file of its project.

    test_trace_of_job.py PATH_OF_trace_of_job PRESET

The file is 220w-rw-50-50-load.txt of the repository that the preset names. Its id is that of git:
the SHA-1 of "blob ", the size in decimal, a zero byte, and the bytes.
"""

import hashlib
import os
import subprocess
import sys
import tempfile

SIZE = 59135012  # with the last newline
BLOB = "c6e464bfb1cd64593b6a6cff652630419f4ccfe2"
LINES = 2200000


def main():
    program, preset = sys.argv[1:]
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "trace")
        subprocess.run([program, preset, path], check=True)
        with open(path, "rb") as file:
            data = file.read()
    assert len(data) == SIZE, len(data)
    assert data.count(b"\n") == LINES, data.count(b"\n")
    assert data.startswith(b"INSERT ") and data.endswith(b"\n")
    found = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    assert found == BLOB, found


main()
