"""What a watcher must see, worked out from etcd's history."""

import collections
import dataclasses
import json
import typing

Event = collections.namedtuple("Event", "type revision object")

# matched before, matches now: what that is to a watcher
TYPES = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}


@dataclasses.dataclass(frozen=True)
class Form:
    """What is watched: where, with which selector, and which objects that means."""

    name: str
    namespace: str = ""
    selector: str = ""  # of the query
    matches: typing.Callable = lambda value: True

    def wants(self, value):
        return value is not None and self.namespace in ("", value["metadata"]["namespace"]) and self.matches(value)


DIGEST = "annals.dev/digest"
digests = {}  # data: what API versions of annals called it


def meaning(value):
    """An object without what differs between what is stored and what is shown. Versions of annals.dev show a digest where etcd need not have it; equal data have equal ones."""
    metadata = {name: member for name, member in value["metadata"].items() if name not in ("resourceVersion", "annotations")}
    annotations = dict(value["metadata"].get("annotations", {}))
    if (digest := annotations.pop(DIGEST, None)) is not None:
        known = digests.setdefault(json.dumps(value["data"], sort_keys=True), digest)
        assert known == digest, f"two digests of {value['data']}: {known}, {digest}"
    return {**value, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}, "apiVersion": ""}


def transitions(truth, form, after, until):
    """The events of a watch from revision `after` on, up to `until`."""
    for change in truth.after(after):
        if change.revision > until:
            return
        (_, old), _ = truth.change_at(change.key, change.revision)
        new = change.value
        kind = TYPES.get((form.wants(old), form.wants(new)))
        if kind:
            yield Event(kind, change.revision, meaning(old if kind == "DELETED" else new))


def existing(truth, form, revision):
    """What a list shows: {key: (revision, object)}."""
    return {key: (version, meaning(value)) for key, (version, value) in truth.state(revision).items() if form.wants(value)}
