# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A browser for the tests of the report page: headless Chromium, driven by Selenium, without a network."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from jacquard import runner
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

# With JACQUARD_IMAGES=DIR the tests write their pictures there (docs/images for the documentation).
IMAGES = os.environ.get("JACQUARD_IMAGES")


class Page:
    """A report in the browser."""

    def __init__(self, driver):
        self.driver = driver
        self.driver.get_log("browser")

    def open(self, path, view=""):
        # A new page even if the last one was the same file with another view.
        self.driver.get("about:blank")
        self.driver.get(f"file://{path}{'#' + view if view else ''}")
        self.until("return document.readyState === 'complete' && typeof Page === 'object' && Page.current !== null")
        self.settle()
        return self

    def go(self, view, **what):
        self.run("Page.go(arguments[0], arguments[1])", view, what)
        self.settle()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def settle(self):
        """Two frames later everything that was asked for is drawn."""
        self.driver.execute_async_script("const done = arguments[0];"
                                         "requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))")

    def until(self, script, *arguments, seconds=120):
        end = time.monotonic() + seconds
        while not (value := self.run(script, *arguments)):
            assert time.monotonic() < end, f"never: {script}"
            time.sleep(0.02)
        return value

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)
        self.settle()

    def type(self, selector, text):
        """Sets a field as if the user had typed."""
        self.run("const field = document.querySelector(arguments[0]); field.value = arguments[1];"
                 "field.dispatchEvent(new Event('input', {bubbles: true})); field.dispatchEvent(new Event('change', {bubbles: true}))", selector, text)
        time.sleep(0.2)  # the listing waits for the next letter
        self.settle()

    def key(self, selector, key):
        self.run("document.querySelector(arguments[0]).dispatchEvent(new KeyboardEvent('keydown', {key: arguments[1], bubbles: true}))", selector, key)
        self.settle()

    def painted(self, selector):
        """The number of colours on a canvas."""
        return self.run("const canvas = document.querySelector(arguments[0]);"
                        "const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();"
                        "for (let i = 0; i < all.length; i += 4) seen.add(all[i] << 24 | all[i + 1] << 16 | all[i + 2] << 8 | all[i + 3]);"
                        "return seen.size", selector)

    def errors(self):
        # painted() reads canvases, which Chromium advises against.
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING") and "willReadFrequently" not in entry["message"]]

    def dark(self, on):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]})

    def picture(self, name):
        if IMAGES:
            Path(IMAGES).mkdir(parents=True, exist_ok=True)
            assert self.driver.save_screenshot(str(Path(IMAGES) / f"{name}.png"))


@pytest.fixture(scope="session")
def driver():
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    # Root has no sandbox, and /dev/shm of a container is small.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,860",
                     "--force-device-scale-factor=1", "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def page(driver):
    page = Page(driver)
    page.dark(False)
    return page


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Runs a scenario once and returns its page: reports("stuck.yaml")."""
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def report(name, *options):
        if (name, options) not in made:
            path = Path(name) if Path(name).is_absolute() else runner.ROOT / "scenarios" / name
            to = folder / f"{len(made)}.html"
            done = subprocess.run([runner.sim_run(), path, "--quiet", "--report", to, *options], cwd=runner.ROOT, capture_output=True, text=True, errors="replace")
            assert to.exists(), done.stderr
            made[name, options] = to
        return made[name, options]

    return report


CAMPAIGN = """name: losses
description: ping-pong with and without lost packets
runs:
  - scenario: first.yaml
    seeds: 1-12
    set:
      faults: "[{label: loss, at: aries.packet, do: drop, probability: 0.0002}]"
      expect: "[{ledger: balanced}, {metric: pingpong.latency.max, below: 1ms}]"
  - scenario: first.yaml
    seeds: 1-4
    sweep:
      jobs.pingpong.args.bytes: [8, 1KiB]
"""


@pytest.fixture(scope="session")
def campaign(tmp_path_factory):
    """The page of a campaign in which some runs fail, and the JSON object of its results."""
    folder = tmp_path_factory.mktemp("campaign")
    shutil.copy(runner.ROOT / "docs/examples/first.yaml", folder)
    (folder / "losses.yaml").write_text(CAMPAIGN)
    command = [runner.sim_run(), "campaign"]
    done = subprocess.run([*command, "losses.yaml", "--report", "losses.html"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    results = subprocess.run([*command, "results", "losses.yaml", "--json"], cwd=folder, capture_output=True, text=True, check=True)
    return folder / "losses.html", json.loads(results.stdout)


@pytest.fixture(scope="session")
def crash(tmp_path_factory):
    """A scenario in which rank 2 crashes."""
    folder = tmp_path_factory.mktemp("crash")
    include = [f"-I{runner.ROOT / each}" for each in ("sim/aries/include", "stack/pmi2/include")]
    subprocess.run(["gcc", "-g", "-O1", "-DCRAY_CONFIG_GHAL_ARIES", "-shared", "-fPIC", *include,
                    runner.ROOT / "tests/scenarios/findings_ring.c", "-o", folder / "ring.so"], check=True)
    (folder / "crash.yaml").write_text("name: crash\ndescription: rank 2 writes to a null pointer\nlimits: {compute: 2s}\nfabric: {preset: mini2}\n"
                                       f"jobs:\n  - {{name: ring, program: {folder / 'ring.so'}, nodes: 0-3, argv: [crash]}}\n")
    return folder / "crash.yaml"
