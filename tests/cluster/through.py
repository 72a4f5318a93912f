"""Clients of tests/fault that go through kube-apiserver."""

import session
import watchers
import writers

API_VERSIONS = ("annals.dev/v1", "annals.dev/v1beta1")


class Session(session.Session):
    """kube-apiserver says 503 in plain text where what is behind it has not answered: that says nothing of what it has done."""

    def _reply(self, status, text):
        return session.Reply(session.LOST) if status == 503 and not text.startswith(b"{") else super()._reply(status, text)


class Writer(writers.Writer):
    Session, api_version = Session, API_VERSIONS[0]


class Watcher(watchers.Watcher):
    Session, api_versions = Session, API_VERSIONS


class World:
    """What they need to know of a cluster."""

    def __init__(self, cluster):
        self.cluster = cluster

    @property
    def servers(self):
        return [self.cluster.kube]


class Straight:
    """A replica of what is behind a cluster, for the same."""

    def __init__(self, behind, number):
        self.behind, self.number = behind, number

    @property
    def servers(self):
        return [self.behind.replicas[self.number]]
