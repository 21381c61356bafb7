#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two ranks, or two shards, against one process with two threads, in turns of 0.1 s.

turns.py BUILD mpich|openmpi|shards[-bound] [SECONDS [OPTION...]]   e.g. turns.py build mpich 40

Both sides run all the time, against one `mininb serve` with the engine memory. One side is stopped
with SIGSTOP while the other runs, so changes of the machine's speed affect both. Operations are
counted by the pulses of 20 ms in the result files, without the edges of each turn. The report is
the median of the ratios of neighbouring turns, and its 95 % confidence interval.

The server has CPU 0 and the clients have CPU 1. With -bound each rank, shard or thread has one of
these two CPUs, and the server has both.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TURN, PAUSE = 0.1, 0.003  # seconds
EDGES = 0.025, 0.005  # not counted at the start and the end of a turn
JOB = ['-w', 'ycsb-c', '--records=20000', '--quiet']
MPIRUN = {'mpich': ['mpirun.mpich', '-n', '2', '-bind-to'],
          'openmpi': ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '-n', '2',
                      '--bind-to']}
KINDS = [kind + bound for kind in (*MPIRUN, 'shards') for bound in ('', '-bound')]


def children(pid):
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/children', encoding='ascii') as file:
            yield from map(int, file.read().split())


def send(pids, number):
    """To the processes and their descendants, but not to a launcher, which must answer ranks."""
    for pid in pids:
        with open(f'/proc/{pid}/comm', encoding='ascii') as file:
            if file.read().strip() == 'mininb':
                os.kill(pid, number)
        send(children(pid), number)


def pulses(path):
    """(begin, duration, operations) of each, in seconds of the clock of the day."""
    with open(path, encoding='utf-8') as file:
        measured = json.load(file)['results'][0]['measured']
    for track in measured['series']['pulses']:
        begin, each = (measured['begun_at_ns'] + track['begin_ns']) / 1e9, track['pulse_ns'] / 1e9
        for i, ops in enumerate(track['ops']):
            yield begin + i * each, each, ops


def rate(tracks, turn):
    begin, end = turn[0] + EDGES[0], turn[1] - EDGES[1]
    found = [[it for it in track if it[0] >= begin and it[0] + it[1] <= end] for track in tracks]
    return sum(sum(it[2] for it in track) / max(sum(it[1] for it in track), 1e-9) for track in found)


def take_turns(sides, seconds):
    turns, end = ([], []), time.time() + seconds
    for side in sides:
        send(side, signal.SIGSTOP)
    while time.time() < end:
        for i in (0, 1) if len(turns[0]) % 2 else (1, 0):
            send(sides[i], signal.SIGCONT)
            begin = time.time()
            time.sleep(TURN)
            turns[i].append((begin, time.time()))
            send(sides[i], signal.SIGSTOP)
            time.sleep(PAUSE)
    for side in sides:
        send(side, signal.SIGCONT)
    return turns


def report(ones, twos):
    ratios = sorted(two / one for one, two in zip(ones, twos) if one > 0 and two > 0)
    count = len(ratios)
    if count < 10:
        sys.exit('turns.py: fewer than 10 turns; give more SECONDS')
    margin = 0.98 * count ** 0.5  # of the rank of the median: normal approximation of the binomial
    low, high = ratios[int(count / 2 - margin)], ratios[min(count - 1, int(count / 2 + margin))]
    print(f'{count} turns each: one process {statistics.median(ones):.0f} ops/s, two '
          f'{statistics.median(twos):.0f}; ratio {statistics.median(ratios):.3f}, '
          f'95 % CI {low:.3f} to {high:.3f}')


def start(cpus, words, output):
    return subprocess.Popen(['taskset', '-c', cpus, *words, f'--output={output}'],
                            stdout=subprocess.DEVNULL)


def start_two(kind, run, scratch):
    """The processes, and the names of their results."""
    mpi, _, bound = kind.partition('-')
    run = [*run, '--threads=1']
    if mpi == 'shards':
        return [start(str(k) if bound else '1', [*run, f'--shard={k}/2'], f'{scratch}/two{k}')
                for k in (0, 1)], ['two0', 'two1']
    words = [*MPIRUN[mpi], 'hwthread' if bound else 'none', *run]
    return [start('0,1' if bound else '1', words, f'{scratch}/two')], ['two']


def main(build, kind, seconds='40', *options):
    both = kind.endswith('-bound')
    mininb = os.path.realpath(f'{build}/cli/mininb')
    with tempfile.TemporaryDirectory() as scratch:
        net = ['-d', 'net', '-o', 'persistent=yes', '--durability=none',
               f'--servers=unix:{scratch}/socket']
        server = subprocess.Popen(['taskset', '-c', '0,1' if both else '0', mininb, 'serve', '-d',
                                   'memory', '--quiet', '--allow-reset',
                                   f'--listen=unix:{scratch}/socket'],
                                  stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(f'{scratch}/socket'):
                if server.poll() is not None:
                    sys.exit('turns.py: the server ended')
                time.sleep(0.05)
            subprocess.run([mininb, 'load', *net, *JOB], check=True, stdout=subprocess.DEVNULL)
            run = [mininb, 'run', *net, *JOB, f'--duration={int(seconds) + 5}s', *options]
            pinned = ['--pin'] if both else []
            one = [start('0,1' if both else '1', [*run, '--threads=2', *pinned], f'{scratch}/one')]
            two, names = start_two(kind, run, scratch)
            time.sleep(2)
            turns = take_turns([[it.pid for it in side] for side in (one, two)], int(seconds))
            if any([it.wait() for it in one + two]):
                sys.exit('turns.py: a run failed')
        finally:
            server.terminate()
            server.wait()
        tracks = [[list(pulses(f'{scratch}/{name}')) for name in side] for side in (['one'], names)]
        report(*([rate(track, turn) for turn in side] for track, side in zip(tracks, turns)))


if len(sys.argv) < 3 or sys.argv[2] not in KINDS:
    print(__doc__)
    sys.exit(0 if sys.argv[1:] in (['-h'], ['--help']) else 2)
main(*sys.argv[1:])
