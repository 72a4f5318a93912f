"""`kubectl annals ui`, and what its page asks of it: answers as they should be, where pages.py is about who may ask."""

import http.client
import json
import urllib.parse

import processes
from pages import LINK


class Page(processes.Process):
    """A server of the page, with a session."""

    def __init__(self, *flags, env, namespace=None):
        where = ["-n", namespace] if namespace else []
        super().__init__([processes.BIN, "kubectl", "ui", "--no-browser", *where, *flags], env=env)
        self.port, _, self.token = self.stdout.wait(LINK).groups()
        opened = self.request("POST", "session", headers={"X-Annals-Token": self.token}, has_session=False)
        assert opened.status == 200, opened
        self.session = opened.json["session"]

    def request(self, method, path, body=None, headers=None, has_session=True):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=processes.PATIENCE)
        try:
            session = {"X-Annals-Session": self.session} if has_session else {}
            text = json.dumps(body) if isinstance(body, (dict, list)) else body
            connection.request(method, f"/annals/ui/{path}", body=text, headers={**session, **(headers or {})})
            response = connection.getresponse()
            return processes.Answer(response, response.read())
        finally:
            connection.close()

    def get(self, path, **query):
        asked = urllib.parse.urlencode({name.rstrip("_"): value for name, value in query.items()})
        return self.request("GET", f"{path}?{asked}" if asked else path)

    def post(self, path, **body):
        return self.request("POST", path, {name.rstrip("_"): value for name, value in body.items()})


def lines(hunks):
    """Those that come and go, each with its path."""
    return [(line["op"] + line["text"], line["path"]) for hunk in hunks["hunks"] for line in hunk["lines"] if line["op"] != " "]
