"""The history of one object: what it was, who changed it, and how any two revisions differ."""

import concurrent.futures
import json

import pytest

import processes
from chromium import LIVE
from conftest import Kept, Ui
from gate import Gate
from recorded import V1, Recorded

LINES = "[data-testid=diff] .list-row:not([hidden]) [data-testid=diff-line]"
ROWS = "[data-testid=history-row]:not([hidden])"
COMMAND = "[data-testid=undo-command]"


def address(room, kind, name, group="", **query):
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return f"/history/{group or '-'}/{kind}/{room.namespace}/{name}" + (f"?{text}" if text else "")


def lines(page, *ops):
    """Those of the difference in sight, as (op, text, path)."""
    found = page.evaluate(f"""[...document.querySelectorAll('{LINES}')].map((e) => [e.closest('.list-row'), e])
        .sort(([a], [b]) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
        .map(([, e]) => [e.dataset.op, e.querySelector('.code').textContent, e.dataset.path])""")
    return [tuple(line) for line in found if not ops or line[0] in ops]


def wait_changed(page, *expected):
    page.until(lambda: lines(page, "+", "-") == list(expected), f"the difference is {expected}")


def chosen(page):
    """The numbers that are compared."""
    return page.evaluate("['from', 'to'].map((e) => document.querySelector(`[data-testid=revision-${e}]`).selectedOptions[0]?.textContent.split(' ')[0])")


@pytest.fixture
def settings(room):
    """Red and small, green and small, blue: recorded by hand, so that the page has it all at once."""
    it = Recorded(room.server, room.namespace, "Service", "settings", managers=["kubectl"])
    it.make(spec={"ports": [{"port": 80}]}, metadata={"annotations": {"color": "red", **{f"a{n:02}": "same" for n in range(30)}}})
    it.patch({"metadata": {"annotations": {"color": "green"}}}, paths=["/metadata/annotations/color"])
    it.patch({"metadata": {"annotations": {"color": "blue"}, "labels": {"new": "yes"}}}, paths=["/metadata/annotations/color", "/metadata/labels"], cause="a colder one")
    return it


COLOR = "/metadata/annotations/color"


def test_it_shows_the_last_change_and_any_other(look, room, settings):
    page = look(address(room, "Service", "settings"))
    page.wait_text("[data-testid=history-title]", f"{room.namespace}/settings")
    wait_changed(page, ("-", "    color: green", COLOR), ("+", "    color: blue", COLOR), ("+", "  labels:", "/metadata/labels"), ("+", "    new: \"yes\"", "/metadata/labels/new"))
    assert chosen(page) == ["2", "3"]
    assert page.evaluate(f"[...document.querySelectorAll('{ROWS}')].length") == 3
    names = page.attributes("[data-testid=revision-from] option", "value")
    page.choose("[data-testid=revision-from]", names[2])
    page.until(lambda: ("-", "    color: red", COLOR) in lines(page), "the first one is compared")
    assert "from=1" in page.address and "to=3" in page.address
    page.choose("[data-testid=revision-to]", names[1])
    wait_changed(page, ("-", "    color: red", COLOR), ("+", "    color: green", COLOR))
    page.reload()
    wait_changed(page, ("-", "    color: red", COLOR), ("+", "    color: green", COLOR))
    assert chosen(page) == ["1", "2"]
    page.wait_text(COMMAND, "--to-revision=2")
    assert page.text(COMMAND).startswith("kubectl annals undo service") and f"-n {room.namespace}" in page.text(COMMAND)
    assert page.count("[data-testid=undo-button]") == 0, "it only reads"


def test_times_in_the_lists_of_revisions_follow_the_clock(look, room):
    answer = room.server.post(room.path("configmaps"), {"metadata": {"name": "young"}, "data": {"a": "b"}})
    assert answer.status == 201, answer
    page = look(address(room, "ConfigMap", "young"))
    option = "document.querySelector('[data-testid=revision-to] option')?.textContent"
    first = page.wait(option)
    page.wait(f"{option} != {json.dumps(first)}", "it is another time")


