"""Recorded states and Histories are stored in compressed form. Clients see the same bytes as before, and damage is found."""

import base64
import concurrent.futures
import json

import processes
import registrations

from objects import ANNALS
from test_snapshot_changes import HISTORIES, REVISIONS, Recording

OBJECTS = "/annals/objects/annals.dev/"
BASES = "/annals/objects/-/bases/"
FORM = '"apiVersion":"annals.dev/zstd"'
KINDS = ("controllerrevisions", "histories")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
FORMS = {"/apis/annals.dev/v1/controllerrevisions": ("application/json", PARTIAL), "/apis/annals.dev/v1/histories": ("application/json", PARTIAL),
         "/apis/apps/v1/controllerrevisions": ("application/json", PARTIAL, "application/vnd.kubernetes.protobuf")}


def state(n, of=40):
    """A state of 2 KiB, of which a few bytes are like in no other."""
    return {"kind": "ConfigMap", "data": {f"file-{i}": f"{i * 2654435761 % 10 ** 10:010d} of {i} " * 4 + (str(n) if i == n % of else "") for i in range(of)}}


def take(recording, numbers, limit=10):
    for n in numbers:
        recording.take(state(n), "Changed" if recording.history()["status"].get("changes") else "Created", spec={"historyLimit": limit})


def pairs(store, prefix):
    """All keys below it, with values and mod revisions."""
    kvs = json.loads(store.ctl("get", "--prefix", prefix, "-w", "json")).get("kvs", [])
    return {base64.b64decode(kv["key"]).decode(): (base64.b64decode(kv.get("value", "")), kv["mod_revision"]) for kv in kvs}


def shown(server):
    """What every kind of reader gets, as bytes."""
    answers = {}
    for path, forms in FORMS.items():
        for accepted in forms:
            for encoding in ("identity", "gzip"):
                got = server.get(path, headers={"Accept": accepted, "Accept-Encoding": encoding})
                assert got.status == 200, got
                answers[path, accepted, encoding] = got.body
        rows = server.get(path, headers={"Accept": TABLE}).json["rows"]
        answers[path, "rows"] = [row["object"] for row in rows]
        version, _, kind = path.removeprefix("/apis/").rpartition("/")
        for item in server.get(path).json["items"]:
            at = f"/apis/{version}/namespaces/default/{kind}/{item['metadata']['name']}"
            one = server.get(at)
            assert one.status == 200 and {**item, "kind": one.json["kind"], "apiVersion": version} == one.json
            answers[at] = one.body
            answers[at, "yaml"] = server.get(at, headers={"Accept": "application/yaml"}).body
    return answers


def assert_shows_the_same(server, again):
    """again: a server that has loaded what the other one has followed. Lists have the revision of etcd, so nothing may be written meanwhile."""
    processes.retry_until(lambda: shown(server) == shown(again), "both to show the same")


def revision_keys(store):
    return {key: pair for key, pair in pairs(store, OBJECTS + "controllerrevisions/").items()}


def test_a_change_costs_what_has_changed(server, store):
    recording, sizes = Recording(server), []
    take(recording, range(20))
    for n in range(20, 30):
        take(recording, [n])
        written = {key: value for key, (value, revision) in pairs(store, "/annals/").items() if revision == int(recording.version)}
        assert sorted(key.split("/")[2] for key in written if not key.startswith(BASES)) == ["history", "objects", "objects"]
        assert all(FORM in value.decode() for key, value in written.items() if key.startswith(OBJECTS))
        sizes.append(sum(len(key) + len(value) for key, value in written.items()))
    assert sum(sizes) < 10 * 2200, "a new base is not made with each change"
    assert 2 <= len(pairs(store, BASES)) <= 8


def test_readers_see_the_same_before_and_after_a_restart(server, store, serve):
    recording = Recording(server)
    take(recording, range(8))
    assert_shows_the_same(server, serve(store.endpoint))
    items = server.get(REVISIONS).json["items"]
    assert [item["data"] for item in sorted(items, key=lambda item: item["revision"])] == [state(n) for n in range(8)]


