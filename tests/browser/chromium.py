"""Headless Chromium for tests, driven over its debugging pipe (the Chrome DevTools Protocol); nothing but the standard library.

    browser = Chromium()                    # a process with a profile of its own
    page = browser.open(url)                # a window of its own, which shares nothing with others: cookies, storage, cache
    page.wait("document.title")             # until that expression is true; its value
    page.click("#theme")                    # with the mouse, where somebody would click
    page.press("Tab"); page.type("web")     # with the keyboard
    page.close()                            # sentences about what went wrong in it
    browser.stop()

A page notes what it asks for (requests), and what went wrong: exceptions that nobody caught, errors on the console, files that did not come,
violations of its Content-Security-Policy. close() and troubles() report them, except those that expect() has named.
"""

import base64
import fcntl
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from processes import LEASH, PATIENCE, Output, children, is_alive, retry_until

NAMES = ("chromium", "google-chrome", "chrome")  # Ubuntu's chromium-browser only says how to install another one

# It asks nobody for anything by itself, and shows each page as each machine would.
FLAGS = """
    --headless=new --remote-debugging-pipe --no-first-run --no-default-browser-check --disable-gpu --disable-dev-shm-usage
    --disable-background-networking --disable-component-update --disable-default-apps --disable-sync --disable-extensions --disable-breakpad
    --disable-crash-reporter --disable-domain-reliability --disable-client-side-phishing-detection --no-pings --no-proxy-server --mute-audio
    --disable-background-timer-throttling --disable-backgrounding-occluded-windows --disable-renderer-backgrounding --disable-search-engine-choice-screen
    --disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,InterestFeedContentSuggestions,CertificateTransparencyComponentUpdater
    --password-store=basic --use-mock-keychain --hide-scrollbars --font-render-hinting=none --force-color-profile=srgb --lang=en-US
""".split() + ["--host-resolver-rules=MAP rebound.example 127.0.0.1"]

# Arguments of Input.dispatchKeyEvent: code, virtual key code, text.
KEYS = {"Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), " ": ("Space", 32, " "), "Backspace": ("Backspace", 8, ""),
        "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowUp": ("ArrowUp", 38, ""), "ArrowRight": ("ArrowRight", 39, ""), "ArrowDown": ("ArrowDown", 40, ""),
        "PageUp": ("PageUp", 33, ""), "PageDown": ("PageDown", 34, ""), "End": ("End", 35, ""), "Home": ("Home", 36, ""),
        "/": ("Slash", 191, "/"), "?": ("Slash", 191, "?")}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

# What the page says of its connection.
LIVE, LOST = (f"document.querySelector('[data-testid=live]')?.dataset.state == '{state}'" for state in ("live", "lost"))

LOWEST_FD = 10  # of ours, so that the child's 3 and 4 are free


