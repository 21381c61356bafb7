# SPDX-License-Identifier: BSD-2-Clause
"""Conversations in RESP2 with `mininb serve`, byte by byte, and with the programs of Redis."""
import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

from server import Server, command, has_engine, receive, receive_all

# Sent bytes and the expected answers, in this order, on an empty database.
TALK = [
    (b'PING\r\n', b'+PONG\r\n'),
    (b'*1\r\n$4\r\nPING\r\n', b'+PONG\r\n'),
    (command('PING', 'hello'), b'$5\r\nhello\r\n'),
    (command('ECHO', b'\r\n\0'), b'$3\r\n\r\n\0\r\n'),
    (command('get', 'a'), b'$-1\r\n'),
    (command('SET', 'a', '1'), b'+OK\r\n'),
    (command('gEt', 'a'), b'$1\r\n1\r\n'),
    (b'get a\r\nget  a \n', b'$1\r\n1\r\n$1\r\n1\r\n'),
    (command('SET', 'a', '2', 'NX'), b'$-1\r\n'),
    (command('SET', 'a', '2', 'XX'), b'+OK\r\n'),
    (command('SET', 'b', '2', 'xx'), b'$-1\r\n'),
    (command('SET', 'b', '3', 'nx'), b'+OK\r\n'),
    (command('SETNX', 'b', '4'), b':0\r\n'),
    (command('SETNX', 'c', ''), b':1\r\n'),
    (command('GET', 'c'), b'$0\r\n\r\n'),
    (command('MGET', 'a', 'x', 'b', 'c'), b'*4\r\n$1\r\n2\r\n$-1\r\n$1\r\n3\r\n$0\r\n\r\n'),
    (command('SET', 'a', '1', 'EX', '1'), b'-ERR syntax error: SET takes NX and XX only\r\n'),
    (command('SET', 'a', '1', 'NX', 'XX'), b'-ERR syntax error\r\n'),
    (command('EXISTS', 'a', 'a', 'x'), b':2\r\n'),
    (command('DEL', 'a', 'x', 'b'), b':2\r\n'),
    (command('MSET', 'a', '1', 'b', '2', 'a', '3'), b'+OK\r\n'),
    (command('MSET', 'a', '1', 'b'), b"-ERR wrong number of arguments for 'mset' command\r\n"),
    (command('INCR', 'a'), b':4\r\n'),
    (command('INCRBY', 'a', '-10'), b':-6\r\n'),
    (command('DECR', 'a'), b':-7\r\n'),
    (command('DECRBY', 'a', '3'), b':-10\r\n'),
    (command('GET', 'a'), b'$3\r\n-10\r\n'),
    (command('INCR', 'new'), b':1\r\n'),
    (command('INCR', 'c'), b'-ERR value is not an integer or out of range\r\n'),
    (command('SET', 'n', '9223372036854775807'), b'+OK\r\n'),
    (command('INCR', 'n'), b'-ERR increment or decrement would overflow\r\n'),
    (command('INCRBY', 'n', '-9223372036854775808'), b':-1\r\n'),
    (command('DECRBY', 'n', '-9223372036854775808'), b'-ERR decrement would overflow\r\n'),
    (command('INCRBY', 'n', '1x'), b'-ERR value is not an integer or out of range\r\n'),
    (command('GET', ''), b'-ERR a key must have 1 to 1048576 bytes, got 0\r\n'),
    (command('GET'), b"-ERR wrong number of arguments for 'get' command\r\n"),
    (command('LPUSH', 'a', 'b'), b"-ERR unknown command 'LPUSH'\r\n"),
    (command('SELECT', '0'), b'+OK\r\n'),
    (command('SELECT', '1'), b'-ERR DB index is out of range\r\n'),
    (command('AUTH', 'x'),
     b'-ERR AUTH called without any password configured for the default user\r\n'),
    (command('HELLO', '3'), b'-NOPROTO unsupported protocol version\r\n'),
    (command('CONFIG', 'GET', 'save'), b'*2\r\n$4\r\nsave\r\n$0\r\n\r\n'),
    (command('CONFIG', 'GET', 'appendonly'), b'*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n'),
    (command('COMMAND', 'DOCS'), b'*0\r\n'),
    (command('CLIENT', 'SETNAME', 'x'), b'+OK\r\n'),
    (command('DBSIZE'), b':5\r\n'),
    (command('SCAN', '0', 'COUNT', '2'), b'*2\r\n$1\r\n1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n'),
    (command('SCAN', '7'),
     b'-ERR invalid cursor: it must be the last one of this connection\r\n'),
    (command('SCAN', '1', 'MATCH', 'n*'), b'*2\r\n$1\r\n0\r\n*2\r\n$1\r\nn\r\n$3\r\nnew\r\n'),
    (command('FLUSHALL'), b'-ERR the server does not allow its data to be removed: start it '
                          b'with --allow-reset\r\n'),
    (b'*0\r\n*-1\r\n\r\n', b''),
    (command('QUIT'), b'+OK\r\n'),
]
SAID = b''.join(said for said, _ in TALK)
HEARD = b''.join(heard for _, heard in TALK)

