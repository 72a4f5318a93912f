"""The timeline: what was changed, of everything, as it happens."""

import concurrent.futures
import json

import pytest

import processes
from chromium import LIVE, LOST
from conftest import Kept, record
from recorded import V1, Recorded

ROWS = "[data-testid=change-row]:not([hidden])"
WHO = {"Impersonate-User": "alice", "Impersonate-Group": "system:masters"}


def rows(page):
    """Those in sight, from the first: (type, object, revision, by, parts)."""
    return page.evaluate(f"""[...document.querySelectorAll('{ROWS}')].sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
        .map((row) => [...row.querySelectorAll('[role=gridcell]')].slice(1).map((cell) => cell.innerText.replace(/\\s+/g, ' ').trim()))""")


def wait_rows(page, expected):
    """Until these are all, the newest first."""
    page.until(lambda: rows(page) == expected, f"these rows: {expected}")


def n_changes(page):
    """How many the list has, whatever is in sight."""
    return page.evaluate("+document.querySelector('[data-testid=timeline]').getAttribute('aria-rowcount') - 1")


def make(room, name="settings", who=None, **data):
    answer = room.server.post(room.path("configmaps"), {"metadata": {"name": name}, "data": data}, headers=who)
    assert answer.status == 201, answer


def change(room, name="settings", who=None, **data):
    answer = room.server.patch(room.path("configmaps", name), {"data": data}, headers=who)
    assert answer.status == 200, answer


def test_changes_come_as_they_are_made(look, room):
    """Of a real Recorder: who, what, which parts, and deletions; the page is not asked again."""
    make(room, who=WHO, color="red")
    page = look(f"/timeline?namespace={room.namespace}")
    name = f"ConfigMap {room.namespace}/settings"
    wait_rows(page, [["Created", name, "1", "alice", ""]])
    page.wait(LIVE)
    loaded = len([request for request in page.requests if request["url"].endswith("/main.js")])

    change(room, color="blue")
    wait_rows(page, [["Changed", name, "2", "annals-admin", "/data/color"], ["Created", name, "1", "alice", ""]])
    room.delete("configmaps", "settings")
    wait_rows(page, [["Deleted", name, "", "annals-admin", ""], ["Changed", name, "2", "annals-admin", "/data/color"],
                     ["Created", name, "1", "alice", ""]])
    assert len([request for request in page.requests if request["url"].endswith("/main.js")]) == loaded


def test_a_live_change_is_heard(look, room):
    """What comes is said to those who do not see it."""
    page = look(f"/timeline?namespace={room.namespace}")
    page.wait(LIVE)
    make(room, color="red")
    page.wait("document.querySelector('#announce').textContent.includes('settings')")
    assert page.attributes("#announce", "aria-live") == ["polite"]


def test_a_set_and_its_changes(look, room):
    room.running("web", replicas=1)
    page = look(f"/timeline?namespace={room.namespace}&kind=StatefulSet")
    name = f"StatefulSet {room.namespace}/web"
    wait_rows(page, [["Created", name, "1", "annals-admin", ""]])
    room.image("i:2")
    page.until(lambda: len(rows(page)) == 2, "its change is shown")
    assert rows(page)[0][0] == "Changed" and "/spec/template/spec/containers/0/image" in rows(page)[0][4]


# ---- filters ----


@pytest.fixture
def shop(room):
    """Six changes of three objects by hand, so that their log is known."""
    colors = Recorded(room.server, room.namespace, "Service", "colors", managers=["alice"])
    colors.make(spec={"ports": [{"port": 80}]}, metadata={"labels": {"app": "x"}})
    colors.patch({"metadata": {"labels": {"app": "y"}}}, paths=["/metadata/labels/app"], managers=["bob"], cause="rename it")
    lamps = Recorded(room.server, room.namespace, "Service", "lamps", managers=["helm"])
    lamps.make(spec={"ports": [{"port": 80}]})
    lamps.patch({"metadata": {"labels": {"app": "z"}}}, paths=["/metadata/labels"])
    account = Recorded(room.server, room.namespace, "ServiceAccount", "robot", managers=["bob"])
    account.make()
    account.delete()
    return room


