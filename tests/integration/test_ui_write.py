"""Undo and restore from the page: a dry run that shows what would be written, and then the write of exactly that."""

import json
import os
import pathlib
import shlex
import threading

import pytest
import yaml

import processes
from gate import Gate
from recorded import V1, Recorded, redacted, state_of
from ui_page import Page, lines

REVISION_OF_TWO = {"type": "configmap", "name": "settings", "revision": 2}


@pytest.fixture
def page(annals, namespace):
    return Page("--write", env=annals.kubectl_env(), namespace=namespace)


@pytest.fixture
def settings(annals, namespace):
    """Red, green, blue."""
    it = Recorded(annals, namespace, "ConfigMap", "settings", managers=["kubectl"])
    it.make(data={"color": "red", "size": "1"})
    it.patch({"data": {"color": "green"}}, paths=["/data/color"])
    it.patch({"data": {"color": "blue", "size": None}}, paths=["/data/color", "/data/size"])
    return it


def shown(page, verb="undo", **what):
    answer = page.post(verb, dryRun=True, **{**REVISION_OF_TWO, **what})
    assert answer.status == 200, answer
    assert set(answer.json) == {"hunks", "notes", "command", "proof"}
    return answer.json


def written(page, proof, verb="undo", **what):
    return page.post(verb, dryRun=False, proof=proof, **{**REVISION_OF_TWO, **what})


# ---- undo ----


def test_undo_is_shown_and_then_written(page, settings, namespace):
    before = settings.get()
    told = shown(page, namespace=namespace)
    assert lines(told["hunks"]) == [("-  color: blue", "/data/color"), ("+  color: green", "/data/color"), ('+  size: "1"', "/data/size")]
    assert told["notes"] == [] and told["hunks"]["from"] == "now"
    assert settings.get() == before, "nothing was written"
    done = written(page, told["proof"], namespace=namespace)
    assert done.status == 200 and done.json == {"message": "configmap/settings rolled back to revision 2"}
    assert settings.get()["data"] == {"color": "green", "size": "1"}
    assert "kubectl-annals" in {entry["manager"] for entry in settings.get()["metadata"]["managedFields"]}


def test_undo_warns_of_what_is_applied(page, settings, namespace):
    """The next kubectl apply of the file reverts what the page has written: who undoes must know before the write."""
    assert shown(page)["notes"] == []
    settings.alter({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}})
    told = shown(page)
    [note] = told["notes"]
    assert note.startswith("Warning: configmap/settings has been applied from a file") and note.endswith("Change the file, too")
    assert shown(page, revision=3)["notes"] == [], "nothing would be written"
    assert written(page, told["proof"]).json["message"] == "configmap/settings rolled back to revision 2"
    assert settings.get()["data"] == {"color": "green", "size": "1"}


def test_undo_in_a_terminal_does_the_same(page, settings, annals, namespace):
    command = shlex.split(shown(page)["command"])
    assert command == ["kubectl", "annals", "undo", "configmap/settings", "--to-revision=2", "-n", namespace]
    done = processes.run([processes.BIN, "kubectl", *command[2:]], env=annals.kubectl_env())
    assert done.stdout == "configmap/settings rolled back to revision 2\n" and settings.get()["data"]["color"] == "green"


def test_undo_shows_all_lines_where_asked_for(page, settings):
    [few], [everything] = shown(page)["hunks"]["hunks"], shown(page, context="all")["hunks"]["hunks"]
    assert len(few["lines"]) < len(everything["lines"]) and everything["lines"][0]["text"] == "apiVersion: v1"
    assert shown(page, context="all")["proof"] == shown(page)["proof"], "it is the same write"
    refused = page.post("undo", dryRun=True, context="many", **REVISION_OF_TWO)
    assert refused.status == 422 and "context must be" in refused.json["message"]


def test_undo_of_what_is_so_already(page, settings):
    told = shown(page, revision=3)
    assert told["hunks"]["hunks"] == []
    assert "skipped rollback" in written(page, told["proof"], revision=3).json["message"]


