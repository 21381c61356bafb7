#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Follow the tutorial as a reader does, and compare the results:

    tutorial.py TUTORIAL DIRECTORY

One shell executes the commands of each block 'console' in DIRECTORY, which must be empty. Their
output must match the text below them. Numbers may differ, except the number of broken promises
and exit statuses. '...' stands for any lines.

A definition in a block 'c' replaces the definition with the same name in the plugin's source. A
new one is inserted before the next definition that exists there. An assignment in a block
'meson' replaces the one to the same name in meson.build. At the end, DIRECTORY may contain only
the sources and the build. Prints the first difference, if any, and exits with status 1.
"""
import os
import re
import subprocess
import sys

PLUGIN = 'judy'
PREFIX = subprocess.run(['pkg-config', '--variable=prefix', 'mininb-engine'],
                        check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


class Shell:
    """One shell for all commands, so that cd and export have lasting effect."""

    def __init__(self, directory):
        self.process = subprocess.Popen(['bash'], cwd=directory, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)

    def run(self, command):
        end = 'end of the output'
        self.process.stdin.write(  # keeps $?
            f'{command}\nstatus=$?; printf "\\n{end}\\n"; (exit $status)\n')
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == end + '\n':
                break
            lines.append(line.rstrip('\n'))
        else:
            sys.exit(f'the shell ended at: {command}')
        if lines and lines[-1] == '':
            lines.pop()  # from printf
        return lines


def blocks(text):
    """(line number, language, lines) of each fenced block."""
    lines = text.split('\n')
    start = None
    for number, line in enumerate(lines):
        if start is None and re.match(r'```\w+$', line):
            start = number
        elif line == '```':
            yield start + 2, lines[start][3:], lines[start + 1:number]
            start = None


# ---- console ----

def masked(line):
    if line.isdigit():
        return line  # an exit status
    line = re.sub(r'\d+(\.\d+)?(?![\d.]| broken)', '#', line.strip())
    line = re.sub(r'#([KMG]i)?B\b', '#B', line)
    line = re.sub(r'#[num]?s\b', '#s', line)
    return re.sub(r'\s+', ' ', line)


def is_like(wanted, got):
    if not wanted:
        return not got
    if wanted[0].strip() == '...':
        return any(is_like(wanted[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and masked(wanted[0]) == masked(got[0]) and is_like(wanted[1:], got[1:])


def run_console(shell, number, lines):
    steps = []
    for line in lines:
        if line.startswith('$ '):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    for command, wanted in steps:
        got = shell.run(command)
        wanted = [line.replace('/usr/local', PREFIX) for line in wanted]
        if not is_like(wanted, got):
            sys.exit(f'the block at line {number}: $ {command}\nprints:\n' + '\n'.join(got) +
                     '\nand not:\n' + '\n'.join(wanted))


# ---- C and Meson ----

def definitions(lines):
    """The definitions, separated by empty lines outside braces."""
    part = []
    for line in lines + ['']:
        if line == '' and (not part or re.match(r'\}|#|.*;$', part[-1])) and \
                not (part and part[-1].startswith((' ', '\t'))):
            if part:
                yield part
            part = []
        else:
            part.append(line)
    if part[:-1]:
        yield part[:-1]


def name_of(part):
    """The name that a definition defines, or None."""
    text = '\n'.join(part)
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S).strip()
    for pattern in (r'struct (\w+)\s*\{', r'static const struct \w+ (\w+)(?:\[\])? = \{',
                    r'(?:static )?[\w \*]+\n(\w+)\(', r'enum \{ (\w+)', r'(#include <\w+\.h>)'):
        match = re.match(pattern, text) or re.search(r'(?m)^' + pattern, text)
        if match:
            return match.group(1)
    return None


def apply_c(path, number, lines, new):
    """Replace definitions by name. New ones collect in `new` until the next existing one."""
    with open(path, encoding='ascii') as file:
        source = list(definitions(file.read().split('\n')))
    names = [name_of(part) for part in source]
    for part in definitions(lines):
        name = name_of(part)
        if name is None:
            sys.exit(f'the block at line {number} defines nothing')
        if name not in names:
            new.append(part)
            continue
        at = names.index(name)
        source[at:at + 1] = new + [part]
        names[at:at + 1] = [name_of(other) for other in new] + [name]
        new.clear()
    with open(path, 'w', encoding='ascii') as file:
        file.write('\n\n'.join('\n'.join(part) for part in source) + '\n')


def apply_meson(path, number, lines):
    with open(path, encoding='ascii') as file:
        source = file.read().split('\n')
    for line in lines:
        begin = line.split(' = ')[0] + ' = '
        at = [i for i, other in enumerate(source) if other.startswith(begin)]
        if len(at) != 1:
            sys.exit(f'the block at line {number}: no {begin}in {path}')
        source[at[0]] = line
    with open(path, 'w', encoding='ascii') as file:
        file.write('\n'.join(source))


def main(tutorial, directory):
    shell = Shell(directory)
    with open(tutorial, encoding='utf-8') as file:
        text = file.read()
    done = 0
    new = []
    for number, language, lines in blocks(text):
        if language == 'console':
            run_console(shell, number, lines)
        elif language == 'c':
            apply_c(f'{directory}/{PLUGIN}/{PLUGIN}.c', number, lines, new)
        elif language == 'meson':
            apply_meson(f'{directory}/{PLUGIN}/meson.build', number, lines)
        else:
            sys.exit(f'the block at line {number}: {language} is not known')
        done += 1
    left = set(os.listdir(f'{directory}/{PLUGIN}')) - {
        f'{PLUGIN}.c', 'meson.build', 'README.md', 'build', 'setup.log'}
    if left:
        sys.exit('left among the sources: ' + ' '.join(sorted(left)))
    print(f'{done} blocks of {tutorial} come out as it says')


main(sys.argv[1], sys.argv[2])
