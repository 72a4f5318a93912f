"""What the other tests rely on: the driver of the browser sees what is there, and hears of everything that goes wrong."""

import http.server

import pytest

import axe
import chromium as driver
from processes import is_alive
from sites import serving

FORM = b"""<!doctype html><html lang=en><title>a form</title><link rel=icon href="data:,"><main><h1>A form</h1><label>Name <input id=name></label>
<button id=button>Press</button><p id=said></p></main><script src=page.js></script>"""
SCRIPT = b"""const said = document.getElementById('said'), name = document.getElementById('name');
document.getElementById('button').onclick = () => { said.textContent = 'pressed ' + name.value; };
name.onkeydown = (e) => { (window.keys ??= []).push(e.key); };"""
PAGES = {
    "/": FORM, "/page.js": SCRIPT,
    "/inline": b'<!doctype html><title>a</title><link rel=icon href="data:,"><button id=b onclick="x()">b</button><script>document.title = "broken"</script>',
    "/style": b'<!doctype html><title>a</title><link rel=icon href="data:,"><p style="color: red">b</p>',
    "/elsewhere": b'<!doctype html><title>a</title><link rel=icon href="data:,"><script src=elsewhere.js></script>',
    "/elsewhere.js": b"fetch('http://127.0.0.2:1/').catch(() => { document.title = 'refused'; });",
    "/throws": b'<!doctype html><title>a</title><link rel=icon href="data:,"><script src=throws.js></script>',
    "/throws.js": b"Promise.reject(new Error('nobody catches this'));",
    "/missing": b'<!doctype html><title>a</title><link rel=icon href="data:,"><script src=nowhere.js></script>',
    "/pale": b'<!doctype html><title>a</title><link rel=icon href="data:,"><main><h1 class=x>Pale words</h1><input><link rel=stylesheet href=pale.css></main>',
    "/pale.css": b".x { color: #ccc; background: #fff; }",
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        body = PAGES.get(self.path)
        self.send_response(200 if body else 404)
        suffix = self.path.rpartition(".")[2]
        self.send_header("Content-Type", {"js": "text/javascript", "css": "text/css"}.get(suffix, "text/html"))
        self.send_header("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:")
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@pytest.fixture(scope="module")
def site():
    with serving(Handler) as address:
        yield address


def test_mouse_and_keyboard_reach_the_page(chromium, site):
    page = chromium.open(site + "/")
    page.click("#name")
    page.press("a", "?", "/")
    page.type("é ü")
    page.press("ArrowLeft", "Tab")
    assert page.focused() == "button" and page.evaluate("keys") == ["a", "?", "/", "ArrowLeft", "Tab"]
    page.press("Enter")
    page.wait_text("#said", "pressed a?/é ü")
    page.fill("#name", "anew")
    page.press("Tab", "Shift+Tab")
    page.click("#button")
    page.wait_text("#said", "pressed anew")
    page.reload()
    assert page.text("#said") == "" and page.evaluate("document.getElementById('name').value") == ""


def test_pages_of_two_users_share_nothing(chromium, site):
    one, other = chromium.open(site + "/"), chromium.open(site + "/", theme="dark", width=360)
    one.evaluate("localStorage.setItem('a', 'b')")
    assert other.evaluate("[localStorage.getItem('a'), innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]") == [None, 360, True]
    assert one.evaluate("[localStorage.getItem('a'), innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]") == ["b", 1280, False]


@pytest.mark.parametrize("path, what", [
    ("/inline", "inline script"), ("/inline", "script-src-elem"), ("/style", "inline style"), ("/elsewhere", "127.0.0.2"), ("/throws", "nobody catches this"),
    ("/missing", "nowhere.js")])
def test_what_goes_wrong_is_heard_of(chromium, site, path, what):
    page = chromium.open(site + path)
    page.wait("document.readyState == 'complete'")
    driver.retry_until(lambda: any(what in said for said in page.all_troubles()), f"{what} is heard of")
    page.expect("")


def test_requests_elsewhere_are_noted(chromium, site):
    page = chromium.open(site + "/elsewhere")
    page.wait("document.title == 'refused'")
    page.origin, other = site, "http://127.0.0.2:1/"
    assert page.strange_requests() in ([], [other])  # the policy stops it, before or after it is reported
    assert not any(request["url"] == other for request in page.requests) or page.strange_requests() == [other]
    page.origin = None
    page.expect("")


def test_a_page_that_does_not_come_is_an_error(chromium):
    with pytest.raises(AssertionError, match="ERR_"):
        chromium.open("http://127.0.0.1:1/")


def test_accessibility_checker_finds_what_is_wrong(chromium, site, axe_source):
    assert not axe.check(chromium.open(site + "/"), axe_source)
    found = "\n".join(axe.check(chromium.open(site + "/pale"), axe_source))
    assert "color-contrast" in found and "html-has-lang" in found and "label" in found


def test_nothing_of_a_browser_outlives_it(chromium_path, chromium_process):  # pylint: disable=unused-argument
    browser = driver.Chromium(chromium_path)
    page = browser.open("data:text/html,<title>here</title>")
    assert page.evaluate("document.title") == "here"
    everyone = driver.descendants(browser.popen.pid)
    browser.stop()
    assert everyone and not any(map(is_alive, everyone)) and not driver.pathlib.Path(browser.profile).exists()
