# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Hooks of mkdocs for the site of docs/ (`./dev docs`). The pages are written to be read in the tree: their links to files
outside of docs/ become the names of these files, and the words behind a fence's language become the block's title."""

import posixpath
import re

FENCE = re.compile(r"^```(\S.*)$")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| *\[([^\]]+)\]\(([^)#\s]+\.md)\) *\|", re.M)


def slug(text, separator):
    """The anchor that GitHub gives to a heading, so that links work in both places."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def navigation(index):
    """A section for each heading of the index, with the pages of its table."""
    sections = [{"Overview": "README.md"}]
    for section in re.split(r"^## +", index, flags=re.M)[1:]:
        pages = [{title: page} for title, page in ROW.findall(section)]
        if pages:
            sections.append({section.split("\n", 1)[0].strip(): pages})
    return sections


def on_config(config):
    with open(posixpath.join(config["docs_dir"], "README.md"), encoding="utf-8") as index:
        config["nav"] = navigation(index.read())
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    return config


def fence(info):
    """The first line of a block: its language, and as title what the tests of the documentation read there."""
    language, _, rest = info.strip().partition(" ")
    if language == "output":
        return '```text title="prints"'
    if language == "console":
        return "```console"
    if rest.startswith("exit-code="):
        rest = f"ends with exit code {rest.removeprefix('exit-code=')}"
    elif rest.startswith("no-run"):
        rest = ""
    rest = rest.replace("../", "")
    return f'```{language} title="{rest}"' if rest else f"```{language}"


def link(page, match):
    """The link itself, or the text and name of a file that is not part of the site."""
    text, target = match.groups()
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target.partition("#")[0]))
    if re.match(r"[a-z]+:|#", target) or path.startswith("docs/"):
        return match[0]
    return text if posixpath.basename(path) in text else f"{text} (`{path}`)"


def links(page, line):
    return LINK.sub(lambda found: link(page, found), line)


def on_page_markdown(markdown, page, **_):
    lines, inside = [], False
    for line in markdown.split("\n"):
        match = FENCE.match(line)
        if match and not inside:
            lines.append(fence(match[1]))
        else:
            lines.append(line if inside else links(page.file.src_path, line))
        if line.startswith("```"):
            inside = not inside
    return "\n".join(lines)
