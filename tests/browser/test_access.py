"""Who cannot see well, has no mouse, or a small screen: each view by the accessibility checker, with the keyboard alone, and 360 pixels wide."""

import json

import pytest

import axe
from chromium import LIVE
from recorded import Recorded

V1 = "/apis/annals.dev/v1"
LINE = "[data-testid=diff] .list-row:not([hidden]) [data-testid=diff-line]"


@pytest.fixture
def shop(room):
    """Something for each view."""
    room.running("web", replicas=2)
    room.image("i:2")
    room.settle("web")
    it = Recorded(room.server, room.namespace, "Service", "settings", managers=["kubectl"])
    it.make(spec={"ports": [{"port": 80}]}, metadata={"annotations": {"color": "red", "long": "word " * 100, **{f"a{n:02}": "same" for n in range(30)}}})
    it.patch({"metadata": {"annotations": {"color": "blue"}}}, paths=["/metadata/annotations/color"], cause="a colder one " * 10)
    made = room.server.post(f"{V1}/namespaces/{room.namespace}/providers", {"metadata": {"name": "colors"}, "spec": {"data": {"a": 1}}})
    assert made.status == 201, made
    made = room.server.post(f"{V1}/namespaces/{room.namespace}/dependents", {"metadata": {"name": "painter"}, "spec": {"providers": [{"kind": "Provider", "name": "colors"}]}})
    assert made.status == 201, made
    return room


def views(room):
    """(address, what is to be seen in it)."""
    ns = room.namespace
    yield f"/timeline?namespace={ns}", "[data-testid=change-row]:not([hidden])"
    yield f"/timeline?namespace={ns}&text=nothing-like-that", ".empty button"
    yield f"/history/-/Service/{ns}/settings?mode=split", f"{LINE}[data-op='+']"
    yield f"/history/-/Service/{ns}/settings?mode=inline", f"{LINE}[data-op='+']"
    yield f"/history/-/Service/{ns}/settings?from=none&to=1", LINE
    yield f"/history/apps/StatefulSet/{ns}/web?own=true", LINE
    yield f"/rollout/apps/StatefulSet/{ns}/web", "[data-testid=rollout-pod]"
    yield "/usage", "[data-testid=usage] a"
    yield f"/usage/providers/{ns}/colors", "[data-testid=usage-row]"
    yield f"/workloads?namespace={ns}", "[data-testid=workload-row]:not([hidden])"
    yield "/nowhere", "[data-testid=error]"


def go(page, address, selector):
    page.evaluate(f"location.hash = {json.dumps(address)}")
    page.wait_for(selector)


