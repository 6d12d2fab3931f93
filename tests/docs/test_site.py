# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The site of docs/ (`./dev docs`): every page is in it and in its navigation and search index, its links and anchors lead
somewhere, and it loads nothing from other servers."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import jacquard
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

DOCS = jacquard.ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS) for page in DOCS.glob("**/*.md"))


def build(config, site):
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", config, "--site-dir", site],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


def built(page):
    """The file of the site that a page of docs/ becomes."""
    return page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")


class Page(HTMLParser):
    """What a page of the site loads and links to, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.path, self.loads, self.links, self.anchors, self.text = path, [], [], set(), ""
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(value for name, value in attributes if name in ("id", "name") and value)
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(values["href"])
        elif values.get("src"):
            self.loads.append(values["src"])

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(jacquard.ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path.relative_to(site): Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_page_is_in_the_site(pages):
    assert len(PAGES) > 30 and {built(page) for page in PAGES} == set(pages)


def test_every_page_is_in_the_navigation(pages):
    index = set(pages[Path("index.html")].links)
    # The index page links to itself as "index.html" or ".".
    assert {str(built(page)) for page in PAGES} - {"index.html"} <= index


def test_the_search_finds_what_pages_say(site):
    index = json.loads((site / "search/search_index.json").read_text())["docs"]
    places = {entry["location"] for entry in index if "ORB_TIMEOUT" in entry["text"] or "ORB_TIMEOUT" in entry["title"]}
    assert any(place.startswith("guide.html") for place in places)
    assert {place.partition("#")[0] for place in (entry["location"] for entry in index)} >= {str(built(page)) for page in PAGES}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def address(site):
    """The site on a web server of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    # Root has no sandbox, and /dev/shm of a container is small.
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking", "window-size=1500,1000"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    yield driver
    driver.quit()


def requested(browser):
    """The addresses that the browser has asked for."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return {message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"}


def test_the_search_works_in_a_browser_without_other_servers(address, browser):
    browser.get(address + "index.html")
    browser.execute_script("document.querySelector('[data-md-toggle=search]').click()")
    wait = WebDriverWait(browser, 60)
    field = browser.find_element(By.CSS_SELECTOR, "input.md-search__input")
    wait.until(lambda _: field.is_displayed() and field.is_enabled())
    field.send_keys("ORB_TIMEOUT")
    links = wait.until(lambda _: browser.find_elements(By.CSS_SELECTOR, "a.md-search-result__link"))
    assert any("model.html" in link.get_attribute("href") for link in links)
    urls = requested(browser)
    assert any(url.endswith("search_index.json") for url in urls)
    assert all(url.startswith((address, "data:", "blob:")) for url in urls), urls
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.full
def test_every_page_opens_in_a_browser_with_its_pictures(address, browser, pages):
    """A walk through all pages: each has its heading, its pictures are there, and nothing is written to the console."""
    seen = 0
    for page in sorted(pages):
        browser.get(f"{address}{page}")
        heading = browser.find_element(By.CSS_SELECTOR, "article h1").text
        assert heading and heading.split("\n")[0] in pages[page].text, page
        broken = browser.execute_async_script(
            "const done = arguments[0], all = Array.from(document.querySelectorAll('article img'));"
            "Promise.all(all.map((each) => { each.loading = 'eager'; return each.decode().then(() => null, () => each.src); })).then((list) =>"
            "done([all.length, list.filter((each) => each !== null)]))")
        assert broken[1] == [], f"{page}: {broken[1]}"
        seen += broken[0]
        errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        assert not errors, f"{page}: {errors}"
    assert seen >= len(list((DOCS / "images").iterdir()))


def test_nothing_is_loaded_from_other_servers(site, pages):
    for page in pages.values():
        for target in page.loads:
            assert not re.match(r"[a-z]+:|//", target) or target.startswith("data:"), f"{page.path}: loads {target}"
            assert (page.path.parent / unquote(target.partition("?")[0])).exists(), f"{page.path}: no such file: {target}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(?:[a-z]+:)?//", sheet.read_text()), sheet


def test_links_and_anchors_lead_somewhere(site, pages):
    for page in pages.values():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = Path(os.path.normpath(page.path.parent / path)) if path else page.path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file() and site in target.parents, f"{page.path}: no such file: {link}"
            if anchor and not anchor.startswith("__"):
                assert anchor in pages[target.relative_to(site)].anchors, f"{page.path}: no such anchor: {link}"


def test_blocks_and_links_out_of_the_tree_are_readable(pages):
    guide, foreign = pages[Path("guide.html")], pages[Path("foreign-programs.html")]
    assert "ends with exit code 3" in guide.text and "```" not in guide.text
    assert "tests/clients holds small programs" in foreign.text and not any("tests/clients" in link for link in foreign.links)


def test_a_broken_link_is_an_error(tmp_path):
    """In a copy of the tree's parts that the site is made of."""
    shutil.copy(jacquard.ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(jacquard.ROOT / "harness/docs_site", tmp_path / "harness/docs_site")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/README.md").write_text("# Index\n\n## All\n\n| page |\n|---|\n| [One](one.md) |\n")
    (tmp_path / "docs/one.md").write_text("# One\n\n[back](README.md), [out](../README.md)\n")
    good = build(tmp_path / "mkdocs.yml", tmp_path / "good")
    (tmp_path / "docs/one.md").write_text("# One\n\n[nothing](two.md)\n")
    bad = build(tmp_path / "mkdocs.yml", tmp_path / "bad")
    assert good.returncode == 0, good.stdout
    assert bad.returncode != 0 and "two.md" in bad.stdout
