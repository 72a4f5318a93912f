"""How long recorded states are kept: by age, number and bytes, for each object, whoever writes how often."""

import datetime
import json
import random

import pytest

import metrics
import processes
from processes import as_user, policy_rule, retry_until
from recorded import V1, history_name
from test_recordings import Seen, errors, send, what

CORE = "/api/v1"
TOKENS = tuple(f"{name}-token,{name},{n}" for n, name in enumerate(("admin", "bob", "eve"), 1))
RULES = tuple(policy_rule(user=name, namespace="*", apiGroup="*", resource="configmaps") for name in ("admin", "bob", "eve"))
DAY = 24 * 3600


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with processes.up_with_users(tmp_path_factory.mktemp("shop"), TOKENS, RULES) as up:
        yield up


def time_of(days, hours=0):
    """So long ago."""
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days, hours=hours)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class Kept(Seen):
    """An object whose states are seen at times that a test chooses."""

    def see(self, value, time, **keep):
        [result] = send(self.server, self.state({"n": str(value)}, time=time, **({"keep": keep} if keep else {})))
        assert result["result"] == "Recorded", result
        return result

    def trim(self, **keep):
        [result] = send(self.server, self.look("Unseen", keep=keep))
        return result

    def states(self):
        uid = self.server.get(self.history).json["metadata"]["uid"]
        items = self.server.get(f"{V1}/namespaces/{self.namespace}/controllerrevisions?fieldSelector=controller.uid={uid}").json["items"]
        return sorted(items, key=lambda item: item["revision"])

    def values(self):
        return [item["data"]["data"]["n"] for item in self.states()]

    def verify(self):
        status = self.status()
        numbers = [item["revision"] for item in self.states()]
        assert status["revisions"] == len(numbers)
        if "kept" in status:
            ranges = [list(map(int, part.split("-"))) for part in status["kept"].split(",")]
            assert [n for each in ranges for n in range(each[0], each[-1] + 1)] == numbers


def test_without_keep_the_limit_alone_counts(server):
    it = Kept(server, historyLimit=2)
    for n in range(5):
        it.see(n, time_of(400 - n))
    assert it.values() == ["2", "3", "4"]
    assert "kept" not in it.status() and it.status()["bytes"] > 0


def test_state_is_kept_for_a_time_after_it_was_replaced(server):
    it = Kept(server)
    keep = {"for": "240h", "atLeast": 0}
    it.see("old", time_of(40), **keep)
    it.see("long current", time_of(30), **keep)
    assert it.values() == ["old", "long current"]
    it.see("new", time_of(1), **keep)
    assert it.values() == ["long current", "new"]  # replaced a day ago
    it.verify()


def test_newest_states_are_kept_however_old_they_are(server):
    it = Kept(server)
    keep = {"for": "24h", "atLeast": 2}
    for n in range(5):
        it.see(n, time_of(100 - n), **keep)
    it.see("now", time_of(0), **keep)
    assert it.values() == ["3", "4", "now"]
    it.verify()


def test_old_states_are_thinned_to_one_a_day(server):
    it = Kept(server)
    keep = {"thinAfter": "48h", "atLeast": 0}
    noon = datetime.datetime.now(datetime.timezone.utc).replace(hour=12, minute=0, second=0)
    for day in (9, 8):
        for hour in range(3):
            at = noon - datetime.timedelta(days=day) + datetime.timedelta(hours=hour)
            it.see(f"{day}:{hour}", at.strftime("%Y-%m-%dT%H:%M:%SZ"), **keep)
    it.see("now", time_of(0), **keep)
    assert it.values() == ["9:0", "9:2", "8:2", "now"]  # the first state of all stays
    it.verify()
    changes = it.status()["changes"]
    assert len(changes) == 7  # changes are listed though their states have gone


def test_number_of_states_has_a_limit(server):
    it = Kept(server)
    for n in range(6):
        it.see(n, time_of(10 - n), atMost=3)
    assert it.values() == ["0", "3", "4", "5"]
    assert it.status()["kept"] == "1,4-6"
    it.verify()


def test_states_have_a_limit_in_bytes(server):
    it = Kept(server)
    dice = random.Random(7)
    for n in range(8):
        it.see(dice.randbytes(600).hex(), time_of(8 - n), bytes=4000)
    assert 2 <= len(it.values()) < 8 and it.status()["bytes"] <= 4000
    it.verify()
    it.see("x" * 20000, time_of(0), bytes=1024)
    assert len(it.values()) == 1 and it.status()["bytes"] > 20000  # the newest stays, whatever its size


