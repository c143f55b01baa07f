"""JupyterLab in a real browser: the tour and the panels run by clicking, and nothing is clipped, in light and dark."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from browser import CHROMIUM, Browser
from lab.machine.paths import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium here")]
WIDTH, HEIGHT = 1200, 2600
PATIENCE = 180.0  # seconds until a notebook has run, on a machine that is busy besides
ERRORS = (
    "document.querySelectorAll('[data-mime-type=\"application/vnd.jupyter.error\"], .jp-RenderedText[data-mime-type=\
'application/vnd.jupyter.stderr'] .ansi-red-fg').length"
)
# Cells that are out of sight are drawn as well, so that all of them can be asked.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false"},
}
TABLES = """[...document.querySelectorAll('.jp-OutputArea-output table')].filter(table => {
    const box = table.closest('.jp-OutputArea-output');
    return box.scrollWidth > box.clientWidth + 1;
}).map(table => table.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A JupyterLab on copies of the notebooks, with settings and runs of its own."""
    home = tmp_path_factory.mktemp("jupyter")
    shutil.copytree(ROOT / "notebooks", home / "notebooks")
    for name, values in SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "JUPYTERLAB_SETTINGS_DIR": "settings",
              "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "IPYTHONDIR": "ipython", "LAB_RUNS": "runs"}  # fmt: skip
    environment = os.environ | {name: str(home / folder) for name, folder in places.items()}
    options = [
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={home / 'notebooks'}",
        "--IdentityProvider.token=here",
    ]
    options += ["--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env=environment | {"PYTHONPATH": str(ROOT)},
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        wait(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the server")
        yield f"http://127.0.0.1:{port}/lab/tree/{{}}?token=here&reset"
    finally:
        server.terminate()  # it ends its kernels
        server.wait(timeout=30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(WIDTH, HEIGHT) as opened:
        yield opened


def wait(until: object, what: str) -> None:
    """Wait until a condition holds."""
    assert callable(until)
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.2)


def run(browser: Browser, address: str, notebook: str) -> None:
    """Open a notebook and click "restart the kernel and run all cells"."""
    browser.send("Page.navigate", url=address.format(f"{notebook}.ipynb"))
    button = 'document.querySelector(\'[data-command="notebook:restart-run-all"], \
[data-jp-item-name="restart-and-run"] button, [data-jp-item-name="restart-and-run"]\')'
    wait(lambda: browser.ask(f"!!{button} && document.querySelectorAll('.jp-CodeCell').length > 2"), "the notebook")
    idle = "document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status == 'idle'"
    wait(lambda: browser.ask(idle), "the kernel")
    browser.ask(f"({button}.shadowRoot?.querySelector('button') || {button}).click()")
    wait(lambda: browser.ask("!!document.querySelector('.jp-Dialog .jp-mod-accept')"), "the dialog")
    browser.ask("document.querySelector('.jp-Dialog .jp-mod-accept').click()")
    counts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(each => each.textContent)"
    done = f"{counts}.every((text, place) => text.includes('[' + (place + 1) + ']'))"
    wait(lambda: browser.ask(done), f"{notebook}: {browser.ask(counts)}")


def look(browser: Browser, name: str) -> None:
    """No error and no clipped table, in both themes; a picture of each."""
    folder = ROOT / "build" / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("Light", "Dark"):
        change = f"jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})"
        browser.ask(f"{change}.then(() => true)")
        wait(lambda wanted=theme: browser.ask("document.body.dataset.jpThemeName") == f"JupyterLab {wanted}", theme)
        time.sleep(1)
        browser.picture(folder / f"lab-{name}-{theme.lower()}.png", HEIGHT)
        assert browser.ask(ERRORS) == 0
        assert browser.ask(TABLES) == []


def press(browser: Browser, label: str) -> None:
    """Click a panel's button three times, as the impatient do, and wait until it is free again."""
    found = f"[...document.querySelectorAll('.widget-button')].find(each => each.textContent.startsWith('{label}'))"
    browser.ask(f"{{ const button = {found}; button.click(); button.click(); button.click(); }}")
    time.sleep(1)
    wait(lambda: browser.ask(f"!{found}.disabled && !{found}.textContent.includes('working')"), label)


def text(browser: Browser) -> str:
    """What can be read in the notebook's outputs."""
    return browser.ask("[...document.querySelectorAll('.jp-OutputArea')].map(each => each.innerText).join('\\n')")


def test_the_tour_runs(browser: Browser, address: str) -> None:
    run(browser, address, "0_tour")
    look(browser, "tour")


def test_a_mechanism_is_switched_by_clicking(browser: Browser, address: str) -> None:
    run(browser, address, "4_explore/ablate")
    assert "settings.validate: first false, second true" in text(browser)
    look(browser, "ablate")
    box = "[...document.querySelectorAll('.widget-checkbox label')].find(each => each.textContent.trim() == 'validate')"
    browser.ask(f"{box}.querySelector('input').click()")
    press(browser, "Play the batch")
    wait(lambda: "no setting differs" in text(browser), "the comparison")
    press(browser, "Play one episode")
    wait(
        lambda: "not checked: Validate is switched off" not in text(browser).split("The same episode")[0], "the episode"
    )
    look(browser, "ablate-clicked")


def test_a_fact_is_edited_by_clicking(browser: Browser, address: str) -> None:
    run(browser, address, "4_explore/rewards")
    look(browser, "rewards")
    words = "[...document.querySelectorAll('.widget-text')].find(each => each.innerText.includes('other words'))"
    browser.ask(
        f"{{ const box = {words}.querySelector('input'); box.value = 'nowhere'; \
box.dispatchEvent(new Event('change', {{bubbles: true}})); }}"
    )
    wait(lambda: "reward of step 6: " in text(browser), "the reward")
    press(browser, "Follow the trajectory")
    look(browser, "rewards-clicked")
