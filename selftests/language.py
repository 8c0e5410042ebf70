#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Finds sentences that open with a free relative ("What", "Whoever", "Whether", "Of", ...), and words
for people that are used for machines ("who", "he", "nobody").
Checks the comments and documents that git tracks. Prints them if they are 0.3 % of the sentences or
more; some have a good reason.

usage: language.py [--all] [PATH...]	--all prints them in any case
"""

import re
import subprocess
import sys

LIMIT = 0.003
OPENING = re.compile(
    r"(?:What|Whatever|Who|Whoever|Whose|Whether|Whichever|Of|Those|How|Where|Lest)\b", re.I)
PERSON = re.compile(
    r"\b(?:who|whom|he|his|him|nobody|somebody|anybody|whoever|lest|likewise|besides|"
    r"come upon|be about|room for|on (?:its|their) way)\b")
# Questions, and sentences about people
FINE = re.compile(r"\?$|\b(?:user|users|attacker|administrator|reader|people)\b")


def c_comments(text):
    for match in re.finditer(r"/\*+(.*?)\*/", text, re.S):
        yield (text.count("\n", 0, match.start()) + 1,
               re.sub(r"^\s*\*? ?", "", match[1], flags=re.M).strip())


def hash_comments(text):
    for match in re.finditer(r"(?:^[ \t]*#(?!!).*\n)+", text, re.M):
        yield (text.count("\n", 0, match.start()) + 1,
               re.sub(r"^\s*# ?", "", match[0], flags=re.M).strip())


def paragraphs(text):
    """Of reStructuredText and Markdown, without tables, literal blocks and headings."""
    line, literal = 1, None
    for block in re.split(r"\n\s*\n", text):
        indent = len(block) - len(block.lstrip(" "))
        if literal is not None and indent > literal:
            pass
        else:
            literal = indent if block.rstrip().endswith("::") else None
            if not re.search(r"^\s*(?:[=|-]{3,}|\.\. |\|)|^ {4}", block, re.M) or "``" in block[:9]:
                for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", block):
                    yield line, re.sub(r"^\s*(?:[-*]|\d+\.) ", "", item)
        line += block.count("\n") + 2


def manual(text):
    """Of a manual page: the text between macros."""
    for match in re.finditer(r"(?:^(?![.]).+\n|^\.[BI]R?.*\n)+", text, re.M):
        body = re.sub(r"^\.[BI]R?\s*", "", match[0], flags=re.M)
        yield text.count("\n", 0, match.start()) + 1, body


def kind(path):
    if path.endswith((".c", ".h")):
        return c_comments
    if path.endswith((".rst", ".md")):
        return paragraphs
    if path.endswith(".8"):
        return manual
    if path.endswith((".sh", ".py", ".mk")) or re.search(r"(?:Makefile|Kbuild|Kconfig)$", path):
        return hash_comments
    return None


def sentences(path):
    text = open(path, encoding="utf-8", errors="replace").read()
    for line, body in kind(path)(text):
        if body.startswith("SPDX"):
            continue
        for part in re.split(r"(?<=[.;])\s+|\n(?=@)|\n\n", body):
            part = " ".join(part.split())
            if part:
                yield line, part


def is_strange(sentence):
    body = re.sub(r"^(?:@\w+:|\w+\(\) -|\w+(?: [A-Z][\w.-]*)*:)\s*", "", sentence)
    return not FINE.search(sentence) and bool(OPENING.match(body) or PERSON.search(body))


def main():
    args = sys.argv[1:]
    show_all = args[:1] == ["--all"]
    files = subprocess.check_output(["git", "ls-files", *args[show_all:]], text=True).split()
    total, found = 0, []
    for path in files:
        if not kind(path) or "/vec_" in path:
            continue
        for line, sentence in sentences(path):
            total += 1
            if is_strange(sentence):
                found.append(f"{path}:{line}: {sentence[:110]}")
    share = len(found) / max(total, 1)
    if show_all or share >= LIMIT:
        print("\n".join(found))
        print(f"{len(found)} of {total} sentences, {share:.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
