"""JupyterLab in a real browser: the tour and the panels run by clicking, and nothing is clipped, in light and dark."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from browser import CHROMIUM, Browser
from lab.machine.paths import ROOT
from lab.notebooks import commands

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium here")]
WIDTH, HEIGHT = 1200, 900  # of the window; JupyterLab's list of files, which is open at first, takes 280 of it
PATIENCE = 240.0  # seconds until a notebook has run, on a machine that is busy besides
SETTINGS = {
    # Cells that are out of sight are drawn as well, so that all of them can be asked.
    "notebook-extension/tracker": {"windowingMode": "none"},
}
# What a cell or a widget failed with, and whatever was written to stderr.
ERRORS = """[...document.querySelectorAll('[data-mime-type$="jupyter.error"], [data-mime-type$="jupyter.stderr"], \
.jupyter-widgets-error-widget')].map(each => each.innerText)"""
# A table outside of folds that reaches out of any box up to its cell's, which then scrolls or cuts it.
CLIPPED = """[...document.querySelectorAll('.jp-OutputArea-output table')].filter(table => {
    if (table.closest('details:not([open])')) return false;
    for (let box = table.parentElement; !box.matches('.jp-Cell'); box = box.parentElement)
        if (box.scrollWidth > box.clientWidth + 1) return true;
}).map(table => `${table.offsetWidth} px: ${table.innerText.slice(0, 200)}`)"""
RESTART = 'jp-button[data-command="notebook:restart-run-all"]'
ACCEPT = ".jp-Dialog .jp-mod-accept"
NOTEBOOK = "document.querySelector('.jp-WindowedPanel-outer')"
BUTTON = "[...document.querySelectorAll('.widget-button')].find(each => each.textContent.startsWith('{}'))"
LABELLED = "[...document.querySelectorAll('.jupyter-widgets')].find(each => each.matches('.widget-inline-hbox') && \
each.querySelector('label')?.textContent == '{}').querySelector('input')"


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
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_RUNS", str(home / "runs"))
        environment["JUPYTER_CONFIG_PATH"] = str(commands.without_news())
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


@pytest.fixture
def browser() -> Iterator[Browser]:
    """One for each test: a page with changes asks before it is left."""
    with Browser(WIDTH, HEIGHT) as opened:
        yield opened


def wait(until: Callable[[], object], what: str) -> None:
    """Wait until a condition holds."""
    assert holds(until, PATIENCE), f"waited in vain for {what}"


def holds(until: Callable[[], object], seconds: float) -> bool:
    """Whether a condition holds within this time."""
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def run(browser: Browser, address: str, notebook: str) -> None:
    """Open a notebook, and click "restart the kernel and run all cells"."""
    browser.send("Page.navigate", url=address.format(f"{notebook}.ipynb"))
    button, accept = (f"document.querySelector('{each}')" for each in (RESTART, ACCEPT))
    wait(lambda: browser.ask(f"!!{button} && document.querySelectorAll('.jp-CodeCell').length > 2"), "the notebook")
    state = "document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status"
    wait(lambda: browser.ask(state) == "idle", "the kernel")
    counts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(each => each.textContent)"
    for _ in range(3):  # JupyterLab loses a restart that comes while it still starts the kernel
        browser.press(button)
        wait(lambda: browser.ask(f"!!{accept}"), "the question whether to restart")
        browser.press(accept)
        if holds(lambda: "[*]:" in browser.ask(counts), 10.0):  # a committed notebook has numbers already
            break
    else:
        raise AssertionError("no cell began")
    wait(lambda: browser.ask(f"{counts}.every((text, place) => text == `[${{place + 1}}]:`)"), f"the end of {notebook}")


def look(browser: Browser, name: str) -> None:
    """No error and no clipped table, in both themes; a picture of each, of the whole notebook."""
    folder = ROOT / "build" / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("Light", "Dark"):
        change = f"jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})"
        browser.ask(f"{change}.then(() => true)")
        wait(lambda wanted=theme: browser.ask("document.body.dataset.jpThemeName") == f"JupyterLab {wanted}", theme)
        wait(lambda: browser.ask("!document.querySelector('#jupyterlab-splash')"), "the page behind the splash")
        end = "document.querySelector('.jp-Notebook-footer').getBoundingClientRect().bottom"
        height = int(browser.ask(f"{NOTEBOOK}.scrollTop = 0, {end}")) + 60
        browser.picture(folder / f"lab-{name}-{theme.lower()}.png", min(height, 16_000))
        assert browser.ask(ERRORS) == []
        assert browser.ask(CLIPPED) == []


def press(browser: Browser, label: str) -> None:
    """Click a panel's button three times, as the impatient do, and wait until it is free again."""
    button = BUTTON.format(label)
    browser.press(button, times=3)
    time.sleep(1)
    wait(lambda: browser.ask(f"!{button}.disabled && !{button}.textContent.includes('working')"), label)


