# SPDX-License-Identifier: BSD-2-Clause
"""Hostile clients of `mininb serve`: others get correct answers, and memory is bounded."""
import os
import random
import resource
import socket
import struct
import unittest

from server import (BATCH, FIXED, GET, HELLO, PUT, Server, Wire, command, head, receive, record)

CONNECTIONS = 1000
HOSTILE = 100
ROUNDS = 5
MOST_KIB = 256 * 1024  # data, and buffers of 64 MiB (the limits below)


class Good:
    """A client that checks each answer. Every second one uses the compact protocol."""

    def __init__(self, server, number):
        self.key = b'good%06d' % number
        self.is_wire = number % 2 == 0
        self.wire = Wire(server) if self.is_wire else None
        self.sock = self.wire.sock if self.is_wire else server.connect()
        self.values = []

    def ask(self, dice):
        self.values = [dice.randbytes(dice.randrange(1, 500)) for _ in range(8)]
        if self.is_wire:
            data = head(BATCH, count=16, view=self.wire.view) + b''.join(
                record(PUT, self.key, v) + record(GET, self.key) for v in self.values)
        else:
            data = b''.join(command('SET', self.key, v) + command('GET', self.key)
                            for v in self.values)
        self.sock.sendall(data)

    def check(self):
        if self.is_wire:
            heard = self.wire.answers([PUT, GET] * 8)
            wanted = [x for v in self.values for x in (0, (0, v))]
        else:
            wanted = b''.join(b'+OK\r\n$%d\r\n%s\r\n' % (len(v), v) for v in self.values)
            heard = receive(self.sock, len(wanted))
        assert heard == wanted, (self.key, heard, wanted)


def try_send(sock, data):
    sock.setblocking(False)
    try:
        sock.send(data)
    except OSError:
        pass


def mutated(dice, data):
    out = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(out))
        what = dice.randrange(3)
        if what == 0:
            out[at] = dice.randrange(256)
        elif what == 1:
            del out[at:at + dice.randint(1, 9)]
        else:
            out[at:at] = dice.randbytes(dice.randint(1, 9))
        if not out:
            break
    return bytes(out)


class Hostile:
    """Kinds: garbage, half a request, never reads, dies within a request, mutated requests."""

    def __init__(self, server, number, dice):
        self.server, self.kind, self.dice = server, number % 6, dice
        self.sock = None
        self.act()

    def act(self):
        dice = self.dice
        if self.sock is None or self.kind in (0, 3, 4, 5):
            if self.sock is not None:
                if self.kind == 3:  # a reset instead of an end
                    self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                         struct.pack('ii', 1, 0))
                self.sock.close()
            try:
                self.sock = self.server.connect()
            except OSError:
                self.sock = None
                return
        if self.kind == 0:
            try_send(self.sock, dice.randbytes(5000))
        elif self.kind == 1:  # a value that never ends
            try_send(self.sock, b'*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$8000000\r\n' + b'y' * 100000)
        elif self.kind == 2:  # megabytes of answers, and none is read
            try_send(self.sock, command('SET', 'big', b'z' * 100000) +
                     command('GET', 'big') * 2000)
        elif self.kind == 3:
            try_send(self.sock, command('SET', 'x', b'y' * 1000)[:-500])
        elif self.kind == 4:
            try_send(self.sock, mutated(dice, command('SET', 'x', 'y') * 5 +
                                        command('MGET', 'x', 'y') + b'PING\r\n'))
        else:
            try_send(self.sock, mutated(
                dice, head(HELLO, count=1) + head(BATCH, FIXED, 2, 1, 8, 8) +
                bytes([GET]) + b'8' * 8 + bytes([PUT]) + b'8' * 16 +
                head(BATCH, 0, 1, 1) + record(GET, b'k')))


class Hostility(unittest.TestCase):
    def test_other_clients_get_correct_answers(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < 2 * CONNECTIONS:
            resource.setrlimit(resource.RLIMIT_NOFILE,
                               (min(hard, 2 * CONNECTIONS) if hard > 0 else soft, hard))
        dice = random.Random(7)
        with Server('--driver=memory', '--threads=3', '--max-value=8MiB',
                    '--max-buffers=64MiB') as server:
            good = [Good(server, i) for i in range(CONNECTIONS - HOSTILE)]
            bad = [Hostile(server, i, dice) for i in range(HOSTILE)]
            for _ in range(ROUNDS):
                for client in good:
                    client.ask(dice)
                for client in bad:
                    client.act()
                for client in good:
                    client.check()
            rss_kib = server.rss_kib('VmHWM')
            print(f'largest resident set: {rss_kib // 1024} MiB', flush=True)
            is_checked = b'__asan_init' in open(os.environ['MININB'], 'rb').read() or \
                b'__tsan_init' in open(os.environ['MININB'], 'rb').read()
            if not is_checked:
                self.assertLess(rss_kib, MOST_KIB)
            for client in bad:
                if client.sock is not None:
                    client.sock.close()
            for client in good:
                client.ask(dice)
                client.check()
            self.assertEqual(server.stop(), 0, server.errors)

    def test_random_bytes_and_mutated_requests_do_not_end_the_server(self):
        dice = random.Random(8)
        with Server('--driver=memory', '--threads=2', '--max-value=64KiB') as server:
            for i in range(1500):
                client = Hostile(server, (0, 4, 5)[i % 3], dice)
                client.sock.close()
            good = Good(server, 1)
            good.ask(dice)
            good.check()
            self.assertEqual(server.stop(), 0)


if __name__ == '__main__':
    unittest.main()
