"""Writers of every kind that has several versions, through every API version; and what must be in etcd's history of all that they wrote.

Nothing but a writer changes an object's mark: so a write that keeps it is somebody's who only changes how the object is stored."""

import dataclasses
import json

import session
import stored
import versions
import writers

NAMESPACE = "default"
V1, BETA = "annals.dev/v1", "annals.dev/v1beta1"
NEEDED = ["s0", "s1", "s2"]  # Providers that Dependents name; there are none
# Spelled as no encoder would, and stored so.
DATA = '{"born":%d,"z":1.0e0,"a":{"y":[],"x":{}},"big":123456789012345678901234567890.10,"text":"\\u0061/\\/\\u003c"}'


class Record(writers.Record):
    """A resourceVersion is another one as soon as the object is rewritten."""

    def acknowledge(self, version):
        super().acknowledge(version and dataclasses.replace(version, revision=0))


class Keeper(writers.Writer):
    """Chooses an API version for each step. Half of what it makes in the beginning it leaves alone."""

    api_versions = (V1, BETA)
    resource = ""

    def __init__(self, world, number, server, n_names=5):
        super().__init__(world, number, server, n_names)
        self.records = {name: Record() for name in self.records}

    def fill(self):
        """One of each name, before anything happens."""
        for name, record in self.records.items():
            mark, self.api_version = next(self.marks), self.random.choice(self.api_versions)
            reply, version = self._create(name, mark, record)
            assert reply.outcome == "ok", reply.body
            self._note_answer(reply, name, mark, record, version)

    def choose(self):
        return self.random.choice(list(self.records)[::2])

    def step(self):
        self.api_version = self.random.choice(self.api_versions)
        super().step()

    def path(self, api_version, name=""):
        return f"/apis/{api_version}/namespaces/{NAMESPACE}/{self.resource}/{name}".rstrip("/")

    def key(self, name):
        return f"{versions.OBJECTS}{versions.GROUPS[self.resource]}/{self.resource}/{NAMESPACE}/{name}"

    def _metadata(self, name, mark, **more):
        return {"name": name, "labels": {"mark": str(mark)}, "annotations": {"mark": str(mark), "padding": writers.PADDING, **more}}

    def _version(self, body, born):
        metadata = body["metadata"]
        marks = {int(metadata["labels"]["mark"]), int(metadata["annotations"]["mark"])}
        assert len(marks) == 1 and metadata["annotations"]["padding"] == writers.PADDING, f"half of a write: {body}"
        return writers.Version(marks.pop(), born, metadata["uid"], int(metadata["resourceVersion"]))


class RevisionKeeper(Keeper):
    resource, api_versions = "controllerrevisions", (V1, BETA, "apps/v1")

    def body_of(self, name, mark, born, api_version):
        return {"apiVersion": api_version, "kind": "ControllerRevision", "revision": mark, "data": born, "metadata": self._metadata(name, mark)}

    def version_of(self, body):
        version = self._version(body, body["data"]["born"])
        assert body["revision"] == version.mark and body["data"] == json.loads(DATA % version.born), f"half of a write: {body}"
        return version

    def _send(self, method, path, body):
        """With data spelled as it is, which no encoder of Python's would."""
        text = json.dumps(body)
        return self.session.ask(method, path, text.replace(f'"data": {body["data"]}', f'"data": {DATA % body["data"]}'))

    def _create(self, name, mark, _record):
        return self._send("POST", self.path(self.api_version), self.body_of(name, mark, mark, self.api_version)), writers.Version(mark, mark)

    def _replace(self, name, mark, record):
        born = record.acknowledged.born
        return self._send("PUT", self.path(self.api_version, name), self.body_of(name, mark, born, self.api_version)), writers.Version(mark, born)


class ProviderKeeper(Keeper):
    """One is born with a finalizer, which every later write takes away: then it can be deleted at once."""

    resource = "providers"

    def body_of(self, name, mark, born, api_version):
        return {"apiVersion": api_version, "kind": "Provider", "metadata": self._metadata(name, mark), "spec": {"data": {"mark": mark, "born": born}}}

    def version_of(self, body):
        data = body["spec"]["data"]
        version = self._version(body, data["born"])
        assert data["mark"] == version.mark, f"half of a write: {body}"
        return version

    def _update(self, name, mark, _record):
        change = {"metadata": {**self._metadata(name, mark), "finalizers": None}, "spec": {"data": {"mark": mark}}}
        return self.session.ask("PATCH", self.path(self.api_version, name), change, "application/merge-patch+json"), writers.Version(mark, 0)

    def _delete(self, name, mark, record):
        if record.acknowledged.mark == record.acknowledged.born:
            return self._update(name, mark, record)
        return super()._delete(name, mark, record)


