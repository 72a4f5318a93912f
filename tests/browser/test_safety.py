"""Who gets in, and what a browser then lets others do: links, sessions, other names, other sites, and policies."""

import http.server
import json

import pytest

import pages
import processes
from chromium import LIVE
from recorded import Recorded
from sites import serving

ROWS = "[data-testid=change-row]:not([hidden])"

# Another site: what it tries is in its page, and what came of it in its title.
TRIES = """
const base = location.hash.slice(1), outcomes = {};
const attempt = async (name, run) => { try { outcomes[name] = await run(); } catch (e) { outcomes[name] = 'refused'; } };
const ask = (path, how) => async () => { const r = await fetch(base + path, how); return r.type === 'opaque' ? 'opaque ' + (await r.text()).length : r.status + ' ' + (await r.text()); };
const element = (tag, attribute, path) => () => new Promise((resolve) => {
    const e = document.createElement(tag);
    e.onload = () => resolve('loaded ' + (e.contentDocument?.body?.textContent ?? ''));
    e.onerror = () => resolve('refused');
    e[attribute] = base + path;
    if (tag === 'link') { e.rel = 'stylesheet'; }
    document.head.append(e);
});
(async () => {
    await attempt('get', ask('about'));
    await attempt('get without cors', ask('about', {mode: 'no-cors'}));
    await attempt('file without cors', ask('main.js', {mode: 'no-cors'}));
    await attempt('with a session', ask('about', {headers: {'X-Annals-Session': 'x'}}));
    await attempt('token', ask('session', {method: 'POST', headers: {'X-Annals-Token': 'x'}}));
    await attempt('token without cors', ask('session', {method: 'POST', mode: 'no-cors', body: 'x'}));
    await attempt('undo', ask('undo', {method: 'POST', mode: 'no-cors', body: '{"dryRun":false}'}));
    await attempt('watch', ask('api/apis/annals.dev/v1/histories?watch=1', {mode: 'no-cors', credentials: 'include'}));
    await attempt('script', element('script', 'src', 'theme.js'));
    await attempt('style', element('link', 'href', 'page.css'));
    await attempt('image', element('img', 'src', 'icon.svg'));
    await attempt('module', () => import(base + 'api.js').then(() => 'loaded'));
    window.outcomes = outcomes;
})();
"""


class Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        self.send_response(200)
        is_script = self.path.endswith(".js")
        self.send_header("Content-Type", "text/javascript" if is_script else "text/html")
        self.end_headers()
        self.wfile.write(TRIES.encode() if is_script else b'<!doctype html><title>elsewhere</title><link rel=icon href="data:,"><body></body>'
                         + (b"<script src=tries.js></script>" if self.path == "/tries" else b""))

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@pytest.fixture
def elsewhere():
    with serving(Elsewhere) as address:
        yield address


def data_requests(page):
    """What was asked for that is not a file of the page's."""
    return [request["url"] for request in page.requests if any(part in request["url"] for part in ("/api/", "/about", "/revisions", "/diff"))]


# ---- links ----


def test_link_opens_once_and_leaves_the_address(look, ui):
    mine = ui()
    page = look(of=mine)
    page.wait(LIVE)
    assert mine.token not in page.evaluate("JSON.stringify([location.href, document.referrer, document.cookie, {...localStorage}, {...sessionStorage}])")
    assert page.evaluate("[document.cookie, document.title.includes('token')]") == ["", False]

    other = look(of=mine)
    other.expect("401")
    other.wait_text("[data-testid=no-session]", "used")
    assert not data_requests(other)
    page.reload()
    page.wait(LIVE)


def test_token_is_in_nothing_that_back_leads_to(look, ui):
    mine = ui()
    page = look("/timeline?kind=ConfigMap", of=mine)
    page.wait_for("[data-testid=filter-kind]")
    entries = page.call("Page.getNavigationHistory")["entries"]
    assert not any(mine.token in entry["url"] for entry in entries), entries
    assert page.evaluate("document.querySelector('[data-testid=filter-kind]').value") == "ConfigMap", "the link named the view, too"


@pytest.mark.parametrize("fragment", ["", "#token=", "#token=" + "0" * 64, "#/timeline"])
def test_without_a_link_there_is_only_the_way_to_get_one(chromium, ui, fragment):
    mine = ui()
    page = chromium.open()
    page.origin = mine.origin
    page.expect("401")
    page.go(mine.base + fragment)
    page.wait_text("[data-testid=no-session]", "kubectl annals ui")
    assert not data_requests(page)


def test_session_ends_with_its_server(look, ui):
    """A session of one server is worth nothing at the next, and the page says so."""
    mine = ui()
    page = look(of=mine)
    page.wait(LIVE)
    page.evaluate("localStorage.setItem('annals-session', 'f'.repeat(64))")
    page.expect("401")
    page.reload()
    page.wait_text("[data-testid=no-session]", "kubectl annals ui")