def test_values_as_earlier_releases_wrote_them_are_read_beside_the_others(server, store, serve):
    """The same objects, as they would be stored without compression."""
    recording = Recording(server)
    take(recording, range(6))
    before = {at: text for at, text in shown(server).items() if isinstance(at, str)}
    for kind in KINDS:
        for item in server.get(f"/apis/annals.dev/v1/{kind}").json["items"][::2]:
            del item["metadata"]["resourceVersion"]
            plain = {"kind": item["kind"] if "kind" in item else {"histories": "History"}.get(kind, "ControllerRevision"), "apiVersion": ANNALS, **item}
            store.ctl("put", f"{OBJECTS}{kind}/default/{item['metadata']['name']}", json.dumps(plain, separators=(",", ":")))
    stored = [value.decode() for value, _ in {**pairs(store, OBJECTS + "controllerrevisions/"), **pairs(store, OBJECTS + "histories/")}.values()]
    assert any(FORM in value for value in stored) and any(FORM not in value for value in stored)

    def without_version(text):
        one = json.loads(text)
        del one["metadata"]["resourceVersion"]
        return json.dumps(one)

    again = serve(store.endpoint)
    for at, text in before.items():
        assert without_version(again.get(at).body) == without_version(text)
    recording.server, recording.version = again, again.get(recording.path).json["metadata"]["resourceVersion"]
    take(recording, [6, 2])
    assert {item["revision"]: item["data"] for item in again.get(REVISIONS).json["items"]}[8] == state(2)


def test_watches_bring_what_reads_show(server, store, serve):
    other = serve(store.endpoint)
    start = {kind: other.get(f"/apis/annals.dev/v1/{kind}").json["metadata"]["resourceVersion"] for kind in KINDS}
    recording = Recording(server)
    take(recording, range(6), limit=2)
    end = int(recording.version)
    for kind in KINDS:
        objects = {}
        with other.watch(f"/apis/annals.dev/v1/{kind}?watch=1&resourceVersion={start[kind]}") as watch:
            for event in watch:
                name = event["object"]["metadata"]["name"]
                if event["type"] == "DELETED":
                    assert event["object"]["data"] == objects.pop(name)["data"]
                else:
                    objects[name] = event["object"]
                if int(event["object"]["metadata"]["resourceVersion"]) == end and (kind == "histories" or len(objects) == 3):
                    break
        assert {name: other.get(f"/apis/annals.dev/v1/namespaces/default/{kind}/{name}").json for name in objects} == objects


def test_bases_go_when_no_state_needs_them(server, store):
    """States that have nothing in common make a base each; few are kept."""
    recording = Recording(server)
    for n in range(12):
        recording.take({"kind": "ConfigMap", "data": {f"{i}": f"{hash((n, i)):x}" for i in range(100)}}, "Created" if n == 0 else "Changed", spec={"historyLimit": 1})
    assert len(pairs(store, BASES)) > 10
    processes.retry_until(lambda: len(pairs(store, BASES)) <= 4, "the bases that nobody needs to go", 40)
    assert len(server.get(REVISIONS).json["items"]) == 2
    for name in [item["metadata"]["name"] for item in server.get(REVISIONS).json["items"]]:
        assert server.delete(f"{REVISIONS}/{name}").status == 200
    assert server.delete(recording.path).status == 200
    processes.retry_until(lambda: not pairs(store, BASES), "all bases to go", 40)


def test_a_state_that_a_user_changes_is_still_read(server, store, serve):
    recording = Recording(server)
    take(recording, range(4))
    name = server.get(REVISIONS).json["items"][1]["metadata"]["name"]
    assert server.patch(f"{REVISIONS}/{name}", {"metadata": {"labels": {"a": "b"}}}).status == 200
    [value] = pairs(store, f"{OBJECTS}controllerrevisions/default/{name}").values()
    assert FORM in value[0].decode() and '"base"' not in value[0].decode()
    assert_shows_the_same(server, serve(store.endpoint))


def fsck(store):
    done = processes.run([processes.BIN, "fsck", "--etcd-servers", store.endpoint, "-o", "json"])
    return [(finding["check"], finding["subject"]) for finding in json.loads(done.stdout)["findings"]]


def without_check(findings, check):
    return [finding for finding in findings if finding[0] == check]


def test_fsck_finds_damage(server, store):
    recording = Recording(server)
    take(recording, range(4))
    assert fsck(store) == []
    keys = sorted(revision_keys(store))
    name = keys[0].rpartition("/")[2]
    value = revision_keys(store)[keys[0]][0].decode()
    at = value.index('"zstd":"') + 60
    store.ctl("put", keys[0], value[:at] + ("A" if value[at] != "A" else "B") + value[at + 1:])
    assert ("value", f"controllerrevisions.annals.dev default/{name}") in fsck(store)
    store.ctl("put", keys[0], value)
    assert fsck(store) == []
    [(base, (text, _))] = [pair for pair in pairs(store, BASES).items() if b"/history/" in pair[1][0]]
    store.ctl("del", base)
    lost = fsck(store)
    assert len(without_check(lost, "base")) == 4
    store.ctl("put", base, "/history/default/x/\nnothing")
    damaged = fsck(store)
    assert len(without_check(damaged, "base")) == 5 and ("base", base) in damaged


