#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files of a page as C: page.py OUTPUT FILE...

Writes the table page_files of page.h. The bytes are written as numbers, because a C compiler need
not accept a string of more than 4095 characters. The script refuses a file that is not plain ASCII,
or that could end the <script>, <style> or comment around it.
"""
import os
import sys

# texts that end the element around a file
ENDS = {'.js': [b'</script', b'<!--'], '.css': [b'</style'], '': [b'--']}


def c_array(data):
    numbers = [str(byte) for byte in data]
    lines = [','.join(numbers[i:i + 24]) for i in range(0, len(numbers), 24)]
    return ',\n\t'.join(lines)


def read(path):
    with open(path, 'rb') as file:
        data = file.read()
    if not data.isascii() or b'\0' in data:
        sys.exit(f'{path}: must be ASCII text')
    for end in ENDS[os.path.splitext(path)[1]]:
        if end in data.lower():
            sys.exit(f'{path}: must not contain {end.decode()}')
    return data


def main(output, paths):
    arrays, rows = [], []
    for i, path in enumerate(paths):
        arrays.append(f'static const char text{i}[] = {{\n\t{c_array(read(path))}}};\n')
        rows.append(f'\t{{"{os.path.basename(path)}", text{i}, sizeof(text{i})}},\n')
    with open(output, 'w', encoding='ascii') as file:
        file.write('/* Made by lib/report/page/page.py. */\n#include "report/page.h"\n\n')
        file.write('\n'.join(arrays))
        file.write('\nconst struct page_file page_files[] = {\n')
        file.write(''.join(rows))
        file.write('\t{NULL, NULL, 0},\n};\n')


main(sys.argv[1], sys.argv[2:])