# What stands out to the right of the window, and is in nothing that scrolls by itself.
TOO_WIDE = """[...document.querySelectorAll('body *')].filter((e) => {
    const box = e.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1 || box.right <= innerWidth + 1 || e.closest('.sr')) return false;
    for (let p = e.parentElement; p; p = p.parentElement) { if (getComputedStyle(p).overflowX !== 'visible' && p.getBoundingClientRect().right <= innerWidth + 1) return false; }
    return true;
}).map((e) => e.outerHTML.slice(0, 150)).slice(0, 5)"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessibility_checker_finds_nothing(look, ui, shop, axe_source, theme):
    page = look(f"/timeline?namespace={shop.namespace}", of=ui("--write"), theme=theme)
    found = []
    for width in (1280, 360) if theme == "light" else (1280,):  # colours do not depend on the width
        page.size(width, 800)
        for address, selector in views(shop):
            go(page, address, selector)
            page.expect("404")
            found += [f"{theme}, {width} wide, {address}: {said}" for said in axe.check(page, axe_source)]
        page.click("#help")
        page.wait_for("[data-testid=help-dialog]")
        found += [f"{theme}, {width} wide, help: {said}" for said in axe.check(page, axe_source)]
        page.press("Escape")
    assert not found, "\n".join(found)


def test_without_a_session_it_is_as_good(chromium, ui, axe_source):
    mine = ui()
    page = chromium.open()
    page.origin = mine.origin
    page.go(mine.base)
    page.wait_for("[data-testid=no-session]")
    assert not axe.check(page, axe_source)


def test_width_of_a_phone(look, ui, shop):
    page = look(f"/timeline?namespace={shop.namespace}", of=ui("--write"), width=360, height=740)
    page.size(360, 740, scale=2, is_phone=True)
    for address, selector in views(shop):
        go(page, address, selector)
        page.expect("404")
        assert page.evaluate("[innerWidth, document.scrollingElement.scrollWidth]") == [360, 360], address
        assert page.evaluate(TOO_WIDE) == [], address
    go(page, f"/history/-/Service/{shop.namespace}/settings", f"{LINE}[data-op='+']")
    assert page.attributes("[data-testid=diff-mode]", "data-mode") == ["inline"], "two columns are no help there"


def background(page):
    return page.evaluate("(() => { const c = document.createElement('canvas').getContext('2d'); c.fillStyle = getComputedStyle(document.body).backgroundColor; "
                         "c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).reduce((a, b) => a + b) / 3 })()")


def test_themes_follow_the_system_until_somebody_chooses(look, room):
    page = look(f"/timeline?namespace={room.namespace}")
    page.wait(LIVE)
    assert background(page) > 200
    page.theme("dark")
    page.until(lambda: background(page) < 60, "it is dark")
    page.click("[data-testid=theme]")  # as the system says -> light
    page.until(lambda: background(page) > 200, "it is light")
    page.reload()
    page.wait(LIVE)
    assert background(page) > 200, "the choice is kept"
    page.click("[data-testid=theme]")
    page.theme("light")
    page.until(lambda: background(page) < 60, "dark is chosen")


# ---- the keyboard alone ----


def tab_to(page, what):
    """Presses Tab until that has the focus: a selector."""
    for _ in range(60):
        if page.evaluate(f"document.activeElement?.matches({json.dumps(what)}) ?? false"):
            return
        page.press("Tab")
    raise AssertionError(f"Tab does not lead to {what}\n{page.show()}")


def is_marked(page):
    """Whether what has the focus looks so."""
    return page.evaluate("""(() => { const e = document.activeElement, s = getComputedStyle(e), row = e.querySelector?.('.is-active');
        const marked = (s) => (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== 'none';
        return marked(s) || Boolean(row && marked(getComputedStyle(row))); })()""")


def test_keyboard_alone_leads_to_everything(look, shop):
    page = look(f"/timeline?namespace={shop.namespace}")
    page.allow_clipboard()
    page.wait_for("[data-testid=change-row]:not([hidden])")
    page.press("Tab")
    assert page.focused() == "skip" and is_marked(page)
    page.press("Enter")
    assert page.focused() == "main"
    page.press("?")
    page.wait_for("[data-testid=help-dialog]")
    page.press("Escape")
    page.wait("!document.querySelector('dialog')")
    assert page.focused() == "main", "the focus is where it was"
    page.press("/")
    assert page.focused() == "filter-text" and is_marked(page)
    page.type("settings")
    page.until(lambda: page.count("[data-testid=change-row]:not([hidden])") == 2, "two are left")
    page.press("Enter")
    assert page.focused() == "timeline" and is_marked(page)
    page.press("ArrowDown", "ArrowUp", "Enter")
    page.wait_for("[data-testid=history-title]")
    page.wait_for(f"{LINE}[data-op='+']")

    tab_to(page, "[data-testid=changes]")
    page.press("ArrowDown", "Enter")
    page.wait("document.querySelector('[data-testid=revision-to]').selectedOptions[0].textContent.startsWith('1')")
    page.press("Home", "Enter")
    page.wait_for(f"{LINE}[data-op='+']")
    tab_to(page, "[data-testid=revision-from]")
    assert is_marked(page)
    tab_to(page, "[data-testid=diff-mode] button[data-mode=inline]")
    assert is_marked(page)
    page.press("Enter")
    page.wait("document.querySelector('[data-testid=diff-mode]').dataset.mode == 'inline'")
    tab_to(page, "[data-testid=diff]")
    page.press("Home", "n", "c")
    page.wait("navigator.clipboard.readText().then((t) => t == '/metadata/annotations/color')", "the path is copied")
    n = page.evaluate("+document.querySelector('[data-testid=diff]').getAttribute('aria-rowcount')")
    page.press("Home")
    for _ in range(n):
        if page.evaluate("Boolean(document.querySelector('[data-testid=diff] .is-active [data-testid=fold]'))"):
            break
        page.press("ArrowDown")
        page.evaluate("new Promise(requestAnimationFrame)")
    page.press("Enter")
    page.wait(f"+document.querySelector('[data-testid=diff]').getAttribute('aria-rowcount') > {n}", "it unfolds")
    tab_to(page, "[data-testid=changes]")
    page.press("End", "Enter")
    page.wait_for("[data-testid=undo-command]")
    tab_to(page, "[data-testid=write] button")
    assert is_marked(page)