BROKEN = [
    b'*1\r\n+PING\r\n', b'*x\r\n', b'*99999999\r\n', b'*1\r\n$-1\r\n', b'*1\r\n$99999999999\r\n',
    b'*1\r\n$4\r\nPINGxx', b'*1\r\n$x\r\n', b'*12345678901234567890\r\n', b'x' * 100000,
]


class Resp(unittest.TestCase):
    def test_answers_equal_those_of_redis(self):
        with Server('--driver=memory') as server:
            sock = server.connect()
            for said, heard in TALK:
                sock.sendall(said)
                self.assertEqual(receive(sock, len(heard)), heard, said)
            self.assertEqual(receive_all(sock), b'')
            self.assertEqual(server.stop(), 0)

    def test_requests_may_be_cut_anywhere(self):
        dice = random.Random(1)
        for most in (1, 7, 100, len(SAID)):
            with Server('--driver=memory', listen='unix:{dir}/s') as server:
                sock = server.connect()
                at = 0
                while at < len(SAID):
                    size = dice.randint(1, most)
                    sock.sendall(SAID[at:at + size])
                    at += size
                self.assertEqual(receive_all(sock), HEARD, most)

    def test_garbage_ends_its_connection_with_a_message(self):
        with Server('--driver=memory') as server:
            for garbage in BROKEN:
                sock = server.connect()
                sock.sendall(command('SET', 'a', '1') + garbage)
                heard = receive_all(sock)
                self.assertRegex(heard, rb'^\+OK\r\n-ERR Protocol error: [^\r\n]+\r\n$')
            server.stop()
            self.assertIn(f'dropped {len(BROKEN)}', server.report)

    def test_values_may_be_as_long_as_allowed(self):
        with Server('--driver=memory', '--max-value=1MiB') as server:
            sock = server.connect()
            value = bytes(random.Random(2).randbytes(1 << 20))
            heard = b'+OK\r\n$%d\r\n%s\r\n' % (len(value), value)
            sock.sendall(command('SET', 'a', value) + command('GET', 'a'))
            self.assertEqual(receive(sock, len(heard)), heard)
            sock.sendall(command('SET', 'a', value + b'x'))
            self.assertTrue(receive(sock, 40).startswith(b'-ERR a value may have 1048576'))

    def test_no_increment_of_several_connections_is_lost(self):
        count, connections = 2000, 8
        with Server('--driver=memory', '--threads=4') as server:
            def work():
                sock = server.connect()
                for _ in range(count // 50):
                    sock.sendall(command('INCR', 'n') * 50 + command('SET', 'x', 'y'))
                    heard = b''
                    while heard.count(b'\r\n') < 51:
                        heard += sock.recv(65536)
            threads = [threading.Thread(target=work) for _ in range(connections)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            sock = server.connect()
            sock.sendall(command('GET', 'n'))
            wanted = b'$5\r\n%d\r\n' % (count * connections)
            self.assertEqual(receive(sock, len(wanted)), wanted)

    def test_a_reset_is_executed_only_if_allowed(self):
        with Server('--driver=memory', '--threads=3', '--allow-reset') as server:
            one, other = server.connect(), server.connect()
            one.sendall(command('SET', 'a', '1') + command('DBSIZE') + command('FLUSHALL') +
                        command('GET', 'a') + command('DBSIZE'))
            wanted = b'+OK\r\n:1\r\n+OK\r\n$-1\r\n:0\r\n'
            self.assertEqual(receive(one, len(wanted)), wanted)
            other.sendall(command('SET', 'b', '1') + command('DBSIZE'))
            self.assertEqual(receive(other, 9), b'+OK\r\n:1\r\n')

    def test_requests_read_before_the_end_are_answered(self):
        with Server('--driver=memory') as server:
            sock = server.connect()
            sock.sendall(command('SET', 'a', 'x' * 1000) * 3)
            self.assertEqual(receive(sock, 15), b'+OK\r\n' * 3)
            self.assertEqual(server.stop(), 0)
            self.assertEqual(receive_all(sock), b'')
            self.assertRegex(server.report, r'put +3\n')

    def test_connections_above_the_limit_are_rejected(self):
        with Server('--driver=memory', '--max-connections=2') as server:
            kept = [server.connect(), server.connect()]
            for sock in kept:
                sock.sendall(b'PING\r\n')
                self.assertEqual(receive(sock, 7), b'+PONG\r\n')
            self.assertIn(b'max number of clients', receive_all(server.connect()))
            server.stop()
            self.assertIn('refused 1', server.report)


    def test_info_reports_the_durability_like_redis(self):
        if not has_engine('lmdb'):
            self.skipTest('lmdb is not built')
        for level, sync in (('process', b'no'), ('periodic', b'everysec'), ('commit', b'always')):
            with Server('--driver=lmdb', '--durability=' + level) as server:
                sock = server.connect()
                wanted = b'*2\r\n$11\r\nappendfsync\r\n$%d\r\n%s\r\n' % (len(sync), sync)
                sock.sendall(command('CONFIG', 'GET', 'appendfsync'))
                self.assertEqual(receive(sock, len(wanted)), wanted)

    def test_data_survives_a_restart(self):
        if not has_engine('lmdb'):
            self.skipTest('lmdb is not built')
        with tempfile.TemporaryDirectory() as directory:
            for said, heard in ((command('SET', 'a', '1'), b'+OK\r\n'),
                                (command('GET', 'a'), b'$1\r\n1\r\n')):
                with Server('--driver=lmdb', '--path', directory + '/db') as server:
                    sock = server.connect()
                    sock.sendall(said)
                    self.assertEqual(receive(sock, len(heard)), heard)

    def test_wrong_options_are_rejected_before_anything_is_written(self):
        with tempfile.TemporaryDirectory() as directory:
            path = directory + '/nb'
            for words, text in (
                    (['--driver=memory', '--listen=nowhere'], "'nowhere' is not an address"),
                    (['--driver=memory', '--listen=unix:' + 'x' * 200], '1 to 107 bytes'),
                    (['--driver=memory', '--listen=127.0.0.1:99999'], '127.0.0.1:99999'),
                    (['--driver=memory', '--durability=commit'], 'durability commit'),
                    (['--driver=net'], 'serve lends embedded engines')):
                done = subprocess.run([os.environ['MININB'], 'serve', '--path', path, *words],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      timeout=60)
                self.assertIn(done.returncode, (1, 2))
                self.assertIn(text, done.stderr)
                self.assertFalse(os.path.exists(path))

    def test_an_address_that_other_machines_can_reach_causes_a_warning(self):
        with Server('--driver=memory', listen='0.0.0.0:0') as server:
            self.assertIn('other machines can reach this address', ''.join(server.words))

    def test_redis_cli_works(self):
        if shutil.which('redis-cli') is None:
            self.skipTest('redis-cli is not installed')
        with Server('--driver=memory') as server:
            def cli(*words):
                return subprocess.run(['redis-cli', '-p', str(server.port), *words], check=True,
                                      stdout=subprocess.PIPE, text=True).stdout
            for i in range(50):
                cli('set', f'key{i:02}', str(i))
            self.assertEqual(cli('get', 'key07'), '7\n')
            self.assertEqual(sorted(cli('--scan', '--pattern', 'key1*').split()),
                             [f'key{i}' for i in range(10, 20)])

    def test_redis_benchmark_works(self):
        if shutil.which('redis-benchmark') is None:
            self.skipTest('redis-benchmark is not installed')
        with Server('--driver=memory', '--threads=2') as server:
            done = subprocess.run(
                ['redis-benchmark', '-p', str(server.port), '-t', 'ping,set,get,incr,mset', '-P',
                 '16', '-n', '5000', '-q', '--csv'], check=True, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.stdout.count('\n'), 7)
            self.assertNotIn('ERR', done.stdout + done.stderr)
            server.stop()
            self.assertGreaterEqual(int(re.search(r'get +(\d+)', server.report).group(1)), 10000)


if __name__ == '__main__':
    unittest.main(warnings="ignore")