# ---- one session for the browser ----

KIND = "document.querySelector('[data-testid=filter-kind]')?.value == 'ConfigMap'"


def test_another_tab_of_the_browser_needs_no_link(chromium, look, ui):
    """A Ctrl-click, a bookmark, an address that somebody sent. Another browser, or a private window, has no part in it."""
    mine = ui()
    page = look(of=mine)
    page.wait(LIVE)
    tab = chromium.open(context=page.context)
    tab.origin = mine.origin
    tab.go(mine.base + "#/timeline?kind=ConfigMap")
    tab.wait(f"{LIVE} && {KIND}")
    other = chromium.open()
    other.origin = mine.origin
    other.go(mine.base + "#/timeline?kind=ConfigMap")
    other.wait_for("[data-testid=no-session]")


def test_ctrl_click_opens_a_tab_that_works(chromium_process, look, room):
    it = Recorded(room.server, room.namespace, "Service", "web", managers=["x"])
    it.make(spec={"ports": [{"port": 80}]})
    page = look(f"/timeline?namespace={room.namespace}&kind=Service")
    page.wait(LIVE)
    page.wait_for(f"{ROWS} a")
    page.click(f"{ROWS} a", modifiers=["Control"])

    def opened():
        targets = [t for t in chromium_process.call("Target.getTargets")["targetInfos"] if t.get("browserContextId") == page.context]
        return [t["targetId"] for t in targets if t["targetId"] != page.target and t["title"] == f"Service {room.namespace}/web · annals"]

    tabs = processes.retry_until(opened, "a tab with its history is there")
    assert "/timeline" in page.address
    chromium_process.call("Target.closeTarget", targetId=tabs[0])


def test_a_tab_that_waits_goes_on_when_a_link_is_opened_in_another(chromium, ui):
    mine = ui()
    waiting = chromium.open()
    waiting.origin = mine.origin
    waiting.go(mine.base + "#/timeline?kind=ConfigMap")
    waiting.wait_text("[data-testid=no-session]", "This page needs a link")
    tab = chromium.open(context=waiting.context)
    tab.origin = mine.origin
    tab.go(mine.link)
    tab.wait(LIVE)
    waiting.wait(f"{LIVE} && {KIND}")


def test_the_address_that_was_wanted_survives_the_token(chromium, ui):
    mine = ui()
    page = chromium.open()
    page.origin = mine.origin
    page.go(mine.base + "#/timeline?kind=ConfigMap")
    page.wait_for("[data-testid=no-session]")
    page.evaluate(f"location.href = {json.dumps(mine.link)}")
    page.wait(f"{LIVE} && {KIND}")
    assert mine.token not in page.address and "kind=ConfigMap" in page.address


def test_credentials_that_have_expired_are_named(chromium, folder, monkeypatch):
    """The session goes on; it is the API server that accepts the user no longer."""
    def refuse(handler):
        body = json.dumps({"kind": "Status", "status": "Failure", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}).encode()
        handler.send_response(401)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    upstream = pages.Upstream(refuse)
    try:
        process, _ = pages.start(upstream.kubeconfig(folder))
        mine = processes.Process([processes.BIN, "kubectl", "ui", "--kubeconfig", upstream.kubeconfig(folder)])
        link = mine.stdout.wait(pages.LINK)[0]
        monkeypatch.setattr(pages, "DISCOVERY", {})
        page = chromium.open()
        page.expect("401")
        page.go(link)
        page.wait_text("[data-testid=error]", "may have expired")
        assert page.count("[data-testid=no-session]") == 0 and "no longer accepted" in page.text("[data-testid=error]")
        mine.stop()
        process.stop()
    finally:
        upstream.close()


# ---- names of the server ----


@pytest.mark.parametrize("name", ["localhost", "[::1]"])
def test_other_names_of_this_machine_are_its_own(chromium, ui, name):
    mine = ui()
    page = chromium.open()
    page.origin = mine.origin.replace("127.0.0.1", name)
    page.go(mine.link.replace("127.0.0.1", name))
    page.wait(LIVE)


def test_names_that_only_lead_here_are_refused(chromium, ui):
    """DNS rebinding: a name of a stranger's, which means 127.0.0.1 for a moment."""
    mine = ui()
    page = chromium.open()
    page.expect("42[01]|403|Cross-Origin-Opener-Policy")  # which means nothing to names without TLS
    page.go(mine.link.replace("127.0.0.1", "rebound.example"))
    assert page.answers[mine.base.replace("127.0.0.1", "rebound.example")]["status"] in (403, 421)
    assert page.count("script") == 0 and page.count("[data-testid=no-session]") == 0


# ---- other sites ----


