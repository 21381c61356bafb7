#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files as C: template.py OUTPUT TABLE FILE...

Writes TABLE of template.h. The bytes are numbers, because a C compiler may reject a string of
more than 4095 characters. Files must be plain ASCII, which every editor and terminal displays
correctly.
"""
import os
import sys


def c_array(data):
    numbers = [str(byte) for byte in data]
    lines = [','.join(numbers[i:i + 24]) for i in range(0, len(numbers), 24)]
    return ',\n\t'.join(lines)


def main(output, table, paths):
    arrays, rows = [], []
    for i, path in enumerate(paths):
        with open(path, 'rb') as file:
            data = file.read()
        if not data.isascii() or b'\0' in data or not data.endswith(b'\n'):
            sys.exit(f'{path}: must be ASCII text that ends with a new line')
        arrays.append(f'static const char text{i}[] = {{\n\t{c_array(data)}}};\n')
        rows.append(f'\t{{"{os.path.basename(path)}", text{i}, sizeof(text{i})}},\n')
    with open(output, 'w', encoding='ascii') as file:
        file.write('/* Made by cli/template.py. */\n#include "template.h"\n\n')
        file.write('\n'.join(arrays))
        file.write(f'\nconst struct template_file {table}[] = {{\n')
        file.write(''.join(rows))
        file.write('\t{NULL, NULL, 0},\n};\n')


main(sys.argv[1], sys.argv[2], sys.argv[3:])
