# SPDX-License-Identifier: BSD-2-Clause
"""Conversations in the compact protocol with `mininb serve`, and the driver net."""
import os
import random
import re
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

from server import (HELLO_BODY, BATCH, BROKEN, CHECKPOINT, DEL, DONE, EXECUTE, FAILED, FIXED,
                    FOLLOWS, GET, HELLO, INSERT, LATE, MAY_BE_LATE, MERGE, PUT, RESET, SETTLE,
                    SCAN, SCAN_AFTER, SCAN_BACKWARD, SCAN_KEYS_ONLY, STATS, VIEW, Server, Wire, command, has_engine, head, receive, receive_all,
                    record)

MININB = os.environ['MININB']


def number(n):
    return struct.pack('<Q', n)


def steps(*items, flags=0):
    out = struct.pack('<BII', EXECUTE, flags, len(items))
    for verb, key, value, operand in items:
        out += struct.pack('<BIQII', verb, 0, operand, len(key), len(value)) + key + value
    return out


class Protocol(unittest.TestCase):
    def test_requests_are_answered_in_their_order(self):
        with Server('--driver=memory') as server:
            wire = Wire(server)
            self.assertEqual(wire.hello[7].rstrip(b'\0'), b'memory')
            heard = wire.ask(
                (GET, b'a'), (PUT, b'a', b'1'), (GET, b'a'), (PUT, b'a', b'22'), (GET, b'a'),
                (INSERT, b'a', b'3'), (INSERT, b'b', b''), (GET, b'b'), (DEL, b'a'), (DEL, b'a'),
                (MERGE, b'n', b'', 5), (MERGE, b'n', b'', 2**64 - 1), (GET, b'n'))
            self.assertEqual(heard, [1, 0, (0, b'1'), 0, (0, b'22'), 3, 0, (0, b''), 0, 1, 0, 0,
                                     (0, number(4))])

    def test_each_split_of_a_batch_has_the_same_answers(self):
        dice = random.Random(3)
        said = [(dice.choice((GET, PUT, DEL, INSERT)), bytes([97 + dice.randrange(8)]),
                 dice.randbytes(dice.randrange(40))) for _ in range(600)]
        said = [(v, k, value if v in (PUT, INSERT) else b'') for v, k, value in said]
        model, wanted = {}, []
        for verb, key, value in said:
            if verb == GET:
                wanted.append((0, model[key]) if key in model else 1)
            elif verb == DEL:
                wanted.append(0 if model.pop(key, None) is not None else 1)
            elif verb == INSERT and key in model:
                wanted.append(3)
            else:
                model[key] = value
                wanted.append(0)
        for most in (1, 9, 300, 100000):
            with Server('--driver=memory', listen='unix:{dir}/s') as server:
                wire = Wire(server)
                data, at = b'', 0
                while at < len(said):
                    some = said[at:at + dice.randint(1, 100)]
                    data += head(BATCH, count=len(some), view=wire.view)
                    data += b''.join(record(*r) for r in some)
                    at += len(some)
                heard = []
                reader = threading.Thread(
                    target=lambda: heard.extend(wire.answers([r[0] for r in said])))
                reader.start()  # otherwise the server would stop reading
                while data:
                    size = dice.randint(1, most)
                    wire.sock.sendall(data[:size])
                    data = data[size:]
                reader.join()
                self.assertEqual(heard, wanted, most)

    def test_fixed_sizes_take_17_bytes(self):
        with Server('--driver=memory') as server:
            wire = Wire(server)
            count = 1000
            puts = b''.join(bytes([PUT]) + number(i) + number(i * i) for i in range(count))
            gets = b''.join(bytes([GET]) + number(i) for i in range(count + 1))
            self.assertEqual(len(puts), 17 * count)
            wire.sock.sendall(
                head(BATCH, FIXED, count, wire.view, 8, 8) + puts +
                head(BATCH, FIXED, count + 1, wire.view, 8, 8) + gets)
            self.assertEqual(wire.answers([PUT] * count), [0] * count)
            self.assertEqual(wire.answers([GET] * (count + 1)),
                             [(0, number(i * i)) for i in range(count)] + [1])

    def test_a_batch_with_a_wrong_view_is_rejected_as_a_whole(self):
        with Server('--driver=memory') as server:
            wire = Wire(server)
            wire.sock.sendall(
                head(BATCH, count=2, view=wire.view + 1) + record(PUT, b'a', b'1') +
                record(GET, b'a') + head(BATCH, count=1, view=wire.view) + record(GET, b'a'))
            frame = wire.head()
            self.assertEqual((frame['flags'], frame['count'], frame['view']),
                             (VIEW, 2, wire.view))
            self.assertEqual(wire.answers([GET]), [1])

    def test_an_execute_answers_each_step(self):
        with Server('--driver=memory') as server:
            wire = Wire(server)
            wire.sock.sendall(head(BATCH, count=1, view=wire.view) + steps(
                (1, b'a', b'x', 0), (0, b'a', b'', 0), (0, b'b', b'', 0), (4, b'n', b'', 7)))
            self.assertEqual(wire.head()['count'], 1)
            self.assertEqual(receive(wire.sock, 1 + 1 + 1 + 4 + 1 + 1 + 1),
                             b'\0' + b'\0' + b'\0' + b'\1\0\0\0x' + b'\1' + b'\0')

    def test_frames_for_the_database(self):
        with Server('--driver=memory', '--threads=2', '--allow-reset') as server:
            wire, other = Wire(server), Wire(server)
            wire.ask((PUT, b'a', b'1'))
            for kind, wanted in ((STATS, b'records\trecords\t1\t1\n'), (SETTLE, b'')):
                wire.sock.sendall(head(kind))
                frame = wire.head()
                self.assertEqual((frame['kind'], frame['flags']), (kind, DONE))
                self.assertIn(wanted, receive(wire.sock, frame['count']))
            wire.sock.sendall(head(CHECKPOINT))
            frame = wire.head()
            self.assertEqual(frame['flags'], FAILED)
            receive(wire.sock, frame['count'])
            wire.sock.sendall(head(RESET))
            frame = wire.head()
            self.assertEqual((frame['flags'], frame['view']), (DONE, wire.view + 1))
            # the other connection still has the old view
            other.sock.sendall(head(BATCH, count=1, view=other.view) + record(GET, b'a'))
            self.assertEqual(other.head()['flags'], VIEW)
            other.view += 1
            self.assertEqual(other.ask((GET, b'a')), [1])

    def test_garbage_ends_its_connection_with_a_message(self):
        with Server('--driver=memory') as server:
            for garbage in (head(BATCH, count=1), head(9), head(HELLO, count=99),
                            b'\xb5' + b'x' * 100):
                sock = server.connect()
                sock.sendall(garbage)
                self.assertEqual(receive(sock, 4)[2], BROKEN)
                receive_all(sock)
            for garbage in (head(77), b'x' * 24, head(BATCH, FIXED, 1, 1, 2**31, 8),
                            head(BATCH, 0, 1, 1) + struct.pack('<BI', GET, 0),
                            head(BATCH, 0, 1, 1) + struct.pack('<BII', PUT, 1, 2**31),
                            head(BATCH, 0, 1, 1) + struct.pack('<BII', EXECUTE, 0, 2**31)):
                wire = Wire(server)
                wire.sock.sendall(garbage)
                self.assertEqual(receive(wire.sock, 4)[2], BROKEN)
                receive_all(wire.sock)
            server.stop()
            self.assertIn('dropped 10', server.report)

    def test_a_scan_continues_after_the_last_key(self):
        data = [(b'%05d' % i, b'v' * (i % 90)) for i in range(3000)]
        with Server('--driver=memory') as server, Server('--driver=null') as unordered:
            wire = Wire(server)
            self.assertEqual(wire.scan(0, b'', 10), ([], True))
            for first in range(0, len(data), 500):
                wire.ask(*((PUT, k, v) for k, v in data[first:first + 500]))
            for flags in (0, SCAN_BACKWARD, SCAN_KEYS_ONLY):
                wanted = data[::-1] if flags == SCAN_BACKWARD else data
                if flags == SCAN_KEYS_ONLY:
                    wanted = [(k, b'') for k, v in data]
                heard, is_last = wire.scan(flags, b'', 7)
                while not is_last:
                    more, is_last = wire.scan(flags | SCAN_AFTER, heard[-1][0], 999)
                    heard += more
                self.assertEqual(heard, wanted)
            self.assertEqual(wire.scan(0, b'00100', 2), (data[100:102], False))
            self.assertEqual(wire.scan(SCAN_AFTER, b'001', 2), (data[100:102], False))
            # an answer has about 64 KiB, however many records were requested
            many, is_last = wire.scan(0, b'', 1 << 20)
            self.assertFalse(is_last)
            self.assertEqual(many, data[:len(many)])
            # an answer in pieces waits for the requests before it
            batch = head(BATCH, 0, 1, wire.view) + record(PUT, b'0', b'first')
            scan = head(SCAN, 0, 1, wire.view, 1) + b'0'
            wire.sock.sendall(batch + scan[:-1])
            self.assertEqual(wire.answers([PUT]), [0])
            wire.sock.sendall(scan[-1:])
            self.assertEqual(receive(wire.sock, wire.head()['count'])[8:], b'0first')
            wire.sock.sendall(head(SCAN, 0, 1, wire.view, 1 << 30))
            self.assertEqual(wire.head()['flags'], BROKEN)
            wire = Wire(unordered)
            wire.sock.sendall(head(SCAN, 0, 1, wire.view))
            frame = wire.head()
            self.assertEqual(frame['flags'], FAILED)
            self.assertEqual(receive(wire.sock, frame['count']), b'the engine has no ordered scan')
            at = ['-d', 'net', '-o', 'scan=yes', '--path', server.path + '/c', '--records=10',
                  '--scan=100', '--count=10']
            done = mininb('run', *at, '--servers=' + unordered.address, status=1)
            self.assertIn('null has no ordered scan; leave -o scan=yes out', done.stderr)
            done = mininb('run', *at, f'--servers={server.address},{unordered.address}', status=1)
            self.assertIn('net scans one server only', done.stderr)