def text(browser: Browser) -> str:
    """What can be read in the notebook's outputs."""
    return browser.ask("[...document.querySelectorAll('.jp-OutputArea')].map(each => each.innerText).join('\\n')")


def test_the_tour_runs_and_no_news_are_offered(browser: Browser, address: str) -> None:
    run(browser, address, "0_tour")
    look(browser, "tour")
    assert not browser.ask("document.querySelector('.Toastify__toast')?.innerText")


def test_a_mechanism_is_switched_by_clicking(browser: Browser, address: str) -> None:
    run(browser, address, "4_explore/ablate")
    assert "settings.validate: first false, second true" in text(browser)
    assert "not checked: Validate is switched off" in text(browser)
    look(browser, "ablate")
    boxes = "[...document.querySelectorAll('.widget-checkbox label')]"
    browser.press(f"{boxes}.find(each => each.textContent.trim() == 'validate').querySelector('input')")
    wait(lambda: "Outdated:" in text(browser), "the marks of both results")
    look(browser, "ablate-outdated")
    press(browser, "Play the batch")
    wait(lambda: "no setting differs" in text(browser), "the comparison")
    press(browser, "Play one episode")
    episode = "[...document.querySelectorAll('.widget-html .lab-view')].pop().innerText"
    wait(lambda: "Validate is switched off" not in browser.ask(episode), "the episode")
    look(browser, "ablate-clicked")


def test_a_fact_is_edited_by_clicking(browser: Browser, address: str) -> None:
    run(browser, address, "2_statefactory/figure4_walkthrough")
    look(browser, "rewards")
    drawing = "document.querySelector('.jupyter-widgets.widget-image').src"
    before = browser.ask(drawing)
    browser.write(LABELLED.format("in other words"), "nowhere")
    wait(lambda: "reward of step 6: " in text(browser), "the reward")
    wait(lambda: browser.ask(drawing) != before, "the drawing")
    look(browser, "rewards-edited")
    press(browser, "Follow the trajectory")
    wait(lambda: "reward of step 6: " not in text(browser), "the trajectory as it was")
    look(browser, "rewards-followed")


def test_a_network_is_broken_mended_and_played_by_clicking(browser: Browser, address: str) -> None:
    run(browser, address, "4_explore/networks")
    look(browser, "networks")
    box = "document.querySelector('.widget-textarea textarea')"
    good, drawing = browser.ask(f"{box}.value"), "document.querySelector('.jupyter-widgets.widget-image').src"
    browser.write(box, good.replace('"answer.txt"', '"anser.txt"'))
    wait(lambda: "✗" in text(browser) and "mend the network first" in text(browser), "what is wrong")
    look(browser, "networks-broken")
    browser.write(box, good.replace("take notes on user request", "copy what the user asks for"))
    wait(lambda: "mend the network first" not in text(browser), "the mended network")
    before = browser.ask(drawing)
    press(browser, "Play it")
    wait(lambda: "iteration" in text(browser) and browser.ask(drawing) != before, "the living tree")
    assert "copy what the user asks for: Verify (verified)" in text(browser)
    look(browser, "networks-played")


def test_claims_are_chosen_by_clicking(browser: Browser, address: str) -> None:
    run(browser, address, "4_explore/claims")
    look(browser, "claims")
    assert "the first scores higher on" in text(browser)
    paper = "document.querySelector('.widget-dropdown select')"
    browser.ask(f"{paper}.value = 'ProcLLM'; {paper}.dispatchEvent(new Event('change', {{bubbles: true}}))")
    wait(lambda: "A network solves more of Blocks World" in text(browser), "the claims of another paper")
    wait(lambda: "choose a claim that compares two conditions" in text(browser), "why there is nothing to play")
    look(browser, "claims-chosen")
