# SPDX-License-Identifier: BSD-2-Clause
"""A `mininb serve` for one test, and connections to it."""
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile

PATIENCE_S = 120


class Server:
    """with Server('--driver=memory') as server: ..."""

    def __init__(self, *words, listen='127.0.0.1:0', program=None):
        self.directory = tempfile.TemporaryDirectory()
        self.path = self.directory.name
        program = program or os.environ['MININB']
        listen = listen.replace('{dir}', self.path)
        self.process = subprocess.Popen(
            [program, 'serve', '--path', self.path + '/nb', '--listen', listen, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.words = []
        for line in self.process.stderr:
            self.words.append(line)
            found = re.match(r'mininb: ready: .* at (\S+), \d+ thread', line)
            if found:
                break
        else:
            raise AssertionError('no server: ' + ''.join(self.words))
        self.address = found.group(1)
        self.report = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *failure):
        if self.report is None:
            self.stop()
        self.directory.cleanup()
        if kind is None and self.process.returncode != 0:
            raise AssertionError(f'status {self.process.returncode}: {self.errors}')

    def stop(self, number=signal.SIGTERM):
        """Returns the exit status; self.report is the output."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.report, self.errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode

    @property
    def port(self):
        return int(self.address.rsplit(':', 1)[1])

    def rss_kib(self, name='VmRSS'):
        with open(f'/proc/{self.process.pid}/status', encoding='ascii') as file:
            return int(re.search(name + r':\s+(\d+)', file.read()).group(1))

    def connect(self):
        if self.address.startswith('unix:'):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(self.address[5:])
        else:
            sock = socket.create_connection(('127.0.0.1', self.port))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(PATIENCE_S)
        return sock


def has_engine(name):
    return subprocess.run([os.environ['MININB'], 'engines', '-d', name],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def receive(sock, size):
    data = b''
    while len(data) < size:
        some = sock.recv(size - len(data))
        if not some:
            break
        data += some
    return data


def receive_all(sock):
    """Receive until the connection ends."""
    data = b''
    while True:
        try:
            some = sock.recv(65536)
        except ConnectionResetError:
            some = b''
        if not some:
            return data
        data += some


def command(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in words)


# ---- the compact protocol, see mininb/wire.h ----

MAGIC = 0xb5
HELLO, BATCH, RESET, SETTLE, CHECKPOINT, STATS, SCAN = range(7)
SCAN_BACKWARD, SCAN_KEYS_ONLY, SCAN_AFTER = 1, 2, 256
GET, PUT, DEL, INSERT, MERGE, EXECUTE = range(6)
FIXED, MAY_BE_LATE, SIZED, LATE = 1, 2, 5, 6
DONE, VIEW, FAILED, BROKEN, FOLLOWS = range(5)
HEAD = struct.Struct('<BBHIQII')
HELLO_BODY = struct.Struct('<IIQQIIQ64s48s')


def head(kind, flags=0, count=0, view=0, key_size=0, value_size=0):
    return HEAD.pack(MAGIC, kind, flags, count, view, key_size, value_size)


def record(verb, key, value=b'', operand=0):
    """An encoded request, with its sizes."""
    out = struct.pack('<BI', verb, len(key))
    if verb in (PUT, INSERT):
        out += struct.pack('<I', len(value))
    if verb == MERGE:
        out += struct.pack('<Q', operand)
    return out + key + value


class Wire:
    """A connection after its HELLO."""

    def __init__(self, server):
        self.sock = server.connect()
        self.sock.sendall(head(HELLO, count=1))
        frame = self.head()
        assert frame['kind'] == HELLO and frame['flags'] == DONE, frame
        self.view = frame['view']
        self.hello = HELLO_BODY.unpack(receive(self.sock, frame['count']))

    def head(self):
        fields = HEAD.unpack(receive(self.sock, HEAD.size))
        return dict(zip(('magic', 'kind', 'flags', 'count', 'view', 'key_size', 'value_size'),
                        fields))

    def answers(self, verbs):
        """The answers of these verbs: codes, (code, value) of gets, (code, text) of failures."""
        out = []
        while len(out) < len(verbs):
            frame = self.head()
            assert frame['flags'] == DONE, frame
            for _ in range(frame['count']):
                out.append(self.answer(verbs[len(out)], frame))
        return out

    def answer(self, verb, frame):
        code = struct.unpack('b', receive(self.sock, 1))[0]
        if code < 0:
            size = struct.unpack('<H', receive(self.sock, 2))[0]
            return code, receive(self.sock, size).decode()
        if verb == GET and code == SIZED:
            size = struct.unpack('<I', receive(self.sock, 4))[0]
            return 0, receive(self.sock, size)
        if verb == GET and code == 0:
            return 0, receive(self.sock, frame['value_size'])
        return code

    def late_answers(self, verbs):
        """The answers of these verbs in order of their requests, and the number of late ones."""
        out, late, asked = {}, 0, 0
        while len(out) < len(verbs):
            frame = self.head()
            assert frame['flags'] in (DONE, FOLLOWS), frame
            for _ in range(frame['count']):
                number = asked
                if frame['flags'] == FOLLOWS:
                    number = struct.unpack('<I', receive(self.sock, 4))[0]
                    late += 1
                asked += frame['flags'] == DONE
                answer = self.answer(verbs[number], frame)
                if frame['flags'] == DONE and answer == LATE:
                    continue
                assert number not in out, (number, out)
                out[number] = answer
        return [out[i] for i in range(len(verbs))], late

    def scan(self, flags, key, count):
        """The records, and whether they are the last ones."""
        self.sock.sendall(head(SCAN, flags, count, self.view, len(key)) + key)
        frame = self.head()
        body = receive(self.sock, frame['count'])
        assert frame['kind'] == SCAN and frame['flags'] == DONE, (frame, body)
        out, at = [], 0
        for _ in range(frame['key_size']):
            key_size, value_size = struct.unpack_from('<II', body, at)
            at += 8 + key_size + value_size
            out.append((body[at - value_size - key_size:at - value_size],
                        body[at - value_size:at]))
        assert at == len(body)
        return out, frame['value_size'] == 1

    def ask(self, *records):
        """Send requests (verb, key, value, operand), with their sizes, in one batch."""
        self.sock.sendall(head(BATCH, count=len(records), view=self.view) +
                          b''.join(record(*r) for r in records))
        return self.answers([r[0] for r in records])
