"""What clients of Kubernetes' own kinds send: protobuf. kubectl's `create namespace` and client-go's typed clients know no other form."""

import pytest

from objects import APPS, NAMESPACES, revision, revisions
from processes import retry_until

PROTOBUF = "application/vnd.kubernetes.protobuf"
SEND = {"Content-Type": PROTOBUF, "Accept": f"{PROTOBUF},application/json"}
LISTED = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml"


def varint(n):
    return bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80]) + varint(n >> 7)


def part(number, value):
    """A field: a number, or bytes of any meaning."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def envelope(api_version, kind, raw):
    return b"k8s\0" + part(1, part(1, api_version) + part(2, kind)) + part(2, raw)


def revision_body(name="a", data='{"n":1.0}', number=1):
    return envelope(APPS, "ControllerRevision", part(1, part(1, name)) + part(2, part(1, data)) + part(3, number))


class Namespace:
    """kubectl on a namespace that a test makes itself."""

    def __init__(self, annals, binary, name):
        self.annals, self.binary, self.name, self.path = annals, binary, name, f"{NAMESPACES}/{name}"

    def __call__(self, *arguments):
        done = self.annals.kubectl(*arguments, binary=self.binary)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def k(annals, kubectl_binary, namespace):
    made = Namespace(annals, kubectl_binary, namespace + "-typed")
    yield made
    annals.delete(made.path)


def test_kubectl_creates_and_deletes_a_namespace(k):
    assert k("create", "namespace", k.name) == f"namespace/{k.name} created\n"
    stored = k.annals.get(k.path).json
    assert stored["status"] == {"phase": "Active"}
    assert stored["metadata"]["labels"] == {"kubernetes.io/metadata.name": k.name}
    assert f'namespace "{k.name}" deleted' in k("delete", "ns", k.name)
    assert k.annals.get(k.path).status == 404


def test_kubectl_creates_a_namespace_for_show(k):
    assert k("create", "ns", k.name, "--dry-run=server") == f"namespace/{k.name} created (server dry run)\n"
    assert k.annals.get(k.path).status == 404


def test_a_controller_finishes_a_namespace(annals):
    """One of its own beside the namespace controller, which it waits for."""
    path = f"{NAMESPACES}/finished"
    assert annals.post(NAMESPACES, {"metadata": {"name": "finished"}, "spec": {"finalizers": ["example.com/mine"]}}).status == 201
    assert annals.delete(path).status == 200
    retry_until(lambda: annals.get(path).json["spec"]["finalizers"] == ["example.com/mine"], "the namespace controller's consent")
    empty = envelope("v1", "Namespace", part(1, part(1, "finished")) + part(2, b"") + part(3, b""))
    assert annals.request("PUT", path + "/finalize", empty, headers=SEND).status == 200
    assert annals.get(path).status == 404


def test_data_keeps_its_spelling(annals, namespace):
    data = '{"n":1.0, "big":18446744073709551617}'
    made = annals.request("POST", revisions(namespace), revision_body(data=data), headers=SEND)
    assert (made.status, made.headers["Content-Type"]) == (201, "application/json")
    assert data.replace(" ", "") in annals.get(f"{revisions(namespace)}/a").text


def test_an_update_in_protobuf_is_one_in_json(annals, namespace):
    annals.post(revisions(namespace), revision(data={"n": 1}))
    path = f"{revisions(namespace)}/a"
    same = annals.request("PUT", path, revision_body(data='{"n":1}', number=2), headers=SEND)
    assert (same.status, same.json["revision"]) == (200, 2)
    other = annals.request("PUT", path, revision_body(data='{"n":2}'), headers=SEND)
    assert (other.status, other.json["reason"]) == (422, "Invalid")


def test_options_of_a_deletion(annals, namespace):
    annals.post(revisions(namespace), revision())
    path = f"{revisions(namespace)}/a"
    options = {"dry run": part(5, "All"), "precondition": part(2, part(1, "another-uid")), "none": b""}
    got = {name: annals.request("DELETE", path, envelope("v1", "DeleteOptions", raw), headers=SEND).status for name, raw in options.items()}
    assert got == {"dry run": 200, "precondition": 409, "none": 200}
    assert annals.get(path).status == 404


@pytest.mark.parametrize("body, message", [
    (b"k8s\0junk", "the object provided is unrecognized (must be of type ControllerRevision): unexpected EOF (6b3873006a756e6b)"),
    (b"{}", "the object provided is unrecognized (must be of type ControllerRevision): provided data does not appear to be a protobuf message, "
            "expected prefix [107 56 115 0] ({})"),
    (envelope("v1", "Pod", b"junk"), "Pod in version \"v1\" cannot be handled as a ControllerRevision: "),
    (revision_body(data='{"n":}'), 'ControllerRevision in version "v1" cannot be handled as a ControllerRevision: ControllerRevision.data: '
                                   "invalid character '}' looking for beginning of value"),
], ids=["junk", "json", "another-kind", "opaque-part"])
def test_what_is_malformed_is_refused_with_a_sentence(annals, namespace, body, message):
    refused = annals.request("POST", revisions(namespace), body, headers=SEND)
    assert (refused.status, refused.json["reason"]) == (400, "BadRequest")
    assert refused.json["message"].startswith(message)


def test_answers_are_never_protobuf(annals):
    assert annals.get(NAMESPACES, headers={"Accept": PROTOBUF}).status == 406
    assert annals.get(NAMESPACES, headers={"Accept": f"{PROTOBUF},application/json"}).headers["Content-Type"] == "application/json"


def test_patches_are_never_protobuf(annals, namespace):
    assert annals.request("PATCH", f"{NAMESPACES}/{namespace}", b"k8s\0", headers=SEND).status == 415


def test_other_formats_are_told_what_there_is(annals, namespace):
    refused = annals.request("POST", revisions(namespace), b"<a/>", headers={"Content-Type": "application/xml"})
    assert (refused.status, refused.json["message"]) == (415, f"{LISTED}, {PROTOBUF}")
