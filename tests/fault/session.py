"""A client's connection to one server of a world, which may die and come back at any time."""

import http.client
import json
import random
import ssl
import time

from protobuf_fields import PROTOBUF, decoded

TIMEOUT = 60  # seconds: whatever happens below, a server answers long before

# What an answer says about a write. A lost one (no answer, 504) may have happened, or may still.
LOST, REFUSED = "lost", "refused"


class Reply:
    """outcome: "ok", the reason of a Status, LOST or REFUSED (certainly not carried out)."""

    def __init__(self, outcome, status=0, body=None):
        self.outcome, self.status, self.body = outcome, status, body


def is_refused_for_want_of_room(status, body):
    return status == 500 and body.get("message") == "etcdserver: mvcc: database space exceeded"


def outcome_of(status, body):
    if status < 300:
        return "ok"
    if status == 504:
        return LOST
    return REFUSED if status in (429, 503) or is_refused_for_want_of_room(status, body) else body["reason"]


class Session:
    """Keeps one connection alive. Not for several threads."""

    def __init__(self, world, number):
        self.world, self.number, self.connection = world, number, None
        self.troubles = set()  # (status, reason) of answers that were not the object's fault

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def _connect(self):
        self.connection = self.world.servers[self.number].client.connect(TIMEOUT)
        self.connection.connect()

    def ask(self, method, path, body=None, content_type="application/json", accept="application/json"):
        """body: what becomes JSON, or a text of it. accept: PROTOBUF becomes the same as JSON would."""
        if body and not isinstance(body, str):
            body = json.dumps(body)
        try:
            if not self.connection:
                self._connect()
        except (OSError, ssl.SSLError):
            self.close()
            return Reply(REFUSED)
        try:
            self.connection.request(method, path, body or None, {"Accept": accept, **({"Content-Type": content_type} if body else {})})
            response = self.connection.getresponse()
            text = response.read()
        except TimeoutError:
            raise AssertionError(f"no answer to {method} {path} within {TIMEOUT} s") from None
        except (OSError, http.client.HTTPException):
            self.close()
            return Reply(LOST)
        if response.will_close:
            self.close()
        if response.headers["Content-Type"] == PROTOBUF:
            return self._reply(response.status, json.dumps(decoded(text)))
        return self._reply(response.status, text)

    def _reply(self, status, text):
        body = json.loads(text)
        if status in (429, 503, 504) or is_refused_for_want_of_room(status, body):
            self.troubles.add((status, body.get("reason")))
        elif status >= 500:
            raise AssertionError(f"a server answered {status}: {body}")
        return Reply(outcome_of(status, body), status, body)


def rest_a_moment():
    """Between attempts at a server that cannot serve."""
    time.sleep(random.uniform(0.01, 0.03))