def fields(page):
    return page.evaluate("Object.fromEntries([...document.querySelectorAll('[data-testid^=filter-]')].map((e) => [e.dataset.testid.slice(7), e.value]))")


def objects(page):
    return [row[1].rpartition("/")[2] for row in rows(page)]


def wait_objects(page, *names):
    page.until(lambda: objects(page) == list(names), f"{names} are shown")


def test_each_filter_narrows_and_the_address_follows(look, shop):
    page = look(f"/timeline?namespace={shop.namespace}")
    wait_objects(page, "robot", "robot", "lamps", "lamps", "colors", "colors")
    for field, value, shown in [("kind", "Service", ["lamps", "lamps", "colors", "colors"]), ("by", "bob", ["robot", "robot", "colors"]),
                                ("text", "lam", ["lamps", "lamps"]), ("text", "rename it", ["colors"]), ("text", "/metadata/labels/app", ["colors"])]:
        page.fill(f"[data-testid=filter-{field}]", value)
        wait_objects(page, *shown)
        assert f"{field}=" in page.address and f"namespace={shop.namespace}" in page.address
        page.fill(f"[data-testid=filter-{field}]", "")
        wait_objects(page, "robot", "robot", "lamps", "lamps", "colors", "colors")
        assert f"{field}=" not in page.address
    page.choose("[data-testid=filter-since]", "1h")  # these are of long ago
    page.until(lambda: objects(page) == [], "none is that young")
    assert page.text(".empty")
    page.fill("[data-testid=filter-namespace]", "nowhere")
    page.choose("[data-testid=filter-since]", "")
    page.until(lambda: objects(page) == [], "there is no such namespace")


def test_reload_and_links_keep_the_filters(look, shop):
    page = look(f"/timeline?namespace={shop.namespace}")
    page.fill("[data-testid=filter-by]", "bob")
    page.fill("[data-testid=filter-text]", "robot")
    wait_objects(page, "robot", "robot")
    kept, fragment = fields(page), page.address.partition("#")[2]
    page.reload()
    wait_objects(page, "robot", "robot")
    assert fields(page) == kept
    sent = look(fragment)  # to somebody else, with a session of their own
    wait_objects(sent, "robot", "robot")
    assert fields(sent) == kept and sent.address.partition("#")[2] == fragment


def test_back_returns_to_what_was_seen(look, shop):
    page = look(f"/timeline?namespace={shop.namespace}&by=bob&kind=Service")
    wait_objects(page, "colors")
    page.click(f"{ROWS} a")
    page.wait_for("[data-testid=history-title]")
    page.evaluate("history.back()")
    wait_objects(page, "colors")
    assert fields(page)["by"] == "bob"


# ---- many ----


@pytest.fixture(scope="module")
def many(world):
    """1,000 changes: 50 of each of 20 objects."""
    server = world.get()
    made = server.post("/api/v1/namespaces", {"metadata": {"name": "many"}})
    assert made.status in (201, 409), made

    def fill(i):
        it = Recorded(Kept(server.client), "many", "Secret", f"object-{i:02}", managers=[f"user-{i}"])
        data = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": it.name, "namespace": "many"}}
        created = server.post(it.collection, {"metadata": {"name": it.name}})
        assert created.status == 201, created
        for n in range(50):
            it.take("Changed" if n else "Created", state={**data, "step": n}, paths=["/step"])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(fill, range(20)))
    yield server
    server.delete("/api/v1/namespaces/many")


