"""Seed 002's examples as scripts (examples/statefulset-update), and kubectl's rollout commands as they are, on pods that come up."""

import itertools
import os
import subprocess

import pytest

from objects import BETA
from processes import BIN, PATIENCE, Process, ROOT, kubectl_since, kubectl_version, run
from sets import BROKEN, CONTROLLERREVISIONS, PODTEMPLATES, controller_of, number_of, room, world

pytestmark = pytest.mark.long_file

__all__ = ["room", "world"]  # fixtures

EXAMPLES = ROOT / "examples" / "statefulset-update"
SLIM = "gcr.io/google_containers/nginx-slim:"


class User:
    """Somebody with a shell, whose kubeconfig names the namespace."""

    def __init__(self, room, folder):
        self.room, self.kubectl = room, kubectl_since(1, 20)
        config = (room.server.dir / "kubeconfig").read_text()
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(config)
        (folder / "kubectl").symlink_to(self.kubectl)
        self.env = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}
        self.k("config", "set-context", "--current", f"--namespace={room.namespace}")

    def ends(self, *arguments, **more):
        return run([self.kubectl, *arguments], env=self.env, **more)

    def k(self, *arguments, **more):
        done = self.ends(*arguments, **more)
        assert done.returncode == 0, f"{arguments}:\n{done.stdout}{done.stderr}\n{self.room.show()}"
        return done.stdout

    def script(self, name):
        done = subprocess.run([f"./{name}"], cwd=EXAMPLES, env=self.env, capture_output=True, text=True, timeout=2 * PATIENCE)
        assert done.returncode == 0, f"{name}:\n{done.stdout}{done.stderr}\n{self.room.show()}"
        return done.stdout

    def versions(self):
        """Of web-0, web-1 ..., once the set is at rest: what it shows just now may be of before."""
        self.room.pulse()
        self.room.until(lambda: not any("deletionTimestamp" in pod["metadata"] for pod in self.room.pods().values()), "no pod is going")
        return [image.removeprefix(SLIM) for image in self.room.images().values()]


@pytest.fixture
def user(room, folder):
    return User(room, folder)


@pytest.fixture
def deployed(user):
    user.script("deploy.sh")
    assert user.versions() == ["0.8"] * 3
    return user


def undo(user):
    """kubectl reads ControllerRevisions; for PodTemplates there is the plugin."""
    if user.room.carrier == CONTROLLERREVISIONS:
        user.script("rollback.sh")
    else:
        plugin("undo", user)
        user.k("rollout", "status", "statefulset", "web")


def plugin(command, user, *arguments):
    done = run([BIN, "kubectl", command, "statefulset.annals.dev/web", *arguments], env=user.env)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{user.room.show()}"


# seeds: U82
def test_initial_deployment(user):
    told = user.script("deploy.sh")
    assert "statefulset.annals.dev/web created" in told
    room = user.room
    it, beta = room.settle(), room.get(api_version=BETA)
    pods = sorted(room.pods().values(), key=lambda pod: int(pod["metadata"]["resourceVersion"]))
    births = [e["message"] for e in sorted(room.all("events").values(), key=lambda e: int(e["metadata"]["resourceVersion"])) if e["message"].startswith("Create Pod")]
    assert births == [f"Create Pod web-{n} in StatefulSet web successful" for n in range(3)] and len(pods) == 3
    assert sorted(room.all("persistentvolumeclaims")) == ["www-web-0", "www-web-1", "www-web-2"]
    assert beta["spec"]["templateGeneration"] == beta["status"]["templateGeneration"] == beta["status"]["targetTemplateGeneration"] == 1
    (revision,) = room.history()
    assert controller_of(revision) == it["metadata"]["uid"] and number_of(revision) == 1


# seeds: U79 U83
def test_rolling_out_an_update(deployed):
    room = deployed.room
    before, since = room.uids(), room.server.get(room.path("pods")).json["metadata"]["resourceVersion"]
    told = deployed.script("update.sh")
    assert "statefulset.annals.dev/web configured" in told and "complete" in told.splitlines()[-1]
    assert deployed.versions() == ["0.9"] * 3
    assert not set(before.values()) & set(room.uids().values())
    with room.server.watch(f"{room.path('pods')}?watch=true&resourceVersion={since}") as events:
        deaths = itertools.islice((e["object"]["metadata"]["name"] for e in events if e["type"] == "DELETED"), 3)
        assert list(deaths) == ["web-2", "web-1", "web-0"]


