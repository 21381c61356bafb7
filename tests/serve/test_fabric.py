# SPDX-License-Identifier: BSD-2-Clause
"""`mininb serve --transport=ofi` and the driver net over libfabric, with its provider tcp."""
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from server import PATIENCE_S, Server

os.environ['FI_PROVIDER'] = 'tcp'
# libfabric 1.17 leaks the memory of a connection that was not established.
LEAKS = tempfile.NamedTemporaryFile('w', suffix='.lsan')
LEAKS.write('leak:libfabric.so\n')
LEAKS.flush()
os.environ['LSAN_OPTIONS'] = f'suppressions={LEAKS.name}:print_suppressions=0'
MININB = os.environ['MININB']
OFI = ['-d', 'net', '-o', 'transport=ofi']


def mininb(*words, status=0):
    done = subprocess.run([MININB, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done


def serve(*words):
    return Server('--driver=memory', '--transport=ofi', '--allow-reset', *words)


class AtWork:
    """A client whose progress line shows that it runs, so all of its connections are open."""

    def __init__(self, server, path):
        master, terminal = os.openpty()
        self.process = subprocess.Popen(
            [MININB, 'run', *OFI, '--servers=' + server.address, '--path', path,
             '--records=100', '--read=50', '--update=50', '--duration=600s', '--depth=20',
             '--threads=2', '--verify-rate=0', '--rate=2000'],
            stdout=subprocess.PIPE, stderr=terminal)
        os.close(terminal)
        said = b''
        while re.search(rb'run  [0-9]+', said) is None:
            some = os.read(master, 4096)
            assert some, said
            said += some
        self.terminal = master

    def rest(self):
        """Its output until it ends."""
        said = b''
        while True:
            try:
                some = os.read(self.terminal, 4096)
            except OSError:  # the client has ended
                some = b''
            if not some:
                os.close(self.terminal)
                self.process.communicate(timeout=PATIENCE_S)
                return said.decode()
            said += some


def await_files(server, most):
    """Wait until the server has at most `most` open files. Returns their number."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        if server.process.poll() is not None:
            server.stop()
            raise AssertionError(f'status {server.process.returncode}: {server.errors}')
        count = len(os.listdir(f'/proc/{server.process.pid}/fd'))
        if count <= most or time.monotonic() > deadline:
            return count
        time.sleep(0.02)


class Fabric(unittest.TestCase):
    def test_a_run_verifies_data_of_all_sizes_on_two_servers(self):
        with serve('--threads=2') as one, serve() as other:
            mininb('run', *OFI, f'--servers={one.address},{other.address}', '--path',
                   one.path + '/c', '--records=300', '--count=2000', '--read=50',
                   '--update=40', '--insert=5', '--delete=5', '--threads=2',
                   '--verify-rate=1', '--depth=30', '--set', 'value-size=uniform:0..40000')

    def test_a_killed_client_affects_no_other_client_and_leaves_no_open_files(self):
        with serve('--threads=2') as server:
            fresh = await_files(server, 1 << 20)
            other = AtWork(server, server.path + '/other')
            with_other = len(os.listdir(f'/proc/{server.process.pid}/fd'))
            self.assertGreater(with_other, fresh)
            for number in range(2):
                victim = AtWork(server, f'{server.path}/{number}')
                victim.process.kill()
                victim.rest()
                self.assertEqual(await_files(server, with_other), with_other)
            self.assertIsNone(other.process.poll())
            other.process.send_signal(signal.SIGINT)
            said = other.rest()
            self.assertEqual(other.process.returncode, 130, said)
            self.assertEqual(await_files(server, fresh), fresh)

    def test_a_server_that_is_killed_leaves_a_partial_result(self):
        with serve() as server:
            client = AtWork(server, server.path + '/c')
            server.process.kill()
            said = client.rest()
            self.assertEqual(client.process.returncode, 1, said)
            self.assertIn(server.address + ': the server closed the connection', said)
            server.process.wait()
            server.stop()
            server.process.returncode = 0  # the test killed it

    def test_clients_of_another_transport_are_rejected_without_effect_on_others(self):
        with serve() as server:
            for data in (b'*1\r\n$4\r\nPING\r\n', b'\xb5' + b'\0' * 23, b'x' * 5000):
                with socket.create_connection(('127.0.0.1', server.port)) as sock:
                    sock.sendall(data)
            mininb('run', *OFI, '--servers=' + server.address, '--path', server.path + '/c',
                   '--records=10', '--read=100', '--count=10')
        with Server('--driver=memory', listen='unix:{dir}/s') as server:
            done = mininb('run', *OFI, '--servers=' + server.address, '--path',
                          server.path + '/c', '--records=10', '--read=100', '--count=10', status=1)
            self.assertIn('libfabric has no Unix sockets; use HOST:PORT', done.stderr)
            done = mininb('serve', '-d', 'memory', '--transport=ofi', '--path',
                          server.path + '/c', '--listen=unix:x', status=2)
            self.assertIn("'unix:x' is not an address", done.stderr)
            port = socket.create_server(('127.0.0.1', 0))
            address = '127.0.0.1:%d' % port.getsockname()[1]
            port.close()
            done = mininb('run', *OFI, '--servers=' + address, '--path', server.path + '/c',
                          '--records=10', '--read=100', '--count=10', status=1)
            self.assertIn(address + ': cannot connect by libfabric', done.stderr)

    def test_a_private_server_is_started_with_the_same_transport(self):
        with serve() as server:
            done = mininb('run', *OFI, '--read=50', '--update=50', '--path', server.path + '/c',
                          '--records=50', '--count=100', '--depth=10')
            self.assertRegex(done.stdout, r'Server +: 127\.0\.0\.1:')
            self.assertIn('transport=ofi', done.stdout)


if __name__ == '__main__':
    unittest.main()