class Async(unittest.TestCase):
    def test_a_waiting_request_does_not_delay_other_connections(self):
        # The request waits for an hour, so the other answers did not wait for it.
        with Server('--driver=null', '--async', '-o', 'delay=1h') as server:
            try:
                self.delay_nobody(server)
            finally:
                server.process.kill()  # after SIGTERM it would wait for the request
                server.process.communicate()
                server.report, server.process.returncode = '', 0

    def delay_nobody(self, server):
        waiting = server.connect()
        waiting.sendall(command('GET', 'a') + command('PING'))
        late = Wire(server)
        late.sock.sendall(head(BATCH, MAY_BE_LATE, 2, late.view) + record(GET, b'a') +
                          record(PUT, b'b', b'1'))
        self.assertEqual(late.answers([GET, PUT]), [LATE, LATE])
        # the connection itself also continues
        late.sock.sendall(head(BATCH, MAY_BE_LATE, 1, late.view) + record(GET, b'a'))
        self.assertEqual(late.answers([GET]), [LATE])
        other = server.connect()
        other.sendall(command('PING'))
        self.assertEqual(receive(other, 7), b'+PONG\r\n')
        waiting.setblocking(False)
        self.assertRaises(BlockingIOError, waiting.recv, 1)
        late.sock.close()
        other.sendall(command('PING'))
        self.assertEqual(receive(other, 7), b'+PONG\r\n')

    def test_answers_of_redis_clients_keep_their_order(self):
        for words in (['--driver=memory'], ['--driver=null', '-o', 'delay=2ms', '-o', 'reorder=7'],
                      ['--driver=memory', '--threads=3']):
            with Server('--async', *words) as server:
                is_null = words[0] == '--driver=null'
                socks = [server.connect() for _ in range(4)]
                said, wanted = b'', b''
                for i in range(200):
                    value = b'' if is_null else b'%d' % i
                    bulk = b'$%d\r\n%s\r\n' % (len(value), value)
                    for words in (('SET', 'k', i), ('GET', 'k'), ('PING',), ('GET', 'k'),
                                  ('SET', 'k', i, 'ZZ'), ('GET', 'k'), ('EXISTS', 'k'),
                                  ('MGET', 'k', 'k'), ('SET', 'k', i, 'XX')):
                        said += command(*words)
                    wanted += (b'+OK\r\n' + bulk + b'+PONG\r\n' + bulk +
                               b'-ERR syntax error: SET takes NX and XX only\r\n' + bulk +
                               b':1\r\n*2\r\n' + bulk + bulk + b'+OK\r\n')
                # each connection has its own keys, because it expects the values that it has
                # written
                for i, sock in enumerate(socks):
                    sock.sendall(said.replace(b'$1\r\nk\r\n', b'$1\r\n%d\r\n' % i))
                for sock in socks:
                    self.assertEqual(receive(sock, len(wanted)), wanted)

    def test_late_answers_carry_the_numbers_of_their_requests(self):
        for words, waits in (([], False), (['-o', 'delay=3ms'], True),
                             (['-o', 'delay=1ms', '-o', 'reorder=63'], True)):
            with Server('--driver=null', '--async', *words) as server:
                wires = [Wire(server) for _ in range(3)]
                verbs = [GET, PUT, DEL, INSERT, MERGE] * 500
                for wire in wires:
                    wire.sock.sendall(
                        head(BATCH, MAY_BE_LATE, len(verbs), wire.view) +
                        b''.join(record(v, b'k', b'v' if v in (PUT, INSERT) else b'')
                                 for v in verbs))
                for wire in wires:
                    heard, late = wire.late_answers(verbs)
                    self.assertEqual(heard, [(0, b'') if v == GET else 0 for v in verbs])
                    self.assertEqual(late > 0, waits)

    def test_requests_in_flight_at_the_end_are_answered(self):
        with Server('--driver=null', '--async', '--threads=2', '-o', 'delay=300ms') as server:
            wire, redis = Wire(server), server.connect()
            gone = Wire(server)
            for each in (wire, gone):
                each.sock.sendall(head(BATCH, MAY_BE_LATE, 1, wire.view) + record(GET, b'a'))
                self.assertEqual(each.answers([GET]), [LATE])
            gone.sock.close()
            redis.sendall(command('PING') + command('GET', 'a'))
            self.assertEqual(receive(redis, 7), b'+PONG\r\n')  # the server has read the GET, too
            wire.sock.sendall(head(SETTLE))
            frames = [wire.head()]
            if frames[0]['kind'] == BATCH:
                self.assertEqual(receive(wire.sock, 5), b'\0\0\0\0\0')
            frames.append(wire.head())
            if frames[0]['kind'] == SETTLE:
                self.assertEqual(receive(wire.sock, 5), b'\0\0\0\0\0')
            self.assertEqual(sorted((f['kind'], f['flags']) for f in frames),
                             [(BATCH, FOLLOWS), (SETTLE, DONE)])
            self.assertEqual(receive(redis, 6), b'$0\r\n\r\n')
            redis.sendall(command('PING') + command('GET', 'a'))
            self.assertEqual(receive(redis, 7), b'+PONG\r\n')
            server.stop()
            self.assertEqual(receive_all(redis), b'$0\r\n\r\n')

    def test_an_engine_without_submit_is_rejected(self):
        with tempfile.TemporaryDirectory() as path:
            done = mininb('serve', '--driver=lmdb', '--async', '--path', path, status=1)
            self.assertIn('async: lmdb cannot keep requests in flight', done.stderr)