# seeds: U84 U88 U89
def test_canary_and_its_rollback(deployed):
    before = deployed.room.uids()
    deployed.script("canary.sh")
    assert deployed.versions() == ["0.8", "0.8", "0.9"]
    undo(deployed)
    assert deployed.versions() == ["0.8"] * 3
    after = deployed.room.uids()
    assert [name for name in before if before[name] != after[name]] == ["web-2"]


# seeds: U85
def test_scaled_canary(deployed):
    before = deployed.room.uids()
    deployed.script("scaled-canary.sh")
    assert deployed.versions() == ["0.8", "0.8", "0.8", "0.9"]
    assert before.items() < deployed.room.uids().items()


# seeds: U86 U87 U80 U90
def test_stages_forward_and_back(deployed):
    deployed.script("canary.sh")
    deployed.script("forward.sh")
    assert deployed.versions() == ["0.8", "0.10", "0.10"]
    deployed.script("stages.sh")
    assert deployed.versions() == ["0.9"] * 3
    if deployed.room.carrier == CONTROLLERREVISIONS:
        assert deployed.room.get()["status"]["currentRevision"] == deployed.room.get()["status"]["updateRevision"]
        deployed.k("rollout", "undo", "statefulset", "web", "--to-revision=1")
    else:
        plugin("undo", deployed, "--to-revision=1")
    deployed.k("rollout", "status", "statefulset", "web")
    assert deployed.versions() == ["0.8"] * 3


@pytest.fixture
def revisions(room):
    if room.carrier == PODTEMPLATES:
        pytest.skip("kubectl reads ControllerRevisions")
    return room


# seeds: U15 U80 U81 U87 H49 H50
def test_kubectl_rollout_history_and_undo(revisions, user):
    room = revisions
    room.running(replicas=2)
    user.k("annotate", "statefulset", "web", "kubernetes.io/change-cause=the second")
    user.k("set", "image", "statefulset/web", "c=i:2")
    user.k("rollout", "status", "statefulset/web")
    listed = [line.split(None, 1) for line in user.k("rollout", "history", "statefulset", "web").splitlines()[2:] if line]
    assert [line[0] for line in listed] == ["1", "2"] and listed[1][1].strip() == "the second"
    assert "i:1" in user.k("rollout", "history", "statefulset", "web", "--revision=1")
    assert user.ends("rollout", "history", "statefulset", "web", "--revision=9").returncode
    for dry_run in ("client", "server"):
        user.k("rollout", "undo", "statefulset", "web", f"--dry-run={dry_run}")
        assert room.get()["spec"]["template"]["spec"]["containers"][0]["image"] == "i:2"
    user.k("rollout", "undo", "statefulset", "web")
    user.k("rollout", "status", "statefulset", "web")
    assert set(room.images().values()) == {"i:1"}
    assert [number_of(r) for r in room.history()] == [2, 3]
    if kubectl_version(user.kubectl) >= (1, 34):  # older ones write a null more than what they compare with has
        assert "skipped rollback" in user.k("rollout", "undo", "statefulset", "web", "--to-revision=3")
    user.k("rollout", "undo", "statefulset", "web", "--to-revision=2")
    user.k("rollout", "status", "statefulset", "web")
    assert set(room.images().values()) == {"i:2"}


# seeds: U14 U79
def test_kubectl_rollout_status_waits(user):
    """It goes on while a pod is not Ready, and ends well once all are."""
    user.room.running(replicas=2)
    user.room.image("i:2", annotations=BROKEN)
    user.room.until(lambda: user.room.images() == {"web-0": "i:1", "web-1": "i:2"}, "the first pod of the update")
    waiting = Process([user.kubectl, "rollout", "status", "statefulset/web"], env=user.env)
    assert waiting.stdout.wait("Waiting for")
    for name in ("web-1", "web-0"):
        user.room.until(lambda: user.room.images().get(name) == "i:2", f"{name} is updated")
        assert waiting.popen.poll() is None
        user.room.order(name, "ready", None)
    assert waiting.wait() == 0 and "complete" in waiting.stdout.text


# seeds: D5
def test_kubectl_rollout_restart(user):
    room = user.room
    before = room.running(replicas=2) and room.uids()
    user.k("rollout", "restart", "statefulset/web")
    user.k("rollout", "status", "statefulset/web")
    room.settle()
    assert not set(before.values()) & set(room.uids().values())
    assert len(room.history()) == 2
