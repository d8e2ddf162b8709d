"""One HTML file that needs no network: the view of `view.js` with its data inside."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

_PLACE = re.compile(r"\{\{(\w+)\}\}")


def page(data: Mapping[str, Any]) -> str:
    """The page's text, from the JSON of `view_data`."""
    pieces = {
        "title": html.escape(str(data["title"])),
        "style": asset("view.css"),
        "script": asset("view.js"),
        "data": json.dumps(data, allow_nan=False).replace("<", "\\u003c"),  # no constant may close the script
    }
    return _PLACE.sub(lambda found: pieces[found[1]], asset("page.html"))


def asset(name: str) -> str:
    """The text of a file of this package."""
    return (resources.files("markovlogic.report") / name).read_text(encoding="utf-8")
