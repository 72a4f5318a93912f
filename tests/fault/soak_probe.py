#!/usr/bin/env python3
"""Asks for a path of a server until it is killed, and prints a line for each answer: its status, and the milliseconds it took. A process of its own,
so that what it measures is the server and not the load that its test makes.

    soak_probe.py URL CA [CERTIFICATE KEY PATH]        # /readyz, as a stranger

Turn by turn it takes a new connection, as a kubelet does, and one that is kept. Where a connection breaks it asks again, on a new one: on a busy
machine it may itself be too slow for the server's deadlines. Who is locked out gets no answer for so long that it gives up.
"""

import itertools
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import processes

INTERVAL = 0.05


def ask(connection, path):
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    return response.status


def ask_until_answered(connection, path, began):
    while True:
        try:
            return ask(connection, path)
        except OSError as error:
            connection.close()
            if time.monotonic() - began > processes.PATIENCE:
                return f"{type(error).__name__}({error})".replace(" ", "_")
            time.sleep(INTERVAL)


def main(url, ca, certificate=None, key=None, path="/readyz"):
    client = processes.Client(url, ca, certificate, key)
    kept = client.connect()
    for number in itertools.count():
        connection = client.connect() if number % 2 else kept
        began = time.monotonic()
        status = ask_until_answered(connection, path, began)
        print(status, round((time.monotonic() - began) * 1000, 2), flush=True)
        if number % 2:
            connection.close()
        time.sleep(INTERVAL)


main(*sys.argv[1:])