@pytest.mark.parametrize("wrong", ["", "0", "0" * 64, None])
def test_undo_needs_the_proof_of_its_dry_run(page, settings, wrong):
    proof = shown(page)["proof"]
    for bad in (wrong, proof[:-1], proof + "0", proof.upper() if proof.upper() != proof else "", proof[:-1] + ("0" if proof[-1] != "0" else "1")):
        more = {} if bad is None else {"proof": bad}
        refused = page.post("undo", dryRun=False, **REVISION_OF_TWO, **more)
        assert refused.status == 409 and "look at it again" in refused.json["message"], refused
    assert settings.get()["data"] == {"color": "blue"}


def test_proof_is_of_one_write_alone(page, settings, annals, namespace):
    proof = shown(page)["proof"]
    assert written(page, proof, revision=1).status == 409, "another revision"
    other = Recorded(annals, namespace, "ConfigMap", "other")
    other.make(data={"color": "red", "size": "1"})
    other.patch({"data": {"color": "blue"}})
    assert written(page, proof, name="other", revision=1).status == 409, "another object"
    assert written(Page("--write", env=annals.kubectl_env(), namespace=namespace), proof).status == 409, "another process"
    assert written(page, proof).status == 200
    assert written(page, proof).status == 409, "it was written already"
    assert settings.get()["data"]["color"] == "green" and other.get()["data"]["color"] == "blue"


def test_undo_does_not_write_what_was_not_shown(page, settings):
    """Somebody changes the object between the dry run and the write."""
    proof = shown(page)["proof"]
    settings.alter({"data": {"more": "new"}})
    refused = written(page, proof)
    assert refused.status == 409 and settings.get()["data"] == {"color": "blue", "more": "new"}
    told = shown(page)
    assert ("-  more: new", "/data/more") in lines(told["hunks"]) and written(page, told["proof"]).status == 200
    assert settings.get()["data"] == {"color": "green", "size": "1"}


def test_the_command_is_one_for_a_shell(annals, namespace, settings, tmp_path):
    """Names of files and contexts come from others, and people paste the command."""
    config = tmp_path / "it's $(touch owned) `touch owned`; \"x\" \\ file"
    strange = "it's * $HOME\t|"
    known = yaml.safe_load(pathlib.Path(annals.kubectl_env()["KUBECONFIG"]).read_text(encoding="utf-8"))
    for context in known["contexts"]:
        context["name"] = strange
    config.write_text(json.dumps({**known, "current-context": "none"}), encoding="utf-8")
    page = Page("--write", "--kubeconfig", config, "--context", strange, env=dict(os.environ), namespace=namespace)
    command = shown(page)["command"]
    done = processes.run(["sh", "-c", f"cd \"$1\"; for word in {command}; do printf '%s\\0' \"$word\"; done", "sh", tmp_path])
    assert done.returncode == 0, done
    words = done.stdout.rstrip("\0").split("\0")
    assert words == ["kubectl", "annals", "undo", "configmap/settings", "--to-revision=2", "-n", namespace, f"--context={strange}", f"--kubeconfig={config}"]
    assert not (tmp_path / "owned").exists()
    assert settings.get()["data"] == {"color": "blue"}


def test_undo_loses_no_write_that_overtakes_it(folder, serve, etcd, certificates):
    server = serve(etcd().endpoint)
    processes.retry_until(lambda: server.get("/api/v1/namespaces/default").status == 200, "the first namespaces")
    it = Recorded(server, "default", "ConfigMap", "settings")
    it.make(data={"x": "1"})
    it.patch({"data": {"x": "2"}})
    gate = Gate(server.client, certificates)
    try:
        config = processes.write_kubeconfig(folder / "kubeconfig", gate.url, certificates)
        page = Page("--write", "--kubeconfig", config, env=dict(os.environ))
        told = shown(page, revision=1)
        assert told["command"].endswith(f"--kubeconfig={config}")
        held = gate.hold("PATCH", "/configmaps/settings")
        answers = []
        writer = threading.Thread(target=lambda: answers.append(written(page, told["proof"], revision=1)))
        writer.start()
        held.await_arrival()
        it.alter({"data": {"y": "new"}})
        held.release()
        writer.join(processes.PATIENCE)
        assert answers[0].status == 409, answers
        assert it.get()["data"] == {"x": "2", "y": "new"}
    finally:
        gate.close()