def mininb(*words, status=0):
    done = subprocess.run([MININB, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done


class Net(unittest.TestCase):
    def test_net_keeps_the_promises_of_the_plugin_interface(self):
        engines = [(['--driver=memory', '--threads=2'], ['--seed=1', '-o', 'scan=yes'])]
        if has_engine('lmdb'):
            # only the inserts, because the disk may be slow
            engines.append((['--driver=lmdb', '--durability=process', '-o', 'map_size=64MiB'],
                            ['--only=insert']))
        for words, only in engines:
            with Server(*words, '--allow-reset', listen='unix:{dir}/s') as server:
                done = mininb('check', '-d', 'net', '--servers=' + server.address, '--path',
                              server.path, *only)
                self.assertIn(' 0 broken', done.stdout)

    def test_a_run_with_requests_in_flight_on_two_servers_verifies_its_data(self):
        with Server('--driver=memory', '--allow-reset') as one, \
                Server('--driver=memory', '--threads=2', '--allow-reset') as other:
            for words in (['--depth=200', '--batch-bytes=4KiB'], ['--depth=1'],
                          ['--depth=64', '--set', 'value-size=uniform:0..300']):
                mininb('run', '-d', 'net', f'--servers={one.address},{other.address}', '--path',
                       one.path + '/c', '--records=2000', '--count=20000', '--read=60',
                       '--update=30', '--insert=5', '--delete=5', '--threads=2',
                       '--verify-rate=1', *words)

    def test_each_of_two_servers_gets_half_of_the_requests(self):
        with Server('--driver=memory', '--allow-reset', listen='unix:{dir}/s') as one, \
                Server('--driver=memory', '--allow-reset', listen='unix:{dir}/s') as other:
            mininb('run', '-d', 'net', f'--servers={one.address},{other.address}', '--path',
                   one.path + '/c', '--seed=1', '--records=20000', '--count=100000', '--read=50',
                   '--update=50', '--distribution=uniform', '--depth=200', '--batch-bytes=1KiB',
                   '--verify-rate=0')
            shares = []
            for server in (one, other):
                server.stop()
                shares.append(sum(int(count) for count in
                                  re.findall(r'^(?:get|put) +(\d+)$', server.report, re.M)))
        self.assertEqual(sum(shares), 120000)  # the records, then the operations
        self.assertAlmostEqual(shares[0] / sum(shares), 0.5, delta=0.01)

    def test_a_server_with_requests_in_flight_keeps_the_same_promises(self):
        with Server('--driver=memory', '--threads=2', '--async', '--allow-reset') as server:
            done = mininb('check', '-d', 'net', '--servers=' + server.address, '--path',
                          server.path, '--seed=1')
            self.assertIn(' 0 broken', done.stdout)
            mininb('run', '-d', 'net', '--servers=' + server.address, '--path',
                   server.path + '/c', '--records=2000', '--count=20000', '--read=60',
                   '--update=30', '--insert=5', '--delete=5', '--threads=3',
                   '--verify-rate=1', '--depth=200', '--batch-bytes=4KiB')
        with Server('--driver=null', '--threads=2', '--async', '--allow-reset', '-o',
                    'delay=500us', '-o', 'reorder=7') as server:
            mininb('run', '-d', 'net', '--servers=' + server.address, '--path',
                   server.path + '/c', '--records=500', '--count=20000', '--read=60',
                   '--update=40', '--threads=3', '--verify-rate=0', '--depth=200',
                   '--batch-bytes=1KiB')

    def test_a_reset_by_another_client_does_not_end_a_run(self):
        for words in ([], ['--async']):
            self.reset_during_a_run(*words)

    def reset_during_a_run(self, *words):
        with Server('--driver=memory', '--threads=2', '--allow-reset', *words) as server:
            done = []
            def work():
                done.append(subprocess.run(
                    [MININB, 'run', '-d', 'net', '--servers=' + server.address, '--path',
                     server.path + '/c', '--records=500', '--update=100',
                     '--duration=2s', '--depth=100', '--batch-bytes=500', '--verify-rate=0'],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True))
            thread = threading.Thread(target=work)
            thread.start()
            wire, resets = Wire(server), 0
            while thread.is_alive():
                wire.sock.sendall(head(RESET))
                frame = wire.head()
                self.assertEqual(frame['flags'], DONE)
                resets += 1
                thread.join(0.05)
            self.assertEqual(done[0].returncode, 0, done[0].stderr)
            self.assertGreater(resets, 2)

    def test_failures_name_the_address_and_a_remedy(self):
        with Server('--driver=memory') as server:
            at = ['-d', 'net', '--servers=' + server.address, '--path', server.path + '/c',
                  '--records=10', '--read=100', '--count=10']
            done = mininb('run', *at, status=1)
            self.assertIn(server.address + ': the server does not allow its data to be removed',
                          done.stderr)
            done = mininb('run', *at, '-o', 'persistent=yes', '--durability=commit', status=1)
            self.assertIn('the server has durability none; start it with --durability=commit',
                          done.stderr)
        done = mininb('run', *at, status=1)
        self.assertIn('cannot connect', done.stderr)

    def test_a_server_that_sends_garbage_ends_the_run(self):
        dice = random.Random(4)
        hello = HELLO_BODY.pack(0, 0, 1 << 20, 1 << 20, 63, 2, 0, b'fake', b'1')
        greeting = head(HELLO, count=len(hello), view=1) + hello
        for answer in (b'', b'x' * 200, greeting[:30], head(HELLO, count=1 << 30, view=1),
                       greeting + dice.randbytes(500), greeting + head(BATCH, count=9, view=1),
                       greeting + head(BATCH, VIEW, 7, 2), greeting + head(BATCH, VIEW, 1, 1),
                       greeting + head(BATCH, BROKEN, 4, 1) + b'why?',
                       greeting + head(BATCH, count=1, view=1) + b'\x07',
                       greeting + head(BATCH, count=1, view=1) + b'\xff\5\0wrong'):
            with socket.create_server(('127.0.0.1', 0)) as listener:
                def speak(sock):
                    with sock:
                        try:
                            sock.recv(24)  # the hello
                            sock.sendall(answer)
                            sock.shutdown(socket.SHUT_WR)
                            receive_all(sock)
                        except OSError:
                            pass

                def work():
                    while True:
                        try:
                            threading.Thread(target=speak, args=listener.accept()[:1]).start()
                        except OSError:
                            return
                thread = threading.Thread(target=work)
                thread.start()
                address = '127.0.0.1:%d' % listener.getsockname()[1]
                with tempfile.TemporaryDirectory() as path:
                    done = mininb('run', '-d', 'net', '--servers=' + address, '--path', path,
                                  '--records=10', '--read=100', '--count=10', '-o',
                                  'persistent=yes', '--durability=none', status=1)
                self.assertIn(address + ': ', done.stderr)
                listener.shutdown(socket.SHUT_RDWR)
                thread.join()

    def test_a_server_that_ends_leaves_a_partial_result(self):
        with Server('--driver=memory', '--allow-reset') as server:
            run = subprocess.Popen(
                [MININB, 'run', '-d', 'net', '--servers=' + server.address, '--path',
                 server.path + '/c', '--records=100', '--read=100', '--duration=60s',
                 '--depth=10', '--verify-rate=0'], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            wire = Wire(server)
            wanted = b''
            while True:  # until the run reads
                wire.sock.sendall(head(STATS))
                frame = wire.head()
                wanted = receive(wire.sock, frame['count'])
                if b'records\trecords\t1\t100\n' in wanted:
                    break
            server.stop()
            out, errors = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 1, errors)
            self.assertRegex(errors, re.escape(server.address) + ': (the server closed the '
                             'connection|cannot connect)')


if __name__ == '__main__':
    unittest.main()