def test_other_sites_get_nothing(chromium, ui, elsewhere):
    mine = ui()
    page = chromium.open()
    page.expect("")
    page.go(f"{elsewhere}/tries#{mine.base}")
    outcomes = page.wait("window.outcomes", "the other site has tried everything")
    assert len(outcomes) == 12 and set(outcomes.values()) <= {"refused", "opaque 0"}, outcomes
    statuses = [answer["status"] for url, answer in page.answers.items() if url.startswith(mine.origin)]
    assert not [status for status in statuses if status < 400], page.answers
    # The link is as good as it was.
    own = chromium.open()
    own.origin = mine.origin
    own.go(mine.link)
    own.wait(LIVE)


def test_other_sites_cannot_frame_it(chromium, ui, elsewhere):
    mine = ui()
    page = chromium.open(elsewhere + "/")
    page.expect("")
    page.evaluate(f"new Promise((done) => {{ const f = document.createElement('iframe'); f.onload = done; f.src = '{mine.base}'; document.body.append(f); }})")
    tree = page.call("Page.getFrameTree")["frameTree"]["childFrames"]
    assert [frame["frame"]["url"] for frame in tree] == ["chrome-error://chromewebdata/"]


def test_other_sites_that_open_it_have_no_hold_on_it(chromium, ui, elsewhere):
    mine = ui()
    page = chromium.open(elsewhere + "/")
    page.expect("")
    page.evaluate(f"window.opened = window.open('{mine.base}', 'x'); 0")
    page.wait("opened.closed", "the window that was opened is out of reach")


# ---- what the page itself may do ----


def test_policy_stops_what_is_not_the_pages_own(look, ui, elsewhere):
    page = look()
    page.wait(LIVE)
    asked = f"""Promise.all([
        fetch('{elsewhere}/').then(() => 'let through', () => 'refused'),
        new Promise((done) => {{ const e = new Image(); e.onload = () => done('let through'); e.onerror = () => done('refused'); e.src = '{elsewhere}/x.png'; }}),
        new Promise((done) => {{ const e = document.createElement('script'); e.textContent = 'window.ran = true'; document.body.append(e); done(window.ran ? 'let through' : 'refused'); }}),
        new Promise((done) => {{ const e = document.createElement('p'); e.setAttribute('style', 'width: 7px'); document.body.append(e); done(e.offsetWidth === 7 ? 'let through' : 'refused'); }}),
        new Promise((done) => {{ const e = document.createElement('form'); e.action = '{elsewhere}/'; e.method = 'post'; document.body.append(e); e.submit(); setTimeout(() => done('refused'), 0); }}),
    ])"""
    assert page.evaluate(asked) == ["refused"] * 5
    said = page.call("Runtime.evaluate", expression="eval('1')", allowUnsafeEvalBlockedByCSP=False)
    assert "EvalError" in said["exceptionDetails"]["exception"]["description"]
    assert page.address.startswith(page.origin)
    page.expect("")
    page.origin = None


def test_headers_of_each_answer(look):
    page = look()
    page.wait(LIVE)
    ours = {url: answer for url, answer in page.answers.items() if url.startswith(page.origin)}
    assert len(ours) > 8
    for url, answer in ours.items():
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        assert headers["content-security-policy"].startswith("default-src 'none'"), url
        assert "unsafe" not in headers["content-security-policy"] and "*" not in headers["content-security-policy"], url
        assert [headers[name] for name in ("x-content-type-options", "referrer-policy", "cross-origin-opener-policy", "cross-origin-resource-policy")] == [
            "nosniff", "no-referrer", "same-origin", "same-origin"], url
        assert "set-cookie" not in headers and "access-control-allow-origin" not in headers, url
        if data_requests(page) and "/api/" in url:
            assert headers["cache-control"] == "no-store", url


def test_it_only_reads_without_write(look, room):
    """Also where the session's own script asks."""
    page = look()
    page.wait(LIVE)
    page.expect("403|404|405")
    asked = """(async () => {
        const session = localStorage.getItem('annals-session'), headers = {'X-Annals-Session': session, 'Content-Type': 'application/json'};
        const statuses = [];
        for (const [method, path] of [['POST', 'undo'], ['POST', 'restore'], ['DELETE', 'api/apis/annals.dev/v1/namespaces/NS/histories/x'],
                                      ['POST', 'api/apis/annals.dev/v1/namespaces/NS/providers'], ['GET', 'api/api/v1/namespaces/NS/secrets'],
                                      ['GET', 'api/api/v1/namespaces/NS/pods/x/log'], ['GET', 'api/metrics'], ['GET', 'api/api/v1/namespaces/NS/configmaps']]) {
            const body = method === 'POST' ? JSON.stringify({type: 'configmaps', namespace: 'NS', name: 'x', revision: 1, dryRun: false}) : undefined;
            statuses.push((await fetch('/annals/ui/' + path, {method, headers, body})).status);
        }
        return statuses;
    })()""".replace("NS", room.namespace)
    statuses = page.evaluate(asked)
    assert all(status in (403, 404, 405) for status in statuses) and statuses[:2] == [403, 403], statuses