def test_history_of_an_object_that_never_changes_again_is_trimmed(server):
    it = Kept(server, historyLimit=100)
    for n in range(60):
        it.see(n, time_of(100 - n))
    assert len(it.values()) == 60
    before = it.status()
    first = it.trim(**{"for": "24h", "atLeast": 3})
    assert (first["result"], first["trimmed"], first["more"], first["history"]["revisions"]) == ("Trimmed", 40, True, 20)
    second = it.trim(**{"for": "24h", "atLeast": 3})
    assert (second["result"], second["trimmed"], "more" in second, second["history"]["revisions"]) == ("Trimmed", 16, False, 4)
    assert it.values() == ["56", "57", "58", "59"]
    after = it.status()
    assert after["changes"] == before["changes"] and after["revision"] == before["revision"] and after["totalChanges"] == 60
    assert second["history"]["bytes"] == after["bytes"] < before["bytes"]
    it.verify()
    assert it.trim(**{"for": "24h", "atLeast": 3})["result"] == "Equal"
    assert it.server.get(it.history).json["metadata"]["resourceVersion"] == second["history"]["resourceVersion"]


def test_deleted_object_is_trimmed_and_unknown_one_is_equal(server):
    it = Kept(server)
    for n in range(4):
        it.see(n, time_of(100 - n))
    send(server, it.gone())
    assert it.trim(atMost=1)["trimmed"] == 2 and it.values() == ["0", "3"]
    assert it.status()["deletionTime"]
    assert Kept(server).trim(atMost=1)["result"] == "Equal"


def test_recorder_whose_clock_is_ahead_makes_no_state_old(server):
    it = Kept(server)
    keep = {"for": "24h", "atLeast": 0}
    it.see("today", time_of(0), **keep)
    it.see("far away", time_of(-4000), **keep)
    assert it.values() == ["today", "far away"]


def test_rules_are_checked(server):
    it = Kept(server)
    bad = {"for": "long", "atLeast": -1, "atMost": 1001, "thinAfter": "-1h", "bytes": 1}
    [result] = send(server, it.state({}, keep=bad))
    fields = [cause["field"] for cause in result["error"]["details"]["causes"]]
    assert fields == [f"spec.sightings[0].keep.{name}" for name in ("for", "thinAfter", "atLeast", "atMost", "bytes")]
    assert errors(send(server, it.look("Unseen"), it.look("Unseen", keep={"atLeast": 5, "atMost": 4}))) == [(422, "Invalid"), (422, "Invalid")]
    assert what(send(server, it.look("Unseen", keep={}))) == ["Equal"]


def recorder(**spec):
    return {"metadata": {"name": "kept"}, "spec": {"resources": [{"groups": [""], "resources": ["configmaps"]}], **spec}}


def test_recorder_has_one_limit_of_the_number(server):
    def causes(**spec):
        answer = server.post(f"{V1}/recorders?dryRun=All", recorder(**spec))
        return [] if answer.status == 201 else [cause["field"] for cause in answer.json["details"]["causes"]]

    assert causes() == causes(keep={}) == causes(historyLimit=50, keep={"atMost": 50}) == causes(keep={"atMost": 50}) == []
    assert causes(historyLimit=50, keep={"for": "1h"}) == causes(historyLimit=50, keep={"atMost": 51}) == ["spec.historyLimit"]
    assert causes(keep={"atLeast": 5, "atMost": 3}) == ["spec.keep.atLeast"]
    one = {"groups": [""], "resources": ["configmaps"], "keep": {"for": "soon"}}
    assert causes(resources=[one]) == ["spec.resources[0].keep.for"]


def test_snapshot_of_another_owner_has_no_keep(server):
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u", "controller": True}
    answer = server.post(f"{V1}/namespaces/default/snapshots", {"spec": {"owner": owner, "data": {}, "keep": {}}})
    assert answer.status == 422 and "spec.keep: Forbidden: is for states of a History" in answer.json["message"]