def test_one_emoji_leaves_the_rest_as_it_is(look, room):
    text = "#!/bin/sh\necho grüß 🎉 ❤\ufe0f\necho \u202eend\n"
    for script in ("#!/bin/sh\n", text.replace("\u202e", ""), text):
        body = {"metadata": {"name": "script"}, "data": {"run": script, "other": "größe"}}
        first = room.server.post(room.path("configmaps"), body)
        answer = first if first.status == 201 else room.server.put(room.path("configmaps", "script"), body)
        assert answer.status in (200, 201), answer
        room.until(lambda: [h["status"]["revision"] for h in room.server.get(f"{V1}/namespaces/{room.namespace}/histories").json["items"]
                            if h["status"].get("changes", [{}])[-1].get("resourceVersion") == answer.json["metadata"]["resourceVersion"]], "it is recorded")
    page = look(address(room, "ConfigMap", "script", **{"from": 1, "to": 2, "mode": "inline"}))
    page.until(lambda: [line[1].strip() for line in lines(page, "+")] == ["echo grüß 🎉 ❤\ufe0f", "echo end"], "lines are lines")
    page = look(address(room, "ConfigMap", "script", **{"from": 2, "to": 3, "mode": "inline"}))
    page.until(lambda: any("\\u202e" in line[1] and "grüß 🎉" in line[1] for line in lines(page, "+")), "what cannot be seen is written, and nothing else")
    assert any("größe" in line[1] for line in lines(page))


def test_links_name_the_difference(look, room, settings):
    page = look(address(room, "Service", "settings", **{"from": 1, "to": 2, "mode": "inline"}))
    wait_changed(page, ("-", "    color: red", COLOR), ("+", "    color: green", COLOR))
    assert chosen(page) == ["1", "2"] and page.attributes("[data-testid=diff-mode]", "data-mode") == ["inline"]


def test_both_forms_say_the_same(look, room, settings):
    page = look(address(room, "Service", "settings"))
    page.until(lambda: len(lines(page, "+", "-")) == 4, "the difference is shown")
    assert page.attributes("[data-testid=diff-mode]", "data-mode") == ["split"]
    split = lines(page, "+", "-")
    rows_of_split = page.count("[data-testid=diff] .list-row:not([hidden])")
    page.click("[data-testid=diff-mode] [data-mode=inline]")
    page.wait("document.querySelector('[data-testid=diff-mode]').dataset.mode == 'inline'")
    page.until(lambda: lines(page, "+", "-") == split and page.count("[data-testid=diff] .list-row:not([hidden])") > rows_of_split, "one column is longer")
    assert "mode=inline" in page.address
    page.reload()
    page.until(lambda: lines(page, "+", "-") == split, "it stays")
    assert page.attributes("[data-testid=diff-mode]", "data-mode") == ["inline"]


def test_unchanged_parts_are_folded_and_unfold(look, room, settings):
    page = look(address(room, "Service", "settings", mode="inline"))
    page.until(lambda: len(lines(page, "+", "-")) == 4, "the difference is shown")
    assert not any("a05" in text for _, text, _ in lines(page))
    page.click("[data-testid=diff] .list-row:not([hidden]) [data-testid=fold]")
    page.until(lambda: any("a05" in text for _, text, _ in lines(page)), "the lines are there")
    assert (" ", "    a05: same", "/metadata/annotations/a05") in lines(page)


def test_a_path_is_copied_by_mouse_and_by_key(look, room, settings):
    page = look(address(room, "Service", "settings", mode="inline"))
    page.allow_clipboard()
    page.until(lambda: len(lines(page, "+", "-")) == 4, "the difference is shown")
    page.hover("[data-testid=diff-line][data-op='+']")
    page.click("[data-testid=diff-line][data-op='+'] [data-testid=copy-path]")
    page.wait(f"navigator.clipboard.readText().then((t) => t == {json.dumps(COLOR)})", "the path is copied")
    page.evaluate("navigator.clipboard.writeText('something else')")
    page.evaluate("document.querySelector('[data-testid=diff]').focus()")
    page.press("Home", "n", "n", "c")
    page.wait("navigator.clipboard.readText().then((t) => t.startsWith('/metadata/'))", "the path is copied")


