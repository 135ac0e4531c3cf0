"""Chromium without a window, driven over a pipe by the DevTools protocol: no package is needed for it.

    with Browser() as browser:
        page = browser.open(path, width=420, dark=True)
        page.evaluate("document.title")
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# No network of its own (updates, DNS), no frames that nobody sees, the same pixels everywhere.
FLAGS = [
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # Pages of our own are no danger, and containers have nothing to build a sandbox from.
    "--no-sandbox",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--font-render-hinting=none",
]


def program() -> str | None:
    """The browser that is installed, if any."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Page:
    """One tab. What the page said and asked for meanwhile is in `complaints` and `requests`."""

    def __init__(self, browser: "Browser", session: str):
        self._browser = browser
        self._session = session
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.loaded = False

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, parameters, self._session)

    def load(self, url: str, width: int, height: int, dark: bool) -> None:
        """Opens `url` in a window of that size, as someone who prefers light or dark would see it."""
        self.complaints.clear()
        self.requests.clear()
        self.loaded = False
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self.resize(width, height)
        self.call("Page.navigate", url=url)
        self._browser.wait_for(lambda: self.loaded)
        self.settle()

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def settle(self) -> None:
        """Waits until what is due has been painted."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression (awaited), as JSON."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def press(self, key: str, code: int = 0, text: str = "") -> None:
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def screenshot(self, path: Path) -> None:
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(b64decode(answer["data"]))

    def heard(self, method: str, told: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in {"error", "warning", "assert"}:
            self.complaints.append(" ".join(str(a.get("value", a)) for a in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])


class Browser:
    """One browser with a profile that lasts as long as it."""

    def __init__(self, limit_s: float = 60):
        self._limit_s = limit_s
        self._profile = tempfile.TemporaryDirectory(prefix="flopcast-browser-")
        # The browser reads commands from descriptor 3 and answers on 4.
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        flags = FLAGS + [f"--user-data-dir={self._profile.name}"]
        script = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "browser", str(commands), str(answers), str(program()), *flags],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._left = b""
        self._last = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("Browser.close", {})
        finally:
            os.close(self._to)
            os.close(self._from)
            self._process.wait(timeout=30)
            self._profile.cleanup()

    def new_page(self, before: str = "") -> Page:
        """A tab in which the script `before` runs before those of any page."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attach = {"targetId": target, "flatten": True}
        session = self.call("Target.attachToTarget", attach)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        if before:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        return page

    def call(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._last += 1
        number = self._last
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        self.wait_for(lambda: number in self._answers)
        answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def wait_for(self, done: Any) -> None:
        """Reads what the browser tells until `done()`."""
        end = time.monotonic() + self._limit_s
        while not done():
            assert time.monotonic() < end, "the browser does not answer"
            self._read()

    def _read(self) -> None:
        data = os.read(self._from, 1 << 20)
        assert data, "the browser has ended"
        *messages, self._left = (self._left + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            elif message.get("sessionId") in self._pages:
                self._pages[message["sessionId"]].heard(message["method"], message["params"])
