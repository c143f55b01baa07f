"""A headless Chromium over its debugging protocol: open a page, ask it things, press, and take its picture."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), "")
PATIENCE = 60.0  # seconds for a page or an answer


class Browser:
    """Use as a context manager. width, height: of the window, in pixels."""

    def __init__(self, width: int = 1200, height: int = 900) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        options += ["--remote-debugging-port=0", f"--user-data-dir={self._profile.name}", "--remote-allow-origins=*"]
        self._process = subprocess.Popen(
            [CHROMIUM, *options, f"--window-size={width},{height}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._size, self._count, self.messages = (width, height), 0, []

    def __enter__(self) -> Browser:
        from websocket import create_connection

        until, noted = time.monotonic() + PATIENCE, Path(self._profile.name) / "DevToolsActivePort"
        while not noted.exists() or not noted.read_text().strip():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("Chromium did not start")
            time.sleep(0.05)
        port = noted.read_text().split()[0]
        with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE) as answer:
            target = next(each for each in json.load(answer) if each["type"] == "page")
        self._socket = create_connection(target["webSocketDebuggerUrl"], timeout=PATIENCE)
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._profile.cleanup()

    def send(self, method: str, **parameters: Any) -> Any:
        """One command of the protocol, and its result; what the page says meanwhile goes to `messages`."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.messages.append(message)

    def open(self, address: str) -> float:
        """Load a page; the seconds until it was loaded and laid out."""
        began = time.monotonic()
        self.send("Page.navigate", url=address)
        until = began + PATIENCE
        while self.ask("document.readyState + location.href") != f"complete{address}" and time.monotonic() < until:
            time.sleep(0.01)
        self.ask("document.body.offsetHeight")
        return time.monotonic() - began

    def ask(self, script: str) -> Any:
        """The value of a JavaScript expression in the page. Raises RuntimeError with what it throws."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", "it threw"))
        return found["result"].get("value")

    def press(self, element: str, times: int = 1) -> None:
        """Click in the middle of an element, which a JavaScript expression gives, so many times in a row."""
        self.ask(f"({element}).scrollIntoView({{block: 'center'}})")
        self.ask("new Promise(requestAnimationFrame)")
        box = f"(({element}).getBoundingClientRect())"
        x, y = (self.ask(f"{box}.{start} + {box}.{size} / 2") for start, size in (("x", "width"), ("y", "height")))
        for kind in ("mousePressed", "mouseReleased") * times:
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, element: str, text: str) -> None:
        """Click into a box for text, put this in the place of all that is in it, and leave it."""
        self.press(element)
        self.ask(f"({element}).select()")
        self.send("Input.insertText", text=text)
        self.ask(f"({element}).blur()")

    def dark(self, dark: bool = True) -> None:
        """What the page is told that its reader prefers."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path, height: int = 0) -> Path:
        """A PNG of the page's top, so many pixels high; by default the window's height."""
        size = {"width": self._size[0], "height": height or self._size[1], "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
        return path