def test_a_change_comes_while_it_is_looked_at(look, room, settings):
    page = look(address(room, "Service", "settings"))
    page.until(lambda: chosen(page) == ["2", "3"], "the last change is shown")
    page.wait(LIVE)
    settings.patch({"metadata": {"annotations": {"color": "black"}}}, paths=[COLOR], managers=["late"])
    page.wait_text(f"{ROWS}", "")
    page.until(lambda: page.count(ROWS) == 4, "the change is shown")
    page.until(lambda: page.count("[data-testid=revision-to] option") == 4, "its revision can be chosen")
    page.until(lambda: ("+", "    color: black", COLOR) in lines(page), "who looks at the last change sees the last one")


def test_a_deleted_object_has_a_history(look, room, settings):
    settings.delete()
    page = look(address(room, "Service", "settings"))
    page.wait_for("[data-testid=deleted]")
    page.wait_text("[data-testid=restore-command]", "kubectl annals restore service")
    assert page.count(ROWS) == 4


def test_what_was_never_recorded(look, room):
    page = look(address(room, "Service", "nobody"))
    page.expect("404")
    page.wait("document.querySelector('main').innerText.match(/no revisions|not found|recorded/)")


# ---- what is written in objects ----

SCRIPT = "</script><script>window.pwned = 1</script>"
NASTY = {SCRIPT: SCRIPT, "line": "a\u2028b\u2029c", "turn": "\u202eevil", "nul": "\u0000", "image": "<img src=x onerror=window.pwned=2>", "amp": "&lt;b&gt;", "tabs": "\t\tx\r\ny"}


def test_data_are_only_ever_text(look, room):
    it = Recorded(room.server, room.namespace, "Service", "nasty", managers=["kubectl"])
    it.make(spec={"ports": [{"port": 80}]})
    state = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nasty", "labels": {"<script>": SCRIPT}}, "data": NASTY}
    it.take(state=state, paths=[f"/data/{SCRIPT}".replace("</", "<~1")], cause=SCRIPT)
    page = look(address(room, "Service", "nasty", mode="inline"))
    page.until(lambda: len(lines(page, "+")) > 8, "the difference is shown")
    shown = "\n".join(text for _, text, _ in lines(page, "+"))
    assert shown.count(SCRIPT) >= 3 and NASTY["image"] in shown and NASTY["amp"] in shown and "<script>" in shown
    assert not any(c in shown for c in "\u2028\u2029\u202e\u0000\r"), "what cannot be seen is written as what it is"
    assert page.evaluate("[window.pwned, document.scripts.length, document.images.length, document.querySelectorAll('main script, main img').length]") == [None, 2, 1, 0]


# ---- many, and large ----


@pytest.fixture
def thousand(room):
    """1,000 revisions of one object: the first and the last recorded, those between made four at a time."""
    it = Recorded(room.server, room.namespace, "Service", "busy", managers=["robot"])
    it.make(spec={"ports": [{"port": 80}]})
    state = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "busy", "namespace": room.namespace}}
    owner = {"apiVersion": "annals.dev/v1", "kind": "History", "name": it.history["metadata"]["name"], "uid": it.history["metadata"]["uid"], "controller": True}

    def fill(numbers):
        kept = Kept(room.server.client)
        for n in numbers:
            made = kept.post(f"{V1}/namespaces/{room.namespace}/controllerrevisions", {
                "metadata": {"name": f"busy-{n}", "ownerReferences": [owner]}, "revision": n, "data": {**state, "step": n}})
            assert made.status == 201, made

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(fill, [range(2 + i, 1000, 4) for i in range(4)]))
    it.take(state={**state, "step": 1000}, paths=["/step"], limit=1000)
    return it


