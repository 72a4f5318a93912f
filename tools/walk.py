#!/usr/bin/env python3
"""Prints, for each of some requests, how many .c files, functions and moves between files it takes. tools/walk.sh runs it.

valgrind's callgrind counts instructions while one request is under way, with the lines of functions that the compiler inlined.
Files of base/ are left out: everybody uses them. A move is a call, or an inlined one, from a function of one file to another's.
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTSIDE = ("base/", "tests/")
NAMESPACE = "/api/v1/namespaces/default"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
SNAPSHOTS = "/apis/annals.dev/v1/namespaces/default/snapshots"
OWNER = {"apiVersion": "example.com/v1", "kind": "Web", "name": "web", "uid": "uid-of-web", "controller": True}
IDLE_S = 12  # all that the server does by itself comes within this time
WARM_UP = 3  # what is done at the first time only, such as making a schema, is no part of a request


def config_map(name, value="a"):
    return {"metadata": {"name": name}, "data": {"key": value}}


def revision(name):
    return {"metadata": {"name": name}, "revision": 1, "data": {"spec": {"replicas": 1}}}


def requests(n):
    """(title, method, path, body, type) for the n-th time."""
    as_json, merge = "application/json", "application/merge-patch+json"
    snapshot = {"metadata": {}, "spec": {"owner": OWNER, "data": {"spec": {"replicas": n}}}}
    return [
        ("GET", "GET", f"{REVISIONS}/a?resourceVersion=0", None, as_json),
        ("GET, consistent", "GET", f"{REVISIONS}/a", None, as_json),
        ("LIST", "GET", f"{REVISIONS}?resourceVersion=0", None, as_json),
        ("CREATE", "POST", REVISIONS, revision(f"new-{n}"), as_json),
        ("PATCH", "PATCH", f"{NAMESPACE}/configmaps/a", {"data": {"key": str(n)}}, merge),
        ("Snapshot", "POST", SNAPSHOTS, snapshot, as_json),
    ]


class Server:
    def __init__(self, annals, folder):
        self.folder, self.dumps = folder, []
        self.environment = dict(os.environ, TMPDIR=str(folder))  # where valgrind and its control meet
        ready, told = os.pipe()
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", f"--callgrind-out-file={folder}/out.%p",
                   annals, "up", "--ephemeral", "--store=memory", "--controllers=", "--storage-migration=Off", "--slow-request-threshold=0",
                   "-o", "json", "--ready-fd", str(told)]
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, pass_fds=[told], stdout=log, stderr=log, env=self.environment)
        os.close(told)
        with os.fdopen(ready) as file:
            line = file.readline()
        if not line:
            sys.exit((folder / "log").read_text(errors="replace"))
        said = json.loads(line)
        url = urllib.parse.urlsplit(said["url"])
        context = ssl.create_default_context(cafile=said["ca"] if os.path.exists(said["ca"]) else None, cadata=None if os.path.exists(said["ca"]) else said["ca"])
        self.token = said["token"]
        self.connection = http.client.HTTPSConnection(url.hostname, url.port, context=context, timeout=120)

    def ask(self, method, path, body, content_type):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type, "User-Agent": "walk"}
        self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {text[:500].decode()}")

    def control(self, *arguments):
        subprocess.run(["callgrind_control", *arguments, str(self.process.pid)], check=True, capture_output=True, env=self.environment)

    def measure(self, *request):
        """{thread: callgrind's dump} for one request; without a request, for some seconds."""
        self.control("-z")
        self.control("-i", "on")
        if request:
            self.ask(*request)
        else:
            time.sleep(IDLE_S)
        self.control("-i", "off")
        self.control("-d")
        dumps = [path for path in self.folder.glob(f"out.{self.process.pid}.*") if path not in self.dumps]
        self.dumps += dumps
        return {path.name.rpartition("-")[2]: path.read_text() for path in dumps}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=120)


POSITION = re.compile(r"^(fl|fi|fe|fn|cfi|cfl|cfn|ob|cob)=\((\d+)\)(?: (.*))?$")


def is_ours(path):
    return path.endswith(".c") and not path.startswith(OUTSIDE)


def walk(dumps, idle):
    """Of the threads that served the request. Others tick in the background meanwhile: they run the same files while nothing is asked."""
    files, functions, moves = collections.Counter(), set(), set()
    for thread, dump in dumps.items():
        of_thread = walk_thread(dump)
        if any(file.startswith("server/") for file in of_thread[0]) and not set(of_thread[0]) <= idle.get(thread, set()):
            files.update(of_thread[0])
            functions |= of_thread[1]
            moves |= of_thread[2]
    return files, functions, moves


def walk_thread(dump):
    """({file: instructions}, functions, moves) of the project's own files."""
    names = {"file": {}, "fn": {}}
    files, functions, moves = collections.Counter(), set(), set()
    outer = at = called = function = ""
    is_call = False

    def name(sort, number, text):
        if text is not None:
            if sort == "file":
                path = pathlib.Path(os.path.normpath(ROOT / "build-walk" / text))
                text = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) and path.exists() else "outside"
            names[sort][number] = text
        return names[sort].get(number, "")

    for line in dump.splitlines():
        match = POSITION.match(line)
        if match:
            key, number, text = match.groups()
            if key == "fl":
                outer = at = name("file", number, text)
            elif key in ("fi", "fe"):
                at = name("file", number, text)
                if is_ours(at) and is_ours(outer) and at != outer:
                    moves.add((outer, at))
            elif key in ("cfi", "cfl"):
                called = name("file", number, text)
            elif key == "fn":
                function = re.sub(r"\.(constprop|isra|part|cold).*|'\d+$", "", name("fn", number, text))
                called = outer
            elif key == "cfn":
                name("fn", number, text)
        elif line.startswith("calls="):
            if is_ours(at) and is_ours(called) and called != at:
                moves.add((at, function, called))
            is_call = True
            called = outer
        elif re.match(r"^[+\-*\d]", line):
            if not is_call:
                if is_ours(at):
                    files[at] += int(line.split()[-1])
                if is_ours(outer):
                    functions.add((outer, function))
            is_call = False
    return files, functions, moves


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--annals", required=True)
    parser.add_argument("--files", metavar="REQUEST", help="rather the files of this request, with their functions: GET, LIST, ...")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-walk-"))
    server = Server(args.annals, folder)
    try:
        server.ask("POST", REVISIONS, revision("a"), "application/json")
        server.ask("POST", f"{NAMESPACE}/configmaps", config_map("a"), "application/json")
        for n in range(WARM_UP):
            for _, *request in requests(n):
                server.ask(*request)
        if not args.files:
            print(f"{'request':18}{'files':>8}{'rooms':>8}{'functions':>12}{'moves':>8}")
        idle = {thread: set(walk_thread(dump)[0]) for thread, dump in server.measure().items()}
        for title, *request in requests(WARM_UP):
            files, functions, moves = walk(server.measure(*request), idle)
            if args.files == title:
                for file, n in files.most_common():
                    print(f"{n:10} {file}: {' '.join(sorted(function for of, function in functions if of == file))}")
            elif not args.files:
                rooms = {os.path.dirname(file) for file in files}
                print(f"{title:18}{len(files):8}{len(rooms):8}{len(functions):12}{len(moves):8}", flush=True)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