class DependentKeeper(Keeper):
    """Of one Provider or of three, which v1beta1 cannot express."""

    resource = "dependents"

    def body_of(self, name, mark, born, api_version):
        metadata, names = self._metadata(name, mark, born=str(born)), self._names(born)
        if api_version == BETA:
            spec = {"providerName": names[0]}
        else:
            spec = {"providers": [{"kind": "Provider", "name": needed} for needed in names]}
        return {"apiVersion": api_version, "kind": "Dependent", "metadata": metadata, "spec": spec}

    def _names(self, born):
        return NEEDED if born % 2 else NEEDED[:1]

    def version_of(self, body):
        born, spec = int(body["metadata"]["annotations"]["born"]), body["spec"]
        shown = [spec["providerName"]] if "providerName" in spec else [named["name"] for named in spec["providers"]]
        wanted = self._names(born)[:1] if body["apiVersion"] == BETA else self._names(born)
        assert shown == wanted, f"it was born as {born}, and names {shown}"
        return self._version(body, born)

    def _create(self, name, mark, record):
        self.api_version = V1 if len(self._names(mark)) > 1 else self.api_version
        return super()._create(name, mark, record)

    def _update(self, name, mark, _record):
        return self.session.ask("PATCH", self.path(self.api_version, name), {"metadata": self._metadata(name, mark)},
                                "application/merge-patch+json"), writers.Version(mark, 0)


class CrateKeeper(Keeper):
    """Of tests/toy: v1beta1 has one thing, v1 any number."""

    resource, api_versions = "crates", ("toys.example.com/v1", "toys.example.com/v1beta1")

    def body_of(self, name, mark, born, api_version):
        metadata = self._metadata(name, mark, born=str(born))
        spec = {"thing": f"w{mark}"} if api_version.endswith("v1beta1") else {"things": [f"w{mark}"]}
        return {"apiVersion": api_version, "kind": "Crate", "metadata": metadata, "spec": spec}

    def version_of(self, body):
        spec, version = body["spec"], self._version(body, int(body["metadata"]["annotations"]["born"]))
        shown = [spec["thing"]] if "thing" in spec else spec["things"]
        assert shown == [f"w{version.mark}"], f"half of a write: {body}"
        return version

    def _update(self, name, mark, _record):
        spec = self.body_of(name, mark, 0, self.api_version)["spec"]
        change = {"metadata": self._metadata(name, mark), "spec": spec}
        return self.session.ask("PATCH", self.path(self.api_version, name), change, "application/merge-patch+json"), writers.Version(mark, 0)


class OldCrateKeeper(CrateKeeper):
    """Of who knows no other version."""

    api_versions = ("toys.example.com/v1beta1",)


KEEPERS = [RevisionKeeper, ProviderKeeper, DependentKeeper]


# ---- what must be there ----


def check_history(changes, members):
    """Everything that was ever there was written by one of the writes that may have happened, and all that was acknowledged, when it was said to be."""
    keepers = {member.key(name): member for member in members for name in member.records}
    made, data = {}, {}
    for change in changes:
        if change.key in keepers and change.text is not None:
            value = stored.Stored(change.text)
            made.setdefault(int(value.mark), change.revision)
            assert data.setdefault(value.uid, value.members.get("data")) == value.members.get("data"), f"the data of {change.key} is spelled otherwise"
    for member in members:
        for mark, (name, revision) in member.acknowledged.items():
            assert made.get(mark) == revision, f"{member.key(name)}, acknowledged as {mark} at {revision}, was stored at {made.get(mark)}"
        assert not member.refused & made.keys(), "refused, and yet carried out"
    known = set().union(*(member.acknowledged.keys() | member.lost for member in members))
    assert made.keys() <= known, "nobody wrote this"


def check_what_is_there(world, members):
    """As each server shows it through each API version, and as etcd has it, byte for byte."""
    texts = versions.objects(world.gateway)
    for number in range(len(world.servers)):
        asking = session.Session(world, number)
        for member in members:
            for member.api_version in member.api_versions:
                for name in member.records:
                    member.check(name, asking)
        asking.close()
    for member in members:
        for name, record in member.records.items():
            text = texts.get(member.key(name))
            assert (text is None) == (record.acknowledged is None), f"{member.key(name)} is {text}, and should be {record}"
            if text and member.resource == "controllerrevisions":
                check_spelling(world, member, name, stored.Stored(text))


def check_spelling(world, member, name, value):
    wanted = DATA % json.loads(value.members["data"])["born"]
    assert value.members["data"] == wanted, f"{name} has {value.members['data']}"
    for server in world.servers:
        for api_version in member.api_versions:
            shown = server.get(member.path(api_version, name)).text
            assert f'"data":{wanted}' in shown, f"{api_version} shows {shown}"