def test_a_thousand_revisions(look, room, thousand):
    page = look(address(room, "Service", "busy"))
    page.until(lambda: ("+", "step: 1000", "/step") in lines(page), "the last change is shown")
    names = page.attributes("[data-testid=revision-from] option", "value")
    assert len(names) == 1001 and page.count("[data-testid=revision-to] option") == 1000
    assert page.count("[data-testid=history-row]") < 100
    for number, index in ((999, 1), (2, 998)):
        page.choose("[data-testid=revision-from]", names[index])
        wait_changed(page, ("-", f"step: {number}", "/step"), ("+", "step: 1000", "/step"))
    page.evaluate("document.querySelector('[data-testid=changes]').focus()")
    page.press("End", "Enter")
    page.until(lambda: chosen(page)[1] == "2", "the oldest without a change is shown")


LARGE = 3 * 1024 * 1024 - 4096  # bytes of JSON: what a request takes, but for what is around it


def test_data_of_three_mebibytes(look, chromium, folder, etcd, serve, certificates, request):
    """As large as a request may be. etcd takes half of that by default."""
    server = serve(etcd(flags=("--max-request-bytes=8388608", "--max-txn-ops=1024")).endpoint)
    server.dir = folder
    kubeconfig = processes.write_kubeconfig(folder / "kubeconfig", server.url, certificates)
    it = Recorded(server, "default", "Service", "large", managers=["robot"])
    it.make(spec={"ports": [{"port": 80}]})

    def state(**other):
        data = {f"key-{n:05}": "x" * 90 for n in range(24000)}
        text = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "large"}, "data": {**data, **other}}
        text["data"]["rest"] = "y" * (LARGE - len(json.dumps(text)))
        return text

    it.take(state=state(), paths=["/data"])
    it.take(state=state(**{"key-00100": "other", "key-20000": "other"}), paths=["/data/key-00100", "/data/key-20000"])
    ui = Ui(server, "default", kubeconfig=kubeconfig)
    page = look("/history/-/Service/default/large?mode=inline", of=ui)
    page.until(lambda: ("+", "  key-00100: other", "/data/key-00100") in lines(page), "the difference is shown")
    n_folded = page.evaluate("+document.querySelector('[data-testid=diff]').getAttribute('aria-rowcount')")
    assert n_folded < 100
    page.click("[data-testid=diff] .list-row:not([hidden]) [data-testid=fold]")
    page.wait(f"+document.querySelector('[data-testid=diff]').getAttribute('aria-rowcount') > {n_folded}", "it unfolds")
    assert page.count("[data-testid=diff] .list-row") < 200
    page.choose("[data-testid=revision-from]", "none")
    page.wait("+document.querySelector('[data-testid=diff]').getAttribute('aria-rowcount') > 24000", "the whole state is shown")
    page.evaluate("document.querySelector('[data-testid=diff]').focus()")
    page.press("End")
    page.until(lambda: any("name: large" in text for _, text, _ in lines(page)), "its end is shown")


@pytest.mark.parametrize("lost, view", [("/histories", "/history/-/ConfigMap/default/plain"), ("/statefulsets", "/workloads")])
def test_a_404_of_somebody_else_is_no_absence(look, folder, etcd, serve, certificates, lost, view):
    """An ingress without a route answers it for every path: nothing is known then, and the view must say so."""
    server = serve(etcd().endpoint)
    server.dir = folder
    gate = Gate(server.client, certificates)
    try:
        kubeconfig = processes.write_kubeconfig(folder / "kubeconfig", gate.url, certificates)
        gate.lose(lost)
        page = look(view, of=Ui(server, "default", kubeconfig=kubeconfig))
        page.expect("404")
        page.wait_for("[data-testid=error]")
    finally:
        gate.close()
