"""What a server counts."""

import re


class Metrics:
    """What Prometheus would make of /metrics; that it can be read at all is asserted."""

    SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? ([-+0-9.eEInfaN]+)')

    def __init__(self, server):
        answer = server.get("/metrics")
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        self.types, self.samples = {}, {}
        for line in answer.text.splitlines():
            if line.startswith("#"):
                self._comment(line)
            else:
                self._sample(line)

    def _comment(self, line):
        mark, what, name, rest = line.split(" ", 3)
        assert mark == "#" and what in ("HELP", "TYPE") and rest
        if what == "TYPE":
            assert name not in self.types, f"{name} is declared twice"
            self.types[name] = rest

    def _sample(self, line):
        match = self.SAMPLE.fullmatch(line)
        assert match, line
        name, labels, value = match.groups()
        assert name in self.types or re.sub("_(bucket|sum|count)$", "", name) in self.types, f"{name} is not declared"
        key = name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels or ""))
        assert key not in self.samples, f"{line} comes twice"
        self.samples[key] = float(value)

    def sum(self, name, **labels):
        return sum(value for (sample, has), value in self.samples.items() if sample == name and set(labels.items()) <= has)

    def families(self):
        return set(self.types)


def under_way(server, kind):
    """How many requests are: readOnly, or mutating ones."""
    return Metrics(server).sum("apiserver_current_inflight_requests", request_kind=kind)
