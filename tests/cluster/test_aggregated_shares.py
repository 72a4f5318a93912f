"""Who asks the cluster much, or while it does not answer, holds up nobody who need not ask."""

import concurrent.futures
import contextlib
import http.client
import os
import signal
import time
import uuid

import pytest

import processes
from aggregated import RBAC

STRANGERS = int(os.environ.get("RANDOM_TOKENS", "400"))
WAITING = 450  # more than may be under way of reads
CANCELLED, CANCELLED_AT_ONCE = 4000, 50  # watches, by one user


@pytest.fixture
def annals(cluster):
    if "annals" not in cluster.behind:
        pytest.skip("tests/cluster/build.sh has not been run")
    return cluster.behind["annals"]


@contextlib.contextmanager
def hung(process):
    process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.signal(signal.SIGCONT)


def test_masters_are_served_while_kube_apiserver_hangs(cluster, annals):
    path = annals.kind.path(cluster.make_namespace())
    client, master = annals.client(*cluster.user(f"waits-{uuid.uuid4()}")), annals.client(*cluster.certificates.admin)
    with contextlib.ExitStack() as stack, hung(cluster.kube):
        for _ in range(WAITING):
            connection = stack.enter_context(contextlib.closing(client.connect()))
            connection.request("GET", path)
        assert [master.get(path).status for _ in range(20)] == [200] * 20
    processes.retry_until(lambda: client.get(path).status == 403, "the cluster answers again")


def storm(annals, path, stack):
    """STRANGERS who show a token of their own each, at once, with connections that they have already. Returns what they were answered."""

    def connect(_):
        connection = annals.client(None, None).connect()
        connection.connect()
        return stack.enter_context(contextlib.closing(connection))

    def hear(connection):
        try:
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None  # it has given way

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        connections = list(pool.map(connect, range(STRANGERS)))
    for connection in connections:
        connection.request("GET", path, headers={"Authorization": f"Bearer random-{uuid.uuid4()}"})
    return [hear(connection) for connection in connections]


def test_random_tokens_do_not_hold_up_a_good_one(cluster, annals, capsys):
    """The good one is known, though not for long at a time. That nobody says 401 to it is what counts here; how long it takes is shown."""
    path = annals.kind.path(cluster.make_namespace())
    token = cluster.token(annals.namespace, annals.program.name)
    good = processes.Client(annals.replicas[0].url, cluster.certificates.ca, token=token)
    assert good.get(path).status == 403  # it may do nothing here
    answers, worst = [], 0
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(1) as pool:
        raging = pool.submit(storm, annals, path, stack)
        while not raging.done():
            began = time.monotonic()
            answers.append(good.get(path).status)
            worst = max(worst, time.monotonic() - began)
    assert set(answers) <= {403}
    assert set(raging.result()) <= {401, 429, None}
    with capsys.disabled():
        print(f" [{len(answers)} answers to a good token among {STRANGERS} others, the slowest after {worst * 1000:.0f} ms]", end="")


def grant_reading(cluster, annals, user):
    rule = {"apiGroups": [annals.kind.group], "resources": [annals.kind.resource], "verbs": ["get", "list", "watch", "create"]}
    cluster.make(f"{RBAC}/clusterroles", {"metadata": {"name": user}, "rules": [rule]})
    cluster.bind(user, ("ClusterRole", user), {"kind": "User", "name": user})
    client = cluster.client(user)
    processes.retry_until(lambda: client.get(annals.kind.path("default")).status == 200, f"{user} may list")
    return client


def test_who_cancels_much_ends_nobody_elses_requests(cluster, annals):
    """kube-apiserver has all its users on a few connections to annals, and passes on what they cancel."""
    http2 = pytest.importorskip("http2")
    path = annals.kind.path(cluster.make_namespace())
    cancelling, other = (grant_reading(cluster, annals, f"{what}-{uuid.uuid4()}") for what in ("cancels", "reads"))
    watch_list = f"{path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with other.watch(f"{path}?watch=true") as watch, http2.connect(cancelling) as session:
        for _ in range(CANCELLED // CANCELLED_AT_ONCE):
            streams = [session.begin("GET", watch_list) for _ in range(CANCELLED_AT_ONCE)]
            assert session.wait(lambda: all(stream.status for stream in streams)), session.goaways
            assert {stream.status for stream in streams} <= {200, 429}
            session.write(b"".join(http2.rst_stream(stream.number) for stream in streams))
            assert session.round_trip(), session.goaways
            assert other.get(path).status == 200
        assert other.post(path, annals.kind.body("seen")).status == 201
        assert watch.next()["object"]["metadata"]["name"] == "seen"