def test_a_damaged_value_is_reported_with_its_key_and_is_no_absence(server, store, serve):
    recording = Recording(server)
    take(recording, range(3))
    key = sorted(revision_keys(store))[0]
    name = key.rpartition("/")[2]
    value = revision_keys(store)[key][0].decode()
    at = value.index('"zstd":"') + 60
    store.ctl("put", key, value[:at] + ("A" if value[at] != "A" else "B") + value[at + 1:])
    assert server.stderr.wait(f"what etcd holds at {key}")
    again = serve(store.endpoint)
    assert again.stderr.wait(f"what etcd holds at {key}")
    # Nothing takes its place, and what it continues stays.
    made = again.post(REVISIONS, {"metadata": {"name": name}, "data": {"a": "b"}, "revision": 1})
    assert made.status == 500, made
    store.ctl("put", key, value)
    processes.retry_until(lambda: again.get(f"{REVISIONS}/{name}").status == 200, "the object to be read again")


def test_exports_are_the_same_and_can_be_imported(server, store, serve, etcd, folder):
    recording = Recording(server)
    take(recording, range(5))
    file = folder / "all.json"
    assert processes.run([processes.BIN, "export", "--etcd-servers", store.endpoint, "--output", str(file)]).returncode == 0
    assert FORM not in file.read_text()
    other = etcd()
    done = processes.run([processes.BIN, "import", "--etcd-servers", other.endpoint, "--exact", "--create-namespaces", str(file)])
    assert done.returncode == 0, done
    there = serve(other.endpoint).get(REVISIONS).json["items"]
    assert sorted(item["revision"] for item in there) == [1, 2, 3, 4, 5]
    assert {item["revision"]: item["data"] for item in there} == {n + 1: state(n) for n in range(5)}
    values = pairs(other, OBJECTS + "controllerrevisions/").values()
    assert len(values) == 5 and all(FORM in value.decode() for value, _ in values)


def packed_keys(store):
    return [key for key, (value, _) in pairs(store, OBJECTS).items() if FORM in value.decode()]


def test_nothing_is_compressed_while_a_server_lives_that_cannot_read_it(server, store):
    """An earlier release registers without the form."""
    recording = Recording(server)
    [(mine, _)] = pairs(store, registrations.key_of(server)).values()
    theirs = json.loads(mine)
    assert theirs["kinds"]["histories.annals.dev"].pop("forms") == ["annals.dev/zstd"]
    assert theirs["kinds"]["controllerrevisions.annals.dev"].pop("forms") == ["annals.dev/zstd"]
    assert not any("forms" in kind for kind in theirs["kinds"].values())
    lease = store.ctl("lease", "grant", "120").split()[1]
    store.ctl("put", registrations.REPLICAS + "annals-of-before", json.dumps(theirs), f"--lease={lease}")
    replicas = "/apis/annals.dev/v1/storageversions/histories.annals.dev"
    processes.retry_until(lambda: len(server.get(replicas).json["status"]["storageVersions"]) == 2, "the server to see the other one")
    take(recording, range(3))
    assert not packed_keys(store) and not pairs(store, BASES)
    store.ctl("lease", "revoke", lease)
    processes.retry_until(lambda: len(server.get(replicas).json["status"]["storageVersions"]) == 1, "the server to see that it is alone")
    take(recording, range(3, 5))
    assert sorted(FORM in value.decode() for value, _ in revision_keys(store).values()) == [False] * 3 + [True] * 2
    assert {item["revision"]: item["data"] for item in server.get(REVISIONS).json["items"]} == {n + 1: state(n) for n in range(5)}


def test_values_become_plain_text_before_a_downgrade(server, store, serve):
    """With --compress-history=false on one server nobody writes the form, and what is stored so is rewritten."""
    recording = Recording(server)
    take(recording, range(5))
    server.stop()
    plain = serve(store.endpoint, "--compress-history=false")

    processes.retry_until(lambda: not packed_keys(store), "all values to be plain text", 40)
    processes.retry_until(lambda: not pairs(store, BASES), "the bases to go", 40)
    assert {item["revision"]: item["data"] for item in plain.get(REVISIONS).json["items"]} == {n + 1: state(n) for n in range(5)}
    recording.server, recording.version = plain, plain.get(recording.path).json["metadata"]["resourceVersion"]
    take(recording, [7])
    assert not packed_keys(store) and fsck(store) == []
    beside = serve(store.endpoint)
    recording.server = beside
    take(recording, [8])
    assert not packed_keys(store), "the other server says that it does not read the form"


