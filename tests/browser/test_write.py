"""Undo and restore: what is shown is what is written, and nothing is written without --write."""

from objects import MERGE
from test_access import shop, tab_to  # noqa: F401: one is a fixture

V1 = "/apis/annals.dev/v1"



def test_undo_shows_what_it_would_do_and_does_that(look, ui, room):
    """With --write: a dry run, its difference, and then exactly that."""
    for color in ("red", "blue"):
        body = {"metadata": {"name": "settings"}, "data": {"color": color, "size": "1"}}
        answer = room.server.put(room.path("configmaps", "settings"), body) if color == "blue" else room.server.post(room.path("configmaps"), body)
        assert answer.status in (200, 201), answer
        recorded = f"{V1}/namespaces/{room.namespace}/histories?fieldSelector=spec.subject.name=settings"
        room.until(lambda: [h["status"]["totalChanges"] for h in room.server.get(recorded).json["items"]] == [["red", "blue"].index(color) + 1], "it is recorded")
    page = look(f"/history/-/ConfigMap/{room.namespace}/settings", of=ui("--write"))
    page.until(lambda: page.count("[data-testid=revision-to] option") == 2, "both are there")
    page.choose("[data-testid=revision-from]", page.attributes("[data-testid=revision-from] option", "value")[0])
    page.choose("[data-testid=revision-to]", page.attributes("[data-testid=revision-to] option", "value")[1])
    page.click("[data-testid=undo-button]")
    changed = "[...document.querySelectorAll('[data-testid=undo-preview] .list-row:not([hidden]) [data-testid=diff-line]')].filter((e) => e.dataset.op != ' ').map((e) => e.dataset.op + e.querySelector('.code').textContent.trim())"
    page.until(lambda: page.evaluate(changed) == ["-color: blue", "+color: red"], "what would change is shown")
    assert room.one("configmaps", "settings")["data"]["color"] == "blue", "and has not been written"
    page.press("Escape")
    page.wait("!document.querySelector('[data-testid=undo-preview]')")
    page.click("[data-testid=undo-button]")
    page.until(lambda: page.evaluate(changed) == ["-color: blue", "+color: red"], "what would change is shown")
    room.server.patch(room.path("configmaps", "settings"), {"data": {"size": "2"}}, kind=MERGE)
    page.expect("409")
    page.click("[data-testid=undo-confirm]")
    page.wait_for("[data-testid=undo-preview] [data-testid=error]")
    assert room.one("configmaps", "settings")["data"] == {"color": "blue", "size": "2"}, "what was not shown is not written"
    page.click("[data-testid=undo-preview] [data-testid=error] button")
    page.until(lambda: "-color: blue" in page.evaluate(changed), "it is shown anew")
    page.click("[data-testid=undo-confirm]")
    page.wait_for("[data-testid=write-done]")
    assert room.one("configmaps", "settings")["data"]["color"] == "red"


def test_undo_says_what_the_user_must_know_first(look, ui, room):
    """That kubectl apply of the file reverts it; and of a refusal that stays the same, that there is no use in another try."""
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    body = {"metadata": {"name": "settings", "annotations": applied}, "data": {"color": "red"}}
    assert room.server.post(room.path("configmaps"), body).status == 201
    recorded = f"{V1}/namespaces/{room.namespace}/histories?fieldSelector=spec.subject.name=settings"
    for n, change in ((1, {"data": {"color": "blue"}}), (2, {"immutable": True})):
        room.until(lambda n=n: [h["status"]["totalChanges"] for h in room.server.get(recorded).json["items"]] == [n], "it is recorded")
        assert room.server.patch(room.path("configmaps", "settings"), change, kind=MERGE).status == 200
        page = look(f"/history/-/ConfigMap/{room.namespace}/settings?from=1&to=1", of=ui("--write"))
        if n == 1:
            page.click("[data-testid=undo-button]")
            page.wait_text("[data-testid=undo-preview] .notes", "has been applied from a file")
            page.press("Escape")
        else:
            page.expect("422")
            page.click("[data-testid=undo-button]")
            page.wait_text("[data-testid=undo-preview] [data-testid=error]", "Retrying does not help.")
            assert page.count("[data-testid=undo-preview] [data-testid=error] button") == 0


def test_after_undo_of_own_revisions_the_newest_is_shown(look, ui, room):
    """The revision that was written again has a new number. The page reads them again, and misses none."""
    room.running("web", replicas=0)
    room.image("i:2")
    page = look(f"/history/apps/StatefulSet/{room.namespace}/web?own=true&from=2&to=1", of=ui("--write"))
    page.click("[data-testid=undo-button]")
    page.wait("document.querySelector('[data-testid=undo-confirm]') && !document.querySelector('[data-testid=undo-confirm]').disabled")
    page.click("[data-testid=undo-confirm]")
    page.wait_for("[data-testid=write-done]")
    page.press("Escape")
    page.until(lambda: page.evaluate("document.querySelector('[data-testid=revision-to]').selectedOptions[0]?.textContent.startsWith('3 (last)')"), "the new number is shown")
    assert "any more" not in page.text("main") and "to=1" not in page.address


def test_restore_makes_it_again(look, ui, room):
    answer = room.server.post(room.path("configmaps"), {"metadata": {"name": "settings"}, "data": {"color": "red"}})
    assert answer.status == 201, answer
    uid = answer.json["metadata"]["uid"]
    recorded = f"{V1}/namespaces/{room.namespace}/histories?fieldSelector=spec.subject.name=settings"
    room.until(lambda: len(room.server.get(recorded).json["items"]) == 1, "it is recorded")
    room.delete("configmaps", "settings")
    page = look(f"/history/-/ConfigMap/{room.namespace}/settings", of=ui("--write"))
    page.click("[data-testid=restore-button]")
    page.until(lambda: "color: red" in page.text("[data-testid=restore-preview]"), "what would be made is shown")
    page.click("[data-testid=restore-confirm]")
    page.wait_for("[data-testid=write-done]")
    made = room.one("configmaps", "settings")
    assert made["data"] == {"color": "red"} and made["metadata"]["uid"] != uid


def test_keyboard_alone_undoes(look, ui, shop):  # noqa: F811
    page = look(f"/history/-/Service/{shop.namespace}/settings?from=2&to=1", of=ui("--write"))
    page.wait_for("[data-testid=undo-button]")
    tab_to(page, "[data-testid=undo-button]")
    page.press("Enter")
    page.wait_for("[data-testid=undo-preview]")
    page.wait("document.querySelector('[data-testid=undo-confirm]') && !document.querySelector('[data-testid=undo-confirm]').disabled")
    for _ in range(30):
        assert page.evaluate("document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)"), "the focus stays in the dialog"
        page.press("Tab")
    page.press("Escape")
    page.wait("!document.querySelector('dialog')")
    assert page.focused() == "undo-button"
    page.press("Enter")
    page.wait("document.querySelector('[data-testid=undo-confirm]') && !document.querySelector('[data-testid=undo-confirm]').disabled")
    tab_to(page, "[data-testid=undo-confirm]")
    page.press("Enter")
    page.wait_for("[data-testid=write-done]")
    service = shop.server.get(f"/api/v1/namespaces/{shop.namespace}/services/settings").json
    assert service["metadata"]["annotations"]["color"] == "red"