def find():
    """(path, version) of the Chromium of this machine; (None, why) where there is none."""
    path = os.environ.get("ANNALS_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        return None, "there is no chromium here (apt-get install chromium)"
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        return None, f"{path} does not run: {e}"
    version = re.search(r"\d+(\.\d+)+", done.stdout)
    return (path, version[0]) if done.returncode == 0 and version else (None, f"{path} is no Chromium: {(done.stdout + done.stderr).strip()[:200]}")


def descendants(pid):
    found = children(pid)
    for child in list(found):
        found += descendants(child)
    return found


class Refused(Exception):
    """What Chromium answers to a command that it cannot carry out."""


class Chromium:
    def __init__(self, path=None):
        path = path or find()[0]
        self.profile = tempfile.mkdtemp(prefix="annals-chromium-", dir="/tmp")
        commands, to_us = os.pipe(), os.pipe()
        # The child reads commands from 3 and answers on 4.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, LOWEST_FD) for fd in (commands[0], to_us[1])]
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.popen = subprocess.Popen(
            [*LEASH, "bash", "-c", 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"', *map(str, theirs), path, *FLAGS, *sandbox,
             f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=theirs, start_new_session=True,
            env={**os.environ, "HOME": self.profile})
        for fd in (*theirs, commands[0], to_us[1]):
            os.close(fd)
        self.stderr = Output(self.popen.stderr)
        self.commands, self.answers_from = os.fdopen(commands[1], "wb"), to_us[0]
        self.numbers = itertools.count(1)
        self.changed = threading.Condition()
        self.answers = {}  # by the number of the command, None where it is waited for
        self.pages = {}  # by their sessions
        self.is_closed = False
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.version = self.call("Browser.getVersion")["product"]
        except AssertionError:
            shutil.rmtree(self.profile, ignore_errors=True)
            raise

    def _read(self):
        rest = b""
        while True:
            try:
                piece = os.read(self.answers_from, 1 << 20)
            except OSError:
                piece = b""
            if not piece:
                break
            if b"\0" not in piece:
                rest += piece
                continue
            *whole, rest = (rest + piece).split(b"\0")
            for text in whole:
                self._take(json.loads(text))
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    def _take(self, message):
        if "id" in message:
            with self.changed:
                if message["id"] in self.answers:
                    self.answers[message["id"]] = message
                    self.changed.notify_all()
        else:
            page = self.pages.get(message.get("sessionId"))
            if page:
                page.hear(message["method"], message.get("params", {}))

    def _end(self):
        """How it ended, and what it said."""
        status = self.popen.wait(PATIENCE)
        self.stderr.thread.join(PATIENCE)
        return f"{status}:\n{self.stderr.text[-8000:]}"

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        text = json.dumps({"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})})
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            self.answers[number] = None
            try:
                try:
                    self.commands.write(text.encode() + b"\0")
                    self.commands.flush()
                except BrokenPipeError:
                    self.is_closed = True
                while not self.answers[number]:
                    if self.is_closed:
                        raise AssertionError(f"chromium ended with {self._end()}")
                    if not self.changed.wait(deadline - time.monotonic()):
                        raise TimeoutError(f"chromium does not answer {text[:500]}")
                answer = self.answers[number]
            finally:
                del self.answers[number]
        if "error" in answer:
            raise Refused(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def open(self, url="about:blank", **how):
        page = Page(self, **how)
        if url != "about:blank":
            page.go(url)
        return page

    def stop(self):
        """With all that it has started."""
        everyone = descendants(self.popen.pid)
        try:
            self.call("Browser.close")
        except (AssertionError, OSError, TimeoutError):
            pass  # it has ended already, or is killed below
        try:
            self.popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait(PATIENCE)
        # They end when they notice that it is gone.
        try:
            retry_until(lambda: not any(map(is_alive, everyone)), "the processes of chromium end", patience=5)
        except TimeoutError:
            for pid in filter(is_alive, everyone):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.commands.close()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab in a browser context of its own."""

    def __init__(self, browser, width=1280, height=800, theme="light", context=None):
        self.browser = browser
        self.is_of_other = context is not None  # another tab of the same user
        self.context = context or browser.call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.target = target
        self.lock = threading.Lock()
        self.requests, self.answers, self.wrong = [], {}, []
        self.expected = []
        self.origin = None  # the only one that it may ask, where there is one
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")
        self.size(width, height)
        self.theme(theme)

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    # ---- what it tells ----

    def hear(self, method, params):
        with self.lock:
            if method == "Network.requestWillBeSent":
                self.requests.append(params["request"])
            elif method == "Network.responseReceived":
                self.answers[params["response"]["url"]] = params["response"]
            elif method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.wrong.append(f"uncaught: {details.get('exception', {}).get('description') or details['text']}")
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
                self.wrong.append("console: " + " ".join(str(arg.get("value", arg.get("description", ""))) for arg in params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
                self.wrong.append(f"{params['entry']['source']}: {params['entry']['text']} {params['entry'].get('url', '')}")
            elif method == "Audits.issueAdded" and "ContentSecurityPolicy" in params["issue"]["code"]:
                self.wrong.append(f"CSP: {json.dumps(params['issue']['details'])}")

    def strange_requests(self):
        """To anywhere but its origin."""
        with self.lock:
            return [request["url"] for request in self.requests if not request["url"].startswith((self.origin + "/", "data:", "blob:", "about:"))]

    def expect(self, pattern):
        """That what goes wrong in this way is what the test is about."""
        self.expected.append(pattern)

    def all_troubles(self):
        self.evaluate("1")  # what was said before this answer has been heard
        with self.lock:
            return list(self.wrong)

    def troubles(self):
        return [said for said in self.all_troubles() if not any(re.search(pattern, said) for pattern in self.expected)]

    def close(self):
        try:
            return self.troubles()
        finally:
            self.browser.pages.pop(self.session, None)
            if self.is_of_other:
                self.browser.call("Target.closeTarget", targetId=self.target)
            else:
                self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def other_tab(self, url="about:blank"):
        """Of the same user, who closes it before this one."""
        return self.browser.open(url, context=self.context)

    # ---- where it is, and how it looks ----

    def go(self, url):
        """Returns when the page has been loaded with all that it names."""
        answer = self.call("Page.navigate", url=url)
        if answer.get("errorText"):
            raise AssertionError(f"{url}: {answer['errorText']}")
        self.wait("document.readyState == 'complete'")

    def reload(self):
        self.evaluate("window.annalsTestBefore = true")
        self.call("Page.reload")
        self.wait("!window.annalsTestBefore && document.readyState == 'complete'")

    @property
    def address(self):
        return self.evaluate("location.href")

    def size(self, width, height, scale=1, is_phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=is_phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=is_phone)

    def theme(self, theme):
        """What the system prefers: light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])

    def screenshot(self, path=None):
        """The visible part, as PNG."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png", optimizeForSpeed=False)["data"])
        if path:
            pathlib.Path(path).write_bytes(data)
        return data

    # ---- what is in it ----

    def evaluate(self, expression):
        """Its value as JSON would have it; of a promise what it comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(f"{expression[:300]}: {details.get('exception', {}).get('description') or details['text']}")
        return answer["result"].get("value")

    def until(self, condition, what):
        """Until a function returns something: that. A page that is just being loaded or drawn has nothing to tell, or not all of it."""
        def is_true():
            try:
                return condition()
            except (Refused, AssertionError, LookupError, TypeError):
                return None

        try:
            return retry_until(is_true, what, interval=0.02)
        except TimeoutError as e:
            raise AssertionError(f"{e}\n{self.show()}") from e

    def wait(self, expression, what=None):
        """Until it is true: its value."""
        return self.until(lambda: self.evaluate(expression), what or expression)

    def show(self):
        """For a test that has failed."""
        shots = os.environ.get("BROWSER_SHOTS")
        if shots:
            name = pathlib.Path(shots) / f"{os.getpid()}-{next(self.browser.numbers)}.png"
            self.screenshot(name)
            print(f"as it looked: {name}")
        with self.lock:
            asked = [f"{request['method']} {request['url']} {self.answers.get(request['url'], {}).get('status', '-')}" for request in self.requests[-15:]]
            wrong = list(self.wrong)
        return "\n".join([self.address, self.evaluate("document.body.innerText")[:3000], *asked, *wrong])

    def text(self, selector):
        """As somebody reads it; None where there is no such thing."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText)")

    def attributes(self, selector, name):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.getAttribute({json.dumps(name)}))")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def wait_for(self, selector):
        """Until it can be seen."""
        return self.wait(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); return e && e.getClientRects().length > 0 }})()",
                         f"{selector} is shown")

    def wait_text(self, selector, part):
        return self.wait(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); return e && e.innerText.includes({json.dumps(part)}) && e.innerText }})()",
                         f"{part!r} stands in {selector}")

    # ---- mouse and keyboard ----

    def click(self, selector, modifiers=()):
        """In its middle, once nothing else is there; with these keys held."""
        point = self.wait(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            if (!e || e.disabled) return null;
            e.scrollIntoView({{block: 'nearest', inline: 'nearest'}});
            const box = e.getClientRects()[0];
            if (!box) return null;
            const x = box.left + box.width / 2, y = box.top + box.height / 2;
            const there = document.elementFromPoint(x, y);
            return there && (e.contains(there) || there.contains(e)) ? [x, y] : null;
        }})()""", f"{selector} can be clicked")
        for type in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=type, x=point[0], y=point[1], button="left", clickCount=1,
                      modifiers=sum(MODIFIERS[key] for key in modifiers))

    def hover(self, selector):
        self.wait_for(selector)
        x, y = self.evaluate(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2] }})()")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def allow_clipboard(self):
        """Which is the machine's in earnest, and this browser's here."""
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], browserContextId=self.context)

    def wheel(self, selector, dy):
        x, y = self.evaluate(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
                             "return [b.left + b.width / 2, b.top + Math.min(b.height, innerHeight - b.top) / 2] })()")
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=dy)

    def press(self, *keys):
        """"Tab", "Shift+Tab", "Enter", "j" ... one after the other."""
        for key in keys:
            *held, name = key.split("+") if len(key) > 1 else [key]
            modifiers = sum(MODIFIERS[it] for it in held)
            code, number, text = KEYS.get(name) or (f"Key{name.upper()}", ord(name.upper()), name)
            if name == "?":
                modifiers |= MODIFIERS["Shift"]
            key_of = {"key": name, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **key_of, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **key_of)

    def type(self, text):
        """Into what has the focus."""
        self.call("Input.insertText", text=text)

    def fill(self, selector, text):
        """Instead of what is in that field."""
        self.wait_for(selector)
        self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.select?.() }})()")
        if text:
            self.type(text)
        else:
            self.press("Backspace")

    def choose(self, selector, value):
        """An option of a select, as its list would."""
        self.wait(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); return e && [...e.options].some(o => o.value == {json.dumps(value)}) }})()",
                  f"{selector} has the option {value}")
        self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.value = {json.dumps(value)}; "
                      "e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})) })()")

    def focused(self):
        """What has the focus: its data-testid, id or name of tag."""
        return self.evaluate("(() => { const e = document.activeElement; return e && (e.dataset.testid || e.id || e.tagName.toLowerCase()) })()")
