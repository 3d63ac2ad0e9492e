"""A headless Chromium, controlled by the DevTools protocol over a pipe: no driver, no socket."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE = 60.0
"""Most seconds for any step: the machine may be busy."""


class Tab:
    """A page, its requests, and its complaints."""

    def __init__(self, send: Callable[[dict[str, Any]], None], receive: Callable[[], Any]) -> None:
        self._send, self._receive = send, receive
        self._last = 0
        self._session: str | None = None
        self.requests: list[str] = []
        """Requested addresses, including that of the page."""
        self.complaints: list[str] = []
        """Errors and warnings of the console, such as exceptions and policy violations."""
        [target] = [
            found
            for found in self.call("Target.getTargets")["targetInfos"]
            if found["type"] == "page"
        ]
        attached = {"targetId": target["targetId"], "flatten": True}
        self._session = self.call("Target.attachToTarget", **attached)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a method of the protocol."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._send(message)
        while (answer := self._receive()).get("id") != self._last:
            self._take(answer.get("method"), answer.get("params", {}))
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def _take(self, method: str | None, told: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.complaints.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])

    def open(self, path: Path) -> None:
        """Load a file, and wait until it is complete."""
        self.call("Page.navigate", url=path.as_uri())
        self.wait("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression, as JSON."""
        given = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in given, given
        return given["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true, and fail if it does not become so in time."""
        deadline = time.monotonic() + _PATIENCE
        while not self.value(expression):
            assert time.monotonic() < deadline, f"{expression} did not become true"
            time.sleep(0.02)

    def show(self, *, scheme: str = "light", width: int = 1100, height: int = 800) -> None:
        """Set the colour scheme and size with which the page is shown."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        liked = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=liked)

    def place(self, selector: str) -> tuple[float, float]:
        """Scroll to an element, and return the middle of its first line in the window."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getClientRects()[0];"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return x, y

    def hover(self, selector: str) -> None:
        """Move the mouse to an element."""
        x, y = self.place(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click on an element."""
        x, y = self.place(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def press(self, key: str) -> None:
        """Press a key: Tab, Enter or Escape."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27}[key]
        names = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **names, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **names)


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """An empty page of a new Chromium for the duration of the block; skips the test without one.

    Args:
        folder: Chromium's data folder.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("there is no Chromium to open the page with")
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    # Chromium reads file descriptor 3 and writes to 4; a shell sets them up.
    command = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
    process = subprocess.Popen(
        ["bash", "-c", command, "bash", program, *_options(folder), "about:blank"],
        pass_fds=(to_browser, from_browser),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    buffer = bytearray()

    def send(message: dict[str, Any]) -> None:
        left = json.dumps(message).encode() + b"\0"
        while left:
            left = left[os.write(from_us, left) :]

    def receive() -> Any:
        while (end := buffer.find(b"\0")) < 0:
            ready, _, _ = select.select([to_us], [], [], _PATIENCE)
            assert ready, "Chromium says nothing"
            piece = os.read(to_us, 65_536)
            assert piece, "Chromium has ended"
            buffer.extend(piece)
        message = json.loads(buffer[:end])
        del buffer[: end + 1]
        return message

    try:
        yield Tab(send, receive)
    finally:
        os.close(from_us)
        os.close(to_us)
        process.terminate()
        process.wait(_PATIENCE)


def _options(folder: Path) -> Sequence[str]:
    return (
        "--headless",
        "--remote-debugging-pipe",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        f"--user-data-dir={folder}",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),  # root may not have one
    )