def test_sixty_writes_of_one_user_push_no_other_out(shop):
    """The rules come from the Recorder: those of the resource, completed by the general ones. Each state says who made it."""
    rules = [{"groups": [""], "resources": ["configmaps"], "keep": {"atMost": 6}}]
    made = shop.post(f"{V1}/recorders", recorder(resources=rules, keep={"atMost": 1, "for": "240h"}))
    assert made.status == 201, made
    admin, bob, eve = (as_user(shop, name) for name in ("admin", "bob", "eve"))
    path = f"{CORE}/namespaces/default/configmaps"

    def history():
        answer = shop.get(f"{V1}/namespaces/default/histories/{history_name('ConfigMap', 'default', 'flooded')}")
        return answer.json.get("status", {}) if answer.status == 200 else {}

    def recorded(n):
        return retry_until(lambda: history().get("totalChanges") == n, f"{n} changes: {history().get('totalChanges')}")

    retry_until(lambda: shop.get(f"{V1}/recorders/kept").json["status"].get("conditions", [{}])[0].get("status") == "True", "recording")
    assert admin.post(path, {"metadata": {"name": "flooded"}, "data": {"n": "first"}}).status == 201
    recorded(1)
    assert bob.patch(f"{path}/flooded", {"data": {"n": "bob"}}).status == 200
    recorded(2)
    for n in range(60):
        assert eve.patch(f"{path}/flooded", {"data": {"n": f"eve {n}"}}).status == 200
        recorded(3 + n)
    uid = shop.get(f"{V1}/namespaces/default/histories/{history_name('ConfigMap', 'default', 'flooded')}").json["metadata"]["uid"]
    items = sorted(shop.get(f"{V1}/namespaces/default/controllerrevisions?fieldSelector=controller.uid={uid}").json["items"], key=lambda it: it["revision"])
    assert [it["data"]["data"]["n"] for it in items] == ["first", "bob", *(f"eve {n}" for n in range(55, 60))]
    listed = {change.get("revision") for change in history()["changes"]}
    assert items[0]["metadata"]["name"] not in listed and items[1]["metadata"]["name"] not in listed  # 50 changes are listed
    facts = [json.loads(it["metadata"]["annotations"]["annals.dev/change"]) for it in items]
    assert [fact["user"] for fact in facts] == ["admin", "bob"] + ["eve"] * 5
    assert [fact["type"] for fact in facts] == ["Created"] + ["Changed"] * 6
    shown = processes.run([processes.BIN, "kubectl", "history", "cm/flooded"], env=shop.kubectl_env())
    assert shown.returncode == 0, shown
    assert [line.split()[3:] for line in shown.stdout.splitlines()[1:3]] == [["admin", "Created"], ["bob", "Changed"]], shown.stdout
    verified = processes.run([processes.BIN, "kubectl", "verify", "cm/flooded"], env=shop.kubectl_env())
    assert "0 altered, 0 missing" in verified.stdout, verified


@pytest.fixture
def quick(up):
    """Passes over all Histories come once a second, and all states may take a MiB."""
    return up("--store=memory", "--history-trim-interval=1s", "--history-budget-mib=1")


def record_all(server, **keep):
    made = server.post(f"{V1}/recorders", recorder(**({"keep": keep} if keep else {})))
    assert made.status == 201, made
    retry_until(lambda: server.get(f"{V1}/recorders/kept").json["status"].get("conditions", [{}])[0].get("status") == "True", "recording")


def histories(server):
    return {it["spec"]["subject"]["name"]: it for it in server.get(f"{V1}/namespaces/default/histories").json["items"] if "status" in it}


def test_rules_of_a_recorder_reach_objects_that_never_change_again(quick):
    record_all(quick, atMost=100)
    path = f"{CORE}/namespaces/default/configmaps"
    assert quick.post(path, {"metadata": {"name": "still"}, "data": {"n": "0"}}).status == 201
    for n in range(1, 46):
        assert quick.patch(f"{path}/still", {"data": {"n": str(n)}}).status == 200
        retry_until(lambda n=n: histories(quick).get("still", {}).get("status", {}).get("totalChanges") == n + 1, f"{n + 1} changes")
    assert histories(quick)["still"]["status"]["revisions"] == 46
    answer = quick.patch(f"{V1}/recorders/kept", {"spec": {"keep": {"atMost": 2}}})
    assert answer.status == 200, answer
    retry_until(lambda: histories(quick)["still"]["status"]["revisions"] == 3, "all but three states are removed")
    status = histories(quick)["still"]["status"]
    assert status["totalChanges"] == 46 and status["kept"] == "1,45-46"

    def counted():
        row, = quick.get(f"{V1}/recorders/kept").json["status"]["resources"]
        return row["bytes"] == sum(it["status"].get("bytes", 0) for it in quick.get(f"{V1}/histories").json["items"])

    retry_until(counted, "the Recorder counts the bytes of its Histories")
    assert metrics.Metrics(quick).sum("annals_recorder_trimmed_total") >= 43


def test_budget_drops_deleted_objects_first_and_never_the_newest_state(quick):
    """Each state is random, so nothing of it is compressed away. One user creates and deletes objects, and fills no etcd by that."""
    record_all(quick)
    dice = random.Random(3)
    path = f"{CORE}/namespaces/default/configmaps"
    assert quick.post(path, {"metadata": {"name": "lives"}, "data": {"n": dice.randbytes(60000).hex()}}).status == 201
    for n in range(24):
        assert quick.post(path, {"metadata": {"name": f"gone-{n}"}, "data": {"n": dice.randbytes(60000).hex()}}).status == 201
        assert quick.delete(f"{path}/gone-{n}").status == 200

    def taken():
        return sum(it["status"].get("bytes", 0) for it in histories(quick).values())

    retry_until(lambda: metrics.Metrics(quick).sum("annals_recorder_dropped_total") > 0 and taken() <= 1 << 20, f"within the budget: {taken()}", interval=0.2)
    assert "lives" in histories(quick)
    assert any(event["reason"] == "HistoryBudgetNear" for event in quick.get(f"{CORE}/events").json["items"])
    # The others are recorded as before.
    assert quick.patch(f"{path}/lives", {"data": {"n": "small"}}).status == 200
    retry_until(lambda: histories(quick)["lives"]["status"]["totalChanges"] == 2, "the change is recorded")