def test_a_thousand_changes_are_a_list_of_few_elements(look, many, ui):
    page = look("/timeline?namespace=many", of=ui(server=many, namespace="many"))
    page.until(lambda: n_changes(page) == 1000, "all are there")
    page.until(lambda: len(rows(page)) > 5, "some are shown")
    newest = page.attributes(ROWS, "data-key")[:5]
    page.evaluate("document.querySelector('[data-testid=timeline]').focus()")
    page.press("End")
    page.wait(f"document.querySelector('{ROWS}[aria-rowindex=\"1001\"]')")
    assert rows(page)[-1][0] == "Created" and page.count("[data-testid=change-row]") < 100
    page.press("Home")
    page.wait(f"document.querySelector('{ROWS}[aria-rowindex=\"2\"]')")
    assert set(newest) <= set(page.attributes(ROWS, "data-key"))
    page.wheel("[data-testid=timeline]", 5000)
    page.wait(f"document.querySelector('{ROWS}') && !document.querySelector('{ROWS}[aria-rowindex=\"2\"]')")
    page.fill("[data-testid=filter-by]", "user-7")
    page.until(lambda: n_changes(page) == 50, "those of one user are left")


def test_what_comes_does_not_move_what_is_read(look, many, ui):
    """A user who has scrolled stays there, and sees how many changes came."""
    page = look("/timeline?namespace=many", of=ui(server=many, namespace="many"))
    page.until(lambda: n_changes(page) == 1000, "all are there")
    page.evaluate("document.querySelector('[data-testid=timeline]').scrollTop = 10000")
    page.wait(f"document.querySelectorAll('{ROWS}').length && !document.querySelector('{ROWS}[aria-rowindex=\"2\"]')")
    middle = "(() => { const box = document.querySelector('[data-testid=timeline]').getBoundingClientRect(); return document.elementFromPoint(box.left + 200, box.top + box.height / 2).closest('[data-testid=change-row]')?.dataset.key })()"
    read = page.wait(middle)
    other = Recorded(many, "many", "ServiceAccount", f"one-more-{page.ui.pid}", managers=["late"])
    other.make()
    page.wait_for("[data-testid=new-changes]")
    assert page.evaluate(middle) == read
    page.click("[data-testid=new-changes]")
    page.until(lambda: rows(page) and rows(page)[0][3] == "late (manager)", "the newest is shown")
    deleted = many.delete(f"{V1}/namespaces/many/histories/{other.history['metadata']['name']}")
    assert deleted.status == 200, deleted
    page.until(lambda: n_changes(page) == 1000, "what is forgotten is not shown any more")


def test_back_returns_to_the_place(look, many, ui):
    """The row that was opened is in sight again, and is the active one; also where changes have come meanwhile."""
    page = look("/timeline?namespace=many", of=ui(server=many, namespace="many"))
    page.until(lambda: n_changes(page) == 1000, "all are there")
    page.evaluate("document.querySelector('[data-testid=timeline]').scrollTop = 10000")
    page.wait(f"document.querySelectorAll('{ROWS}').length && !document.querySelector('{ROWS}[aria-rowindex=\"2\"]')")
    middle = "(() => { const box = document.querySelector('[data-testid=timeline]').getBoundingClientRect(); return document.elementFromPoint(box.left + 200, box.top + box.height / 2).closest('[data-testid=change-row]') })()"
    key = page.wait(f"{middle}?.dataset.key")
    top = page.evaluate(f"{middle}.getBoundingClientRect().top")
    page.evaluate(f"{middle}.querySelector('a').click()")
    page.wait_for("[data-testid=history-title]")
    other = Recorded(many, "many", "ServiceAccount", f"meanwhile-{page.ui.pid}", managers=["late"])
    other.make()
    page.evaluate("history.back()")
    row = f"document.querySelector('{ROWS}[data-key=\"{key}\"]')"
    page.wait(f"{row}?.classList.contains('is-active')", "the row is there")
    page.until(lambda: abs(page.evaluate(f"{row}.getBoundingClientRect().top") - top) < 2, "where it was")
    deleted = many.delete(f"{V1}/namespaces/many/histories/{other.history['metadata']['name']}")
    assert deleted.status == 200, deleted


# ---- the connection ----


