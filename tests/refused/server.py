#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The server of remote.c: a map in memory.

server.py [--file FILE] [--die-after N] [--ignore TERM] ADDRESS, host:port or unix:PATH
"""
import argparse
import json
import os
import signal
import socketserver

args = argparse.ArgumentParser()
args.add_argument("--file", help="where the records stay when it is stopped")
args.add_argument("--die-after", type=int, help="requests")
args.add_argument("--ignore", default="", help="a signal that does nothing")
args.add_argument("--print", default="", help="a line of output")
args.add_argument("address")
args = args.parse_args()
records = {}
left = args.die_after
if args.file and os.path.exists(args.file):
    with open(args.file, encoding="ascii") as file:
        records = json.load(file)


def stop(*_):
    if args.file:
        with open(args.file, "w", encoding="ascii") as file:
            json.dump(records, file)
    print("stopped in order", flush=True)
    os._exit(0)


class Client(socketserver.StreamRequestHandler):
    def handle(self):
        global left
        for line in self.rfile:
            words = line.decode().split()
            if left is not None:
                left -= 1
                if left < 0:
                    print("no luck any more", flush=True)
                    os._exit(7)
            self.wfile.write((answer(*words, *([""] * 2)) + "\n").encode())


def answer(verb, key, value, *_):
    if verb == "r":
        records.clear()
    elif verb == "p":
        records[key] = value
    elif key not in records:
        return "n"
    elif verb == "g":
        return "v " + records[key]
    elif verb == "d":
        del records[key]
    return "k"


class Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


signal.signal(signal.SIGTERM, signal.SIG_IGN if args.ignore == "TERM" else stop)
if args.address.startswith("unix:"):
    if os.path.exists(args.address[5:]):
        os.unlink(args.address[5:])
    server = Unix(args.address[5:], Client)
else:
    host, port = args.address.rsplit(":", 1)
    server = Tcp((host, int(port)), Client)
print(args.print, flush=True)
server.serve_forever()
