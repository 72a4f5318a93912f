"""The page's server: who is let in, what may be asked, and how answers are passed on. Its files, as a browser sees them, are tested
in tests/browser."""

import gzip
import hashlib
import importlib.util
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import threading

import pytest

import pages
import processes

FILES = pathlib.Path(__file__).resolve().parents[2] / "cli" / "ui" / "page"
SAFETY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
PODS = "api/api/v1/pods"


@pytest.fixture
def page(annals):
    return pages.start(annals.kubeconfig)[1]


def assert_safe(reply):
    names = [name.lower() for name, _ in reply.fields]
    assert {name: reply.headers.get(name) for name in SAFETY} == SAFETY, reply.fields
    assert len(names) == len(set(names)), "no header is there twice"
    assert "access-control-allow-origin" not in names and "set-cookie" not in names


# ---- files ----


def embedded(path):
    """What tools/embed-page.py makes of a file."""
    spec = importlib.util.spec_from_file_location("embed_page", FILES.parents[2] / "tools" / "embed-page.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.bare(path)


def test_files_are_served_to_everybody_and_are_what_they_are(page):
    page.session = None
    types = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
             ".svg": "image/svg+xml"}
    files = [path for path in FILES.rglob("*") if path.is_file()]
    assert files
    for path in files:
        name = path.relative_to(FILES).as_posix()
        plain, packed = page.ask(name), page.ask(name, headers={"Accept-Encoding": "br, gzip"})
        assert plain.status == 200 and plain.body == gzip.decompress(packed.body), f"{name} is in meson.build"
        assert plain.body == embedded(path), "the program is of these sources"
        assert plain.headers["content-type"] == packed.headers["content-type"] == types[path.suffix]
        assert packed.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
        assert plain.headers["vary"] == "Accept-Encoding" and plain.headers["cache-control"] == "no-cache"
        assert plain.headers["etag"] != packed.headers["etag"]
        for reply in (plain, packed):
            assert_safe(reply)
        known = page.ask(name, headers={"If-None-Match": plain.headers["etag"]})
        assert known.status == 304 and known.headers["etag"] == plain.headers["etag"]
    assert page.ask("").body == page.ask("index.html").body


@pytest.mark.parametrize("path", ["/", "/annals/ui"])
def test_who_forgets_the_path_is_led_there(page, path):
    reply = page.ask(path)
    assert reply.status == 307 and reply.headers["location"] == "/annals/ui/"


@pytest.mark.parametrize("path", [
    "../ui.c", "page/../index.html", "%69ndex.html", "index.html/", "/annals/ui//index.html", "views", "views/", ".", "/annals/ui/../../etc/passwd",
    "/etc/passwd", "/annals/", "/annals/ui/index.html%00.js", "/api/v1/pods", "*"])
def test_nothing_else_is_a_file(page, path):
    reply = page.ask(path)
    assert reply.status in (400, 404), reply
    assert_safe(reply)


# ---- who is let in ----


def test_a_token_is_good_once(annals):
    process, page = pages.start(annals.kubeconfig)
    assert page.ask("about").status == 200
    again = page.exchange()
    assert again.status == 401 and again.json["kind"] == "Status"
    assert page.ask("about").status == 200, "the session stays"
    other = pages.Page(f"http://127.0.0.1:{page.port}/annals/ui/#token={'0' * 64}")
    for session in (None, "", "0" * 64, page.session[:-1], page.session + "0", page.token, page.session.upper()):
        other.session = session
        for path in ("about", PODS):
            reply = other.ask(path)
            assert reply.status == 401 or session == page.session, (session, reply)


def test_an_answer_that_is_lost_does_not_use_up_the_token(annals):
    """Only a page that has the whole answer can use its session; until then the token opens another session instead of that one."""
    process = processes.Process([processes.BIN, "kubectl", "ui", "--kubeconfig", annals.kubeconfig])
    page = pages.Page(process.stdout.wait(pages.LINK)[0])
    for _ in range(20):
        with page.connect() as connection:
            connection.say(page.head("session", method="POST", headers={"X-Annals-Token": page.token}))
    unused = pages.Page(page.link).enter()
    used = pages.Page(page.link).enter()
    assert used.ask("about").status == 200
    assert unused.ask("about").status == 401, "one token never has two sessions"
    assert page.exchange().status == 401


