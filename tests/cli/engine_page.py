# SPDX-License-Identifier: BSD-2-Clause
"""Compare engine.h with its manual page: engine_page.py HEADER PAGE

Prints each structure field and each NB_ name that the page lacks, one per line.
"""
import re
import sys

# The header's own, not an author's.
INTERNAL = {'NB_HAS_SANITIZER', 'NB_OPTION_ROW'}


def names_of(header):
    code = re.sub(r'/\*.*?\*/', '', header, flags=re.DOTALL)
    names = set(re.findall(r'\bNB_[A-Z0-9_]+', code)) - INTERNAL
    for body in re.findall(r'^struct \w+ \{\n(.*?)^\};', code, re.DOTALL | re.MULTILINE):
        for declaration in re.sub(r'union \{|\}', '', body).split(';'):
            verb = re.search(r'\(\*(\w+)\)\(', declaration)
            if verb:
                names.add(verb.group(1))
            elif declaration.strip():
                # "const void *data", "struct nb_slice key, value"
                names.update(part.split()[-1].lstrip('*') for part in declaration.split(','))
    return names


def main(header_path, page_path):
    with open(header_path, encoding='utf-8') as file:
        names = names_of(file.read())
    with open(page_path, encoding='utf-8') as file:
        page = file.read()
    if len(names) < 120 or not {'auto_durability_at', 'is_set', 'u64', 'value'} <= names:
        sys.exit(f'{header_path}: only {len(names)} names were found in it')
    for name in sorted(names):
        # between the underlines of the markup, too
        if not re.search(rf'(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])', page):
            print(name)


main(*sys.argv[1:])