def test_values_in_a_form_that_a_server_does_not_know_are_no_absence(server, store):
    """As an earlier release sees the compressed form: as a version that it does not know."""
    recording = Recording(server)
    take(recording, range(2))
    key = sorted(revision_keys(store))[0]
    value = revision_keys(store)[key][0].decode()
    store.ctl("put", key, value.replace("annals.dev/zstd", "annals.dev/zstd9"))
    processes.retry_until(lambda: server.get(REVISIONS).status == 503, "reads to be refused")
    refused = server.post(REVISIONS, {"metadata": {"name": key.rpartition("/")[2]}, "data": {"a": "b"}, "revision": 1})
    assert refused.status == 503, refused
    store.ctl("put", key, value)
    processes.retry_until(lambda: server.get(REVISIONS).status == 200, "reads to be answered")
    assert len(server.get(REVISIONS).json["items"]) == 2


INDEX = "/annals/history/default/"


def made_by_hand(recording, name, number, data, **metadata):
    return {"metadata": {"name": name, "ownerReferences": [recording.owner], **metadata}, "revision": number, "data": data}


def test_a_state_has_one_entry_in_the_index_and_may_have_the_other(server, store):
    """A build between two releases wrote both entries, and the uid into them."""
    recording = Recording(server)
    take(recording, range(3))
    assert [key.split("/")[5] for key in pairs(store, INDEX)] == ["number"] * 3 and {value for value, _ in pairs(store, INDEX).values()} == {b""}
    newest = max(server.get(REVISIONS).json["items"], key=lambda item: item["revision"])
    name, uid = newest["metadata"]["name"], newest["metadata"]["uid"]
    [number] = [key for key in pairs(store, INDEX) if key.endswith(name)]
    digest = f"{number.partition('/number/')[0]}/digest/{newest['metadata']['annotations']['annals.dev/digest']}/{name}"
    for key in (number, digest):
        store.ctl("put", key, uid)
    assert fsck(store) == []
    store.ctl("put", digest, "x")
    assert len(without_check(fsck(store), "history")) == 1
    store.ctl("del", digest)
    store.ctl("del", number)
    assert len(without_check(fsck(store), "history")) == 1
    store.ctl("put", digest, uid)
    assert server.delete(f"{REVISIONS}/{name}").status == 200
    assert not [key for key in pairs(store, INDEX) if key.endswith(name)] and not without_check(fsck(store), "history")


def test_a_state_that_is_recorded_is_not_created_again_by_hand(server, store):
    recording = Recording(server)
    take(recording, range(3))
    [second] = [item for item in server.get(REVISIONS).json["items"] if item["revision"] == 2]
    for query in ("", "?dryRun=All"):
        refused = server.post(REVISIONS + query, made_by_hand(recording, "again", 9, state(1)))
        assert refused.status == 409 and f'"{second["metadata"]["name"]}" of the same controller has the same data' in refused.json["message"], refused
    refused = server.post(REVISIONS, made_by_hand(recording, "again", 2, state(7)))
    assert refused.status == 409 and "revision 2" in refused.json["message"]
    assert server.post(REVISIONS, made_by_hand(recording, "again", 9, state(1), annotations={"annals.dev/allow-duplicates": "true"})).status == 201
    assert server.post(REVISIONS, made_by_hand(recording, "other", 10, state(8))).status == 201
    orphan = {"metadata": {"name": "orphan"}, "revision": 1, "data": state(2)}
    assert server.post(REVISIONS, orphan).status == 201
    adopted = server.patch(f"{REVISIONS}/orphan", {"metadata": {"ownerReferences": [recording.owner]}, "revision": 11}, "application/merge-patch+json")
    assert adopted.status == 409 and "the same data" in adopted.json["message"], adopted
    assert not without_check(fsck(store), "history")


def test_of_creations_by_hand_at_once_one_keeps_the_state(server):
    """Nothing in the index says that the state is there: the cache does, and a guard that it has missed nothing."""
    recording = Recording(server)
    take(recording, range(2))
    for n in range(5, 10):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda i: server.post(REVISIONS, made_by_hand(recording, f"by-{n}-{i}", 100 * n + i, state(n))), range(8)))
        assert sorted(answer.status for answer in answers) == [201] + [409] * 7, answers