def test_tries_are_bounded(annals):
    """Beyond the bound nobody looks at them any more; who is in stays in."""
    _, page = pages.start(annals.kubeconfig)
    statuses = [page.exchange(f"{number:064x}").status for number in range(40)]
    assert statuses == [401] * 32 + [429] * 8
    assert page.ask("about").status == 200


AS_ANOTHER = """
import socket, sys
port, text, n = int(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3])
answers = []
for _ in range(n):
    connection = socket.create_connection(("127.0.0.1", port))
    try:
        connection.sendall(text)
        answers.append(connection.recv(65536))
    except (ConnectionResetError, BrokenPipeError):
        answers.append(b"")
print(len(answers), b"".join(answers))
"""


def ask_as_another(port, text, n=1):
    """What a program of another user of this machine is answered, over so many connections."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    try:
        done = subprocess.run(["/usr/bin/python3", "-c", AS_ANOTHER, str(port), text, str(n)], user=65534, group=65534, extra_groups=[], cwd="/",
                              capture_output=True, text=True, check=True)
    except PermissionError:
        pytest.skip("this root may not become another user")
    return done.stdout


def test_another_user_of_the_machine_is_answered_nothing(annals):
    """Not even where they have read the token in the list of processes; and the terminal says so."""
    process = processes.Process([processes.BIN, "kubectl", "ui", "--kubeconfig", annals.kubeconfig])
    page = pages.Page(process.stdout.wait(pages.LINK)[0])
    assert ask_as_another(page.port, page.head("session", method="POST", headers={"X-Annals-Token": page.token})) == "1 b''\n"
    assert page.enter().ask("about").status == 200, "the token is still good"
    assert ask_as_another(page.port, page.head("about", headers={"X-Annals-Session": page.session})) == "1 b''\n"
    assert process.stderr.wait(r"another user of this machine \(uid 65534\)")


def test_silent_connections_of_another_user_take_no_place(annals):
    """Each of these ends at once. Where they stayed, the owner would wait for as long as newcomers are given to say something."""
    _, page = pages.start(annals.kubeconfig)
    assert ask_as_another(page.port, "", 500) == "500 b''\n"
    assert page.ask("about").status == 200


FROM_THE_SAME_PORT = """
import socket, sys
port, text = int(sys.argv[1]), sys.argv[2].encode()

def connect(host, local):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", local))
    s.connect((host, port))
    return s

local, kept = 0, []
for last in range(2, 22):
    host = f"127.0.0.{last}"
    decoy = socket.create_server((host, port))
    dead = connect(host, local)
    local = dead.getsockname()[1]
    kept.append(decoy.accept()[0])
    dead.close()
    assert kept[-1].recv(1) == b""
connection = connect("127.0.0.1", local)
try:
    connection.sendall(text)
    print(connection.recv(65536))
except ConnectionResetError:
    print(b"")
"""


def test_a_dead_socket_of_the_same_port_vouches_for_nobody(annals):
    """The kernel lists it as root's. Another user can make some, to other addresses, before coming to us from the same port."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    process = processes.Process([processes.BIN, "kubectl", "ui", "--kubeconfig", annals.kubeconfig])
    page = pages.Page(process.stdout.wait(pages.LINK)[0])
    head = page.head("session", method="POST", headers={"X-Annals-Token": page.token})
    done = subprocess.run(["/usr/bin/python3", "-c", FROM_THE_SAME_PORT, str(page.port), head], user=65534, group=65534, extra_groups=[], cwd="/",
                          capture_output=True, text=True, check=True)
    assert done.stdout == "b''\n"
    assert page.enter().ask("about").status == 200