def test_a_connection_that_is_lost_from_the_start_is_seen(look, ui, up):
    """Nothing says that it is being read, or that there are no changes; and it goes on by itself, or by the button."""
    port = processes.free_port()
    server = up(f"--port={port}")
    record(server, "all", [{"groups": [""], "resources": ["configmaps"]}])
    page = look("/workloads", of=ui(server=server, namespace="default"))
    page.wait_text(".workloads .empty", "no workloads")
    page.expect("50[0-9]|ERR_")
    server.stop()
    page.evaluate("location.hash = '#/timeline?namespace=default'")
    page.wait_text("[data-testid=lost]", "No connection")
    page.wait_text(".timeline .empty", "could not be read yet")
    assert "0 changes" not in page.text("main") and "Reading" not in page.text("main")
    asked = len(page.requests)
    page.click("[data-testid=lost] button")
    page.until(lambda: len(page.requests) > asked, "it is tried again")
    server = up(f"--port={port}")
    assert server.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "later"}}).status == 201
    page.until(lambda: "later" in objects(page), "it is read")
    page.wait(LIVE)
    assert page.evaluate("document.querySelector('[data-testid=lost]').hidden")



def test_lost_connection_shows_and_what_was_missed_comes(chromium, look, ui, up):
    port = processes.free_port()
    server = up(f"--port={port}")
    record(server, "all", [{"groups": [""], "resources": ["configmaps"]}])

    def write(name):
        answer = server.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})
        assert answer.status == 201, answer

    write("before")
    page = look("/timeline?namespace=default&kind=ConfigMap", of=ui(server=server, namespace="default"))
    page.wait(LIVE)
    page.until(lambda: "before" in objects(page), "it is shown")
    page.expect("50[0-9]|ERR_")
    server.stop()
    page.wait(LOST)
    assert "before" in objects(page), "what is known stays"
    server = up(f"--port={port}")
    write("meanwhile")
    page.until(lambda: objects(page)[:2] == ["meanwhile", "before"], "it has come back by itself")
    page.wait(LIVE)


def test_page_says_when_its_server_is_gone(look, room):
    page = look(f"/timeline?namespace={room.namespace}")
    page.wait(LIVE)
    page.expect("ERR_|503")  # while it ends it answers that it does
    page.ui.stop()
    page.wait(LOST)
    page.until(lambda: "kubectl annals ui" in page.attributes("[data-testid=live]", "title")[0], "it says what to look for")


# ---- what users wrote ----

SCRIPT = "<script>window.pwned = 1</script>"
IMAGE = "<img src=x onerror=window.pwned=2>"


def test_what_users_wrote_is_only_ever_text(look, room):
    """Whoever may write an object must not write what others' browsers do."""
    make(room, who={**WHO, "Impersonate-User": IMAGE}, color="red")
    page = look(f"/timeline?namespace={room.namespace}")
    page.until(lambda: [row[3] for row in rows(page)] == [IMAGE], "who made it is shown")
    it = Recorded(room.server, room.namespace, "Service", "web", managers=[IMAGE], cause=SCRIPT)
    it.make(spec={"ports": [{"port": 80}]})
    it.patch({"metadata": {"labels": {"a": "b"}}}, paths=[f"/metadata/labels/{SCRIPT}"], cause="a\u2028b\u202ec")
    page.fill("[data-testid=filter-kind]", "Service")
    page.until(lambda: len(rows(page)) == 2, "both are shown")
    newest, oldest = rows(page)
    assert newest[3] == f"{IMAGE} (manager)" and f"/metadata/labels/{SCRIPT}" in newest[4] and "\u202e" not in newest[4] and "\\u202e" in newest[4]
    assert oldest[3] == f"{IMAGE} (manager)" and SCRIPT in oldest[4]
    assert page.evaluate("[window.pwned, document.scripts.length, document.images.length]") == [None, 2, 1]
    page.fill("[data-testid=filter-by]", SCRIPT)
    page.fill("[data-testid=filter-text]", IMAGE)
    page.until(lambda: not rows(page), "nobody is called so")
    page.reload()
    page.wait(f"document.querySelector('[data-testid=filter-text]').value == {json.dumps(IMAGE)}")
    assert page.evaluate("window.pwned") is None
