# SPDX-License-Identifier: GPL-2.0
"""Sphinx, for "make docs"."""

project = "omerta"
author = "omerta developers"
exclude_patterns = ["man", "netlink"]
html_theme = "alabaster"
html_copy_source = False