def test_enter_prints_another_link(annals):
    """On a terminal of which it has the foreground. The one before is good for nobody, and who is in stays in."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["NO_COLOR"] = "1"
        os.environ.pop("DISPLAY", None)
        os.environ.pop("WAYLAND_DISPLAY", None)
        os.execv(processes.BIN, [str(processes.BIN), "kubectl", "ui", "--kubeconfig", str(annals.kubeconfig), "--no-browser"])
    text = ""

    def links(n):
        nonlocal text
        while len(re.findall(pages.LINK + r"\r\n", text)) < n:
            text += os.read(terminal, 4096).decode()
        return [pages.Page(match[0]) for match in re.finditer(pages.LINK, text)]

    try:
        first = links(1)[0].enter()
        os.write(terminal, b"\n")
        unused = links(2)[1]
        os.write(terminal, b"\n")
        last = links(3)[2]
        assert unused.exchange().status == 401
        assert last.enter().ask("about").status == 200 == first.ask("about").status
        os.write(terminal, b"\x03")
        _, status = os.waitpid(pid, 0)
        pid = 0
        assert os.waitstatus_to_exitcode(status) == 0
    finally:
        os.close(terminal)
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_the_oldest_session_gives_way(annals):
    """17 links are made by 17 Enters; the first session ends, the others stay."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(processes.BIN, [str(processes.BIN), "kubectl", "ui", "--kubeconfig", str(annals.kubeconfig), "--no-browser"])
    text, entered = "", []
    try:
        while len(entered) < 17:
            found = re.findall(pages.LINK + r"\r\n", text)
            if len(found) > len(entered):
                port, root, token = found[len(entered)]
                entered.append(pages.Page(f"http://127.0.0.1:{port}{root}#token={token}").enter())
                os.write(terminal, b"\n")
            else:
                text += os.read(terminal, 4096).decode()
        assert [page.ask("about").status for page in entered] == [401] + [200] * 16
    finally:
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def hosts(port):
    return [f"127.0.0.1:{port}", f"[::1]:{port}", f"localhost:{port}"]


def test_hosts(page):
    for host in hosts(page.port):
        assert page.ask("about", host=host).status == 200
    for host in ("127.0.0.1", "localhost", "[::1]", f"127.0.0.1:{page.port + 1}", f"evil.example:{page.port}", f"127.0.0.1.nip.io:{page.port}",
                 f"localhost.:{page.port}", f"LOCALHOST:{page.port}", f"127.1:{page.port}", f"0.0.0.0:{page.port}", f"2130706433:{page.port}",
                 f"127.0.0.1:0{page.port}", f"evil@127.0.0.1:{page.port}", f"127.0.0.1:{page.port},evil", f"::1:{page.port}"):
        for path in ("", "about", PODS, "nothing"):
            reply = page.ask(path, host=host)
            assert reply.status in (400, 421), (host, reply)
            assert_safe(reply)
    for fields in ("", f"Host: {page.host}\r\nHost: evil.example\r\n", f"Host: {page.host}\r\nHost: {page.host}\r\n"):
        reply = page.say(f"GET /annals/ui/ HTTP/1.1\r\n{fields}\r\n")
        assert reply.status in (400, 421), (fields, reply)
        assert_safe(reply)


def test_hosts_by_ipv6(page):
    assert page.ask("about", address="::1", host=f"[::1]:{page.port}").status == 200
    assert page.ask("about", address="::1", host=f"evil.example:{page.port}").status == 421


