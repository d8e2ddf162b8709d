"""The view of `view.js` in notebooks, as an anywidget: what is selected there is explained by the running program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markovlogic.errors import InputError, MarkovLogicError
from markovlogic.report.page import asset, page

Explain = Callable[[str, Sequence[str]], dict[str, Any]]


def widget(data: Mapping[str, Any], explain: Explain | None) -> Any:
    """A widget whose `selected` is the chosen atom; without `explain` it shows what the data holds."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise InputError("the live view needs anywidget", hint="pip install 'markovlogic[notebook]'") from None

    class Explorer(anywidget.AnyWidget):  # type: ignore[misc]
        """A result to look at."""

        _esm = asset("view.js")
        _css = asset("view.css")
        data = traitlets.Unicode().tag(sync=True)
        selected = traitlets.Unicode().tag(sync=True)

        def _repr_mimebundle_(self, **options: Any) -> Any:
            """The widget, and the page itself for where widgets do not run."""
            found = super()._repr_mimebundle_(**options)
            shown, more = found if isinstance(found, tuple) else (found, {})
            return {**(shown or {}), "text/html": framed(json.loads(self.data))}, more

    made = Explorer(data=json.dumps(data, allow_nan=False))

    def answer(_: Any, message: Mapping[str, Any], __: Any) -> None:
        assert explain is not None
        if "live" in message:
            made.send({"live": True})
            return
        try:
            found = explain(str(message["atom"]), [str(one) for one in message["changes"]])
            made.send({"id": message["id"], "found": found})
        except MarkovLogicError as error:
            made.send({"id": message["id"], "error": str(error)})
        except Exception as error:  # else the view would wait forever
            made.send({"id": message["id"], "error": f"internal error: {type(error).__name__}: {error}"})
            raise

    if explain is not None:
        made.on_msg(answer)
    return made


def framed(data: Mapping[str, Any]) -> str:
    """The page in a frame of its own, so that its styles and its script stay inside."""
    import html

    return f'<iframe srcdoc="{html.escape(page(data))}" style="width: 100%; height: 760px; border: 0"></iframe>'