def test_undo_says_what_the_server_has_against_it(page, settings):
    """A dry run is carried out by the server, so what it refuses is known before."""
    settings.alter({"immutable": True})
    refused = page.post("undo", dryRun=True, **REVISION_OF_TWO)
    assert refused.status == 422 and "immutable" in refused.json["message"], refused
    assert page.post("undo", dryRun=True, type="cm", name="settings", revision=9).status == 422
    gone = page.post("undo", dryRun=True, type="cm", name="absent", revision=1)
    assert gone.status == 404 and 'configmaps "absent" not found' in gone.json["message"]


def test_undo_of_own_revisions(page, settings, annals, namespace):
    live = settings.get()
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": live["metadata"]["uid"], "controller": True}
    made = annals.post(f"{V1}/namespaces/{namespace}/controllerrevisions", {
        "metadata": {"name": "own-5", "ownerReferences": [reference]}, "revision": 5, "data": {"data": {"color": "black"}}})
    assert made.status == 201, made
    told = shown(page, revision=5, own=True)
    assert lines(told["hunks"]) == [("-  color: blue", "/data/color"), ("+  color: black", "/data/color")]
    assert "--to-revision=5 --own" in told["command"]
    assert written(page, told["proof"], revision=5, own=True).status == 200 and settings.get()["data"]["color"] == "black"


def test_undo_shows_no_value_of_a_secret(page, annals, namespace):
    it = Recorded(annals, namespace, "Secret", "s")
    it.make(data={"password": "b25l"})
    it.patch({"data": {"password": "dHdv", "more": "eA=="}})
    answer = page.post("undo", type="secret", name="s", revision=1, dryRun=True, context="all")
    assert answer.status == 200 and not any(value in answer.text for value in ("b25l", "dHdv", "eA==")), answer
    assert {path for _, path in lines(answer.json["hunks"])} == {"/data/password", "/data/more"}
    assert page.post("undo", type="secret", name="s", revision=1, dryRun=False, proof=answer.json["proof"]).status == 200
    assert it.get()["data"] == {"password": "b25l"}


def test_undo_leaves_what_was_redacted_and_says_so(page, annals, namespace):
    it = Recorded(annals, namespace, "Secret", "s")
    for change in ("1", "2"):
        if change == "1":
            assert annals.post(it.collection, {"metadata": {"name": "s", "labels": {"a": "1"}}, "data": {"k": "b25l"}}).status == 201
        else:
            it.alter({"metadata": {"labels": {"a": "2"}}})
        it.take("Created" if change == "1" else "Changed", state={**state_of(it.get()), "data": {"k": redacted("b25l")}})
    told = shown(page, type="secret", name="s", revision=1)
    assert lines(told["hunks"]) == [('-    a: "2"', "/metadata/labels/a"), ('+    a: "1"', "/metadata/labels/a")]
    assert told["notes"] == ["values that were redacted stay as they are in secret/s: /data/k"]


# ---- restore ----


def test_restore_is_shown_and_then_written(page, settings):
    exists = page.post("restore", dryRun=True, type="configmap", name="settings")
    assert exists.status == 422 and "configmap/settings exists" in exists.json["message"]
    before = state_of(settings.get())
    settings.delete()
    told = shown(page, "restore", revision=3)
    assert ("+  color: blue", "/data/color") in lines(told["hunks"]) and told["hunks"]["fromLines"] == 0
    assert "kubectl annals restore configmap/settings --revision=3" in told["command"]
    assert settings.server.get(settings.path).status == 404
    assert written(page, told["proof"], "undo", revision=3).status == 422, "there is nothing to undo"
    done = written(page, told["proof"], "restore", revision=3)
    assert done.json == {"message": "configmap/settings restored from revision 3"} and state_of(settings.get()) == before


def test_restore_without_a_revision_is_of_the_last_state(page, settings):
    settings.delete()
    told = page.post("restore", dryRun=True, type="cm", name="settings").json
    assert page.post("restore", dryRun=False, type="cm", name="settings", proof=told["proof"]).status == 200
    assert settings.get()["data"] == {"color": "blue"}