def test_origins(page):
    for host in hosts(page.port):
        assert page.ask("about", headers={"Origin": f"http://{host}"}).status == 200
    for origin in ("null", "http://evil.example", f"https://127.0.0.1:{page.port}", "http://127.0.0.1", f"http://127.0.0.1:{page.port + 1}",
                   f"http://127.0.0.1:{page.port}.evil.example", f"http://127.0.0.1:{page.port}/", f"http://localhost:{page.port}, null", "file://"):
        for method, path in (("GET", ""), ("GET", "about"), ("POST", "session"), ("OPTIONS", "about")):
            reply = page.ask(path, method=method, headers={"Origin": origin, "X-Annals-Token": page.token})
            assert reply.status == 403, (origin, reply)
            assert_safe(reply)
    for site, status in (("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("", 403)):
        assert page.ask("about", headers={"Sec-Fetch-Site": site}).status == status


def test_methods(page):
    for method, path in (("POST", "about"), ("GET", "session"), ("DELETE", PODS), ("POST", PODS), ("PATCH", PODS), ("HEAD", "nothing"), ("PUT", "")):
        with page.connect() as connection:
            connection.say(page.head(path, method=method))
            reply = connection.head()
        assert reply.status in (404, 405), (method, path, reply)
        assert_safe(reply)
    preflight = page.ask(PODS, method="OPTIONS", headers={"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "x-annals-session"})
    assert preflight.status == 405
    assert_safe(preflight)


def test_what_is_not_http_is_answered_with_the_same_headers(page):
    for text in ("GET\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", f"GET / HTTP/1.1\r\nHost: {page.host}\r\nA: {'x' * 40000}\r\n\r\n",
                 f"POST /annals/ui/session HTTP/1.1\r\nHost: {page.host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"):
        reply = page.say(text)
        assert reply.status >= 400, (text[:60], reply)
        assert_safe(reply)


def test_bodies_are_bounded(page):
    reply = page.ask("session", method="POST", body="x" * (65 << 10))
    assert reply.status == 413
    assert_safe(reply)


def test_about(page, annals):
    about = page.ask("about").json
    assert about["mode"] == "annals" and about["canWrite"] is False and about["server"] == annals.url and about["namespace"] == "default"
    assert about["context"] == "annals" and about["version"]
    assert {"group": "apps", "version": "v1", "resource": "statefulsets", "kind": "StatefulSet", "namespaced": True, "shortNames": ["sts"]} in about["resources"]


# ---- what may be asked ----


def test_answers_are_those_of_the_api_server(page, annals, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    for target in (path, f"{path}/nothing", "/apis/annals.dev/v1/histories", "/api/v1/namespaces", f"{path}?limit=x", f"{path}?labelSelector=a%3Db%2Cc"):
        asked = []

        def is_the_same():
            """Some of it changes by itself, such as a list's version: until it does not between the two."""
            asked[:] = [annals.get(target), page.ask("api" + target)]
            return asked[0].status == asked[1].status and asked[0].json == asked[1].json

        processes.retry_until(is_the_same, f"{target} is passed on")
        expected, reply = asked
        assert reply.headers["content-type"] == expected.headers["Content-Type"] and reply.headers["cache-control"] == "no-store"
        assert_safe(reply)
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert page.ask(f"api{path}", headers={"Accept": f"{table}, application/json"}).json["kind"] == "Table"
    assert page.ask(f"api{path}", headers={"Accept": "application/yaml"}).status == 406


@pytest.mark.parametrize("path", [
    "/api/v1/secrets", "/api/v1/namespaces/default/secrets/x", "/api/v1/configmaps", "/api/v1/nodes", "/api", "/apis", "/api/v1", "/", "/version", "/metrics",
    "/openapi/v2", "/apis/apps/v1", "/apis/apps/v1/", "/apis/apps/v1beta1/deployments", "/apis/rbac.authorization.k8s.io/v1/roles",
    "/api/v1/namespaces/default", "/api/v1/namespaces/", "/api/v1/namespaces/default/pods/", "/api/v1/namespaces/default/pods/x/log",
    "/api/v1/namespaces/default/pods/x/exec", "/api/v1/namespaces/default/pods/x/proxy/", "/api/v1/namespaces/default/pods/x/status",
    "/apis/apps/v1/namespaces/default/deployments/x/scale", "/apis/annals.dev/v1/namespaces/default/controllerrevisions/x/status",
    "/apis/annals.dev/v1/namespaces/default/controllerrevisions/x/diff/y", "/apis/annals.dev/v1/namespaces/default/histories/x/diff",
    "/api/v1/../v1/secrets", "/api/v1/./pods", "/api/v1/pods/..", "/api/v1/pods/../secrets", "/api/v1/pods/%2e%2e/secrets", "/api/v1/pods/..%2fsecrets",
    "/api/v1/namespaces/default%2fsecrets/pods", "/api/v1//pods", "//api/v1/pods", "/api/v1/pods//", "/api/v1/pods%00", "/api/v1/pods%2f", "/api/v1/%70ods",
    "/api/v1/pods;x", "/api/v1/pods;/../secrets", "/api/v1/pods\\..\\secrets", "/API/v1/pods", "/api/v1/Pods", "/api/v1/watch/pods", "/api/v1/watch/secrets",
    "/api/v1/namespaces/../secrets", "/api/v1/namespaces/.../pods", "/api/v1/namespaces/-/pods", "/api/v1/namespaces/a@b/pods", pytest.param("/api/v1/pods/" + "x" * 254, id="long name"),
    "/api/v1/pods?watch=1#x", "/api/v1/pods?x=1", "/api/v1/pods?w%61tch=1", "/api/v1/pods?command=sh", "/api/v1/pods?pretty=true",
    "/api/v1/pods?labelSelector=a;b=c", "/api/v1/pods?limit=1&&limit=2", "/api/v1/pods??limit=1", "/api/v1/pods?limit=1&/api/v1/secrets",
    pytest.param("/api/v1/pods?labelSelector=" + "x" * 9000, id="long query")])
def test_other_paths_are_refused(page, path):
    """By the page's own server: a refusal of the API server would name another message."""
    reply = page.ask("api" + path)
    assert reply.status in (400, 403, 404), reply
    if reply.status == 403:
        assert "page has no need" in reply.json["message"] or "too long" in reply.json["message"]
    assert reply.status != 404 or b"nothing at this path" in reply.body
    assert_safe(reply)


def test_a_watch_is_passed_on_as_it_happens(page, annals, namespace):
    with page.stream(f"api/api/v1/namespaces/{namespace}/pods?watch=true") as watch:
        made = annals.post(f"/api/v1/namespaces/{namespace}/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        assert made.status == 201, made
        event = json.loads(watch.chunk())
        assert event["type"] == "ADDED" and event["object"]["metadata"]["name"] == "web"


# ---- an API server that behaves as the test wants ----


@pytest.fixture
def upstream(folder):
    """upstream(answer): a page whose API server answers so."""
    servers = []

    def start(answer):
        servers.append(pages.Upstream(answer))
        process, page = pages.start(servers[-1].kubeconfig(folder))
        return servers[-1], process, page

    yield start
    for server in servers:
        server.close()


def begin_stream(handler):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()


def send_chunk(handler, piece):
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))


def memory_of(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10


def test_a_page_that_does_not_read_keeps_the_api_server_waiting(upstream):
    """64 MiB come, of which nothing is read at first. The API server comes to a stand, and little of it is kept."""
    piece, n_pieces = bytes(range(256)) * 1024, 256
    sent = []

    def answer(handler):
        if "watch" not in handler.path:
            handler.send_response(404)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        begin_stream(handler)
        for number in range(n_pieces):
            send_chunk(handler, piece)
            sent.append(number)
        send_chunk(handler, b"")

    server, process, page = upstream(answer)
    with page.stream(f"{PODS}?watch=true") as watch:
        before = memory_of(process)
        n_before = -1
        while len(sent) not in (n_before, n_pieces):
            n_before = len(sent)
            assert all(page.ask(PODS).status == 404 for _ in range(20)), "others are served meanwhile"
        assert len(sent) < n_pieces and memory_of(process) < before + (48 << 20)
        digest, n = hashlib.sha256(), 0
        for got in watch.chunks():
            digest.update(got)
            n += len(got)
    assert n == n_pieces * len(piece) and digest.digest() == hashlib.sha256(piece * n_pieces).digest()


def test_the_api_server_hears_that_the_page_is_gone(upstream):
    is_gone = threading.Event()

    def answer(handler):
        begin_stream(handler)
        send_chunk(handler, b"{}\n")
        if handler.connection.recv(1) == b"":
            is_gone.set()

    _, _, page = upstream(answer)
    with page.stream(f"{PODS}?watch=true") as watch:
        assert watch.chunk() == b"{}\n"
    assert is_gone.wait(processes.PATIENCE)


def test_the_head_of_a_watch_comes_before_its_first_event(upstream):
    go_on = threading.Event()

    def answer(handler):
        begin_stream(handler)
        go_on.wait(processes.PATIENCE)
        send_chunk(handler, b"{}\n")
        send_chunk(handler, b"")

    _, _, page = upstream(answer)
    with page.stream(f"{PODS}?watch=true") as watch:
        go_on.set()
        assert list(watch.chunks()) == [b"{}\n"]


@pytest.mark.parametrize("path", [f"{PODS}?watch=true", PODS], ids=["watch", "list"])
def test_what_breaks_off_does_not_look_like_an_end(upstream, path):
    def answer(handler):
        begin_stream(handler)
        send_chunk(handler, b"{}\n")
        handler.close_connection = True

    _, _, page = upstream(answer)
    with page.stream(path) as watch:
        with pytest.raises((EOFError, ConnectionResetError)):
            list(watch.chunks())


def test_an_api_server_that_is_gone_is_told(upstream):
    seen = []

    def answer(handler):
        seen.append((handler.path, handler.headers["Authorization"], handler.headers["Accept"], sorted(name.lower() for name in handler.headers)))
        handler.send_response(418)
        handler.send_header("Content-Length", "3")
        handler.send_header("Set-Cookie", "a=b")
        handler.send_header("Access-Control-Allow-Origin", "*")
        handler.end_headers()
        handler.wfile.write(b"tea")
        handler.close_connection = True

    server, _, page = upstream(answer)
    reply = page.ask(f"{PODS}?limit=5", headers={"Cookie": "x=y", "Impersonate-User": "root", "X-Remote-User": "root", "Authorization": "Bearer mine"})
    assert (reply.status, reply.body) == (418, b"tea")
    assert_safe(reply)
    assert seen == [("/api/v1/pods?limit=5", "Bearer secret-token", "application/json", ["accept", "authorization", "host", "user-agent"])]
    server.close()
    gone = page.ask(PODS)
    assert gone.status == 502 and "cannot be reached" in gone.json["message"]
    assert "secret-token" not in gone.body.decode()
    assert_safe(gone)
    assert page.ask("about").status == 502


def test_requests_at_once_are_bounded(upstream):
    """64 wait for an API server that does not answer; the next is refused, and those are let go at the end."""
    is_over, asked = threading.Event(), []

    def answer(handler):
        asked.append(handler.path)
        is_over.wait(processes.PATIENCE)
        handler.close_connection = True

    _, process, page = upstream(answer)
    waiting = [page.connect() for _ in range(64)]
    for connection in waiting:
        connection.say(page.head(PODS))
    processes.retry_until(lambda: len(asked) == 64, "all of them wait")
    assert page.ask(PODS).status == 429
    process.signal(signal.SIGINT)
    assert process.wait() == 0
    is_over.set()
    for connection in waiting:
        connection.close()


# ---- its beginning and end ----


def test_ctrl_c_ends_it_though_watches_are_open(annals):
    process, page = pages.start(annals.kubeconfig)
    with page.stream(f"{PODS}?watch=true"), page.stream("api/api/v1/namespaces?watch=true"), page.connect():
        process.signal(signal.SIGINT)
        assert process.wait() == 0
    assert "served until Ctrl-C" in process.stderr.text


def test_a_port_that_is_taken_is_named(annals):
    _, page = pages.start(annals.kubeconfig)
    done = processes.run([processes.BIN, "kubectl", "ui", "--kubeconfig", annals.kubeconfig, "--port", page.port])
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1 port {page.port}: Address already in use. Give another one with --port" in done.stderr


def test_flags(annals):
    done = processes.run([processes.BIN, "kubectl", "ui", "configmap/x", "--kubeconfig", annals.kubeconfig])
    assert done.returncode == 2 and "about no object" in done.stderr
    done = processes.run([processes.BIN, "up", "--ui-write"])
    assert done.returncode == 2 and "need --ui" in done.stderr


def test_the_browser_gets_the_link_as_one_argument(annals, folder):
    """On a terminal with a display. What stands for xdg-open says what it was given."""
    opener = folder / "xdg-open"
    opener.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" >{folder}/new && mv {folder}/new {folder}/opened\n")
    opener.chmod(0o755)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(processes.BIN, [str(processes.BIN), "kubectl", "ui", "--kubeconfig", str(annals.kubeconfig)],
                  {**os.environ, "DISPLAY": ":7", "PATH": f"{folder}:{os.environ['PATH']}"})
    try:
        processes.retry_until((folder / "opened").exists, "something is opened")
        count, link = (folder / "opened").read_text().split()
        assert count == "1" and pages.Page(link).enter().ask("about").status == 200
    finally:
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_up_has_a_page_too(up):
    server = up("--ui")
    link = server.stdout.wait(pages.LINK)
    page = pages.Page(link[0]).enter()
    about = page.ask("about").json
    assert about["server"] == server.url and about["canWrite"] is False
    taken = processes.run([processes.BIN, "up", "--data-dir", f"{server.dir}2", "--port=0", "--ui", "--ui-port", page.port])
    assert taken.returncode == 1 and "Give the page another one with --ui-port" in taken.stderr
    with page.stream("api/api/v1/namespaces?watch=true"):
        server.stop()
