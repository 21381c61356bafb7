#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the public interface with a baseline: check-abi.py INCLUDE LIBRARY BASELINE [CC...]

For each function that LIBRARY exports, the script compiles a pointer of the type that the headers
in INCLUDE declare. abidw (libabigail) prints the types reachable from these pointers: programs and
plugins were compiled with them. BASELINE contains them as text: a line for each function with its
type, and a line for each structure with its size and its members at their offsets.

New functions pass. Any other difference fails. A structure that carries its size may grow at its
end. In that case, make the baseline again with --write before INCLUDE, in the same commit.

Exit status: 0 equal; 1 different; 77 a tool is missing, or the machine is not x86_64.
"""
import difflib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree


def exported(library):
    listing = subprocess.run(['nm', '-D', '--defined-only', library], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    return sorted(re.findall(r' T (nb_[a-z0-9_]*)', listing))


def reachable(include, library, compiler, directory):
    names = exported(library)
    if not names:
        sys.exit(f'{library} exports no function of mininb')
    with open(directory + '/surface.c', 'w') as source:
        source.write('#include <mininb/mininb.h>\n')
        for name in names:
            source.write(f'extern __typeof__(&{name}) surface_{name};\n'
                         f'__typeof__(&{name}) surface_{name};\n')
    subprocess.run(compiler + ['-std=gnu11', '-g', '-O0', '-fPIC', '-shared', '-I', include, '-o',
                               directory + '/surface.so', directory + '/surface.c'], check=True)
    text = subprocess.run(['abidw', '--no-show-locs', directory + '/surface.so'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return ElementTree.fromstring(text)


class Surface:
    """The types, indexed by the ids of abidw."""

    def __init__(self, root):
        self.root = root
        self.types = {element.get('id'): element for element in root.iter() if element.get('id')}

    def name(self, id):
        element = self.types[id]
        kind = element.tag
        if kind == 'pointer-type-def':
            return self.name(element.get('type-id')) + ' *'
        if kind == 'qualified-type-def':
            qualifiers = ' '.join(q for q in ('const', 'volatile', 'restrict')
                                  if element.get(q) == 'yes')
            return self.name(element.get('type-id')) + ' ' + qualifiers
        if kind == 'array-type-def':
            sizes = ''.join('[' + part.get('length') + ']' for part in element)
            return self.name(element.get('type-id')) + sizes
        if kind == 'function-type':
            return self.function(element)
        if kind == 'class-decl':
            return 'struct ' + element.get('name')
        if kind == 'union-decl':
            return 'union {' + '; '.join(self.members(element)) + '}'
        if kind == 'typedef-decl' and element.get('name').startswith('nb_'):
            return self.name(element.get('type-id'))
        return element.get('name')

    def function(self, element):
        parameters = ', '.join('...' if part.get('is-variadic') else self.name(part.get('type-id'))
                               for part in element.iter('parameter'))
        return self.name(element.find('return').get('type-id')) + ' (' + parameters + ')'

    def members(self, element):
        for member in element.findall('data-member'):
            field = member.find('var-decl')
            yield '{} {}: {}'.format(int(member.get('layout-offset-in-bits', 0)) // 8,
                                     field.get('name'), self.name(field.get('type-id')))

    def structure(self, element):
        return 'struct {} {}: {}'.format(element.get('name'), int(element.get('size-in-bits')) // 8,
                                         '; '.join(self.members(element)))

    def lines(self):
        found = set()
        for element in self.root.iter('var-decl'):
            if element.get('name').startswith('surface_'):
                found.add(element.get('name')[len('surface_'):] + ': ' +
                          self.name(element.get('type-id')))
        for element in self.root.iter('class-decl'):
            if element.get('name').startswith('nb_') and element.get('is-declaration-only') != 'yes':
                found.add(self.structure(element))
        return sorted(found)


def differs(baseline, lines):
    known = {line.split(':')[0] for line in baseline}
    kept = [line for line in lines if line.startswith('struct ') or line.split(':')[0] in known]
    split = [[part for line in text for part in line.split('; ')] for text in (baseline, kept)]
    changes = list(difflib.unified_diff(*split, 'baseline', 'interface', n=1, lineterm=''))
    print('\n'.join(changes))
    return bool(changes)


def main(include, library, baseline, *compiler):
    compiler = list(compiler) or ['cc']
    for tool in ('abidw', 'nm', compiler[0]):
        if shutil.which(tool) is None:
            print('skipped: no ' + tool)
            return 77
    if platform.machine() != 'x86_64':
        print('skipped: the baseline is that of x86_64')
        return 77
    with tempfile.TemporaryDirectory() as directory:
        lines = Surface(reachable(include, library, compiler, directory)).lines()
    if is_written:
        with open(baseline, 'w') as file:
            file.write('\n'.join(lines) + '\n')
        return 0
    if differs(open(baseline).read().splitlines(), lines):
        print('The public interface is not what programs and plugins were compiled with. If it has\n'
              'only grown at the end of structures that carry their size:')
        print(f'{sys.argv[0]} --write {include} {library} {baseline}')
        return 1
    return 0


is_written = sys.argv[1:2] == ['--write']
sys.exit(main(*sys.argv[1 + is_written:]))