def test_restore_does_not_write_what_was_not_shown(page, settings):
    settings.delete()
    proof = shown(page, "restore", revision=3)["proof"]
    assert written(page, proof, "restore", revision=1).status == 409, "another revision"
    settings.make(data={"color": "white"})
    assert written(page, proof, "restore", revision=3).status == 422, "it is there again"
    assert settings.get()["data"] == {"color": "white"}


def test_restore_does_not_make_up_what_was_redacted(page, settings):
    settings.take(state={**state_of(settings.get()), "data": {"color": redacted("blue"), "plain": "x"}})
    settings.delete()
    refused = page.post("restore", dryRun=True, type="cm", name="settings")
    assert refused.status == 422 and "/data/color" in refused.json["message"]
    told = page.post("restore", dryRun=True, type="cm", name="settings", skipRedacted=True).json
    assert told["notes"] == ["values that were redacted are left out: /data/color"] and "--skip-redacted" in told["command"]
    unsaid = page.post("restore", dryRun=False, type="cm", name="settings", proof=told["proof"])
    assert unsaid.status == 422, "it has to be said again"
    done = page.post("restore", dryRun=False, type="cm", name="settings", proof=told["proof"], skipRedacted=True)
    assert done.status == 200 and settings.get()["data"] == {"plain": "x"}


def test_restore_needs_a_record(page, annals, namespace):
    refused = page.post("restore", dryRun=True, type="configmap", name="none")
    assert refused.status == 422 and "nothing was recorded of configmap/none" in refused.json["message"]


# ---- who may, and what is asked ----


def test_nothing_is_written_without_being_told_so(annals, namespace, settings):
    page = Page(env=annals.kubectl_env(), namespace=namespace)
    assert page.get("about").json["canWrite"] is False
    for verb in ("undo", "restore"):
        for dry in (True, False):
            refused = page.post(verb, dryRun=dry, proof="0" * 64, **REVISION_OF_TWO)
            assert refused.status == 403 and "--write" in refused.json["message"], refused
    assert settings.get()["data"] == {"color": "blue"}


def test_writes_need_a_session(page, settings):
    proof = shown(page)["proof"]
    body = {**REVISION_OF_TWO, "dryRun": False, "proof": proof}
    assert page.request("POST", "undo", body, has_session=False).status == 401
    assert page.request("POST", "undo", body, headers={"Origin": "http://example.org"}).status == 403
    assert page.request("GET", "undo").status == 405
    assert settings.get()["data"] == {"color": "blue"}


def test_writes_are_the_users(annals, namespace, settings):
    page = Page("--write", "--as=nobody", env=annals.kubectl_env(), namespace=namespace)
    refused = page.post("undo", dryRun=True, **REVISION_OF_TWO)
    assert refused.status == 403 and 'User "nobody" cannot' in refused.json["message"], refused


@pytest.mark.parametrize("body", ["", "x", "[]", "null", "{}", '{"type":"cm"}', '{"dryRun":"true"}', '{"dryRun":1,"type":"cm","name":"a"}',
                                  '{"dryRun":true,"type":7}', '{"dryRun":true,"revision":"2"}', '{"dryRun":true,"revision":-1}',
                                  '{"dryRun":true,"own":"yes"}', "[" * 1000, '{"dryRun":true,"revision":1e999}'])
def test_bodies_that_say_nothing_are_refused(page, body):
    for verb in ("undo", "restore"):
        refused = page.request("POST", verb, body)
        assert refused.status == 400 and "must be a JSON object" in refused.json["message"], refused


def test_names_lead_nowhere_else(page):
    for wrong in ({"name": ".."}, {"name": "a/b"}, {"namespace": ".."}, {"namespace": "a/../b"}, {"type": "../pods"}, {"type": "", "name": ""}):
        refused = page.post("undo", dryRun=True, **{**REVISION_OF_TWO, **wrong})
        assert refused.status == 422, refused
    assert page.post("undo", dryRun=True, **REVISION_OF_TWO, padding="x" * 70_000).status == 413
