"""The scale of an experiment with settings in words: what `mln reproduce --set NAME=VALUE` says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from markovlogic.errors import InputError
from markovlogic.system.settings_parser import changed, check_words
from markovlogic_papers.experiments.outcome import Experiment

PLAIN = (int, float, str)


def has_setting(scale: Any, name: str) -> bool:
    """Whether it is a setting of the scale."""
    return any(field.name == name for field in fields(scale))


def scale_from(made: Experiment, quick: bool, settings: Mapping[str, str]) -> Any:
    """How big the experiment is made: its own scale, with the given values of the settings that it has."""
    scale = made.quick if quick else made.full
    own = {name: text for name, text in settings.items() if has_setting(scale, name)}
    hints = get_type_hints(type(scale))
    for name, text in own.items():
        _require_plain(name, text, hints[name])
    found = changed(scale, own)
    check_words(found, made.id)
    for name, text in own.items():
        if name != "data" and get_origin(hints[name]) is not Literal:
            _require_sense(name, text, vars(found)[name], vars(made.full)[name])
    return found


def _require_plain(name: str, text: str, hint: Any) -> None:
    """Numbers, words, and lists of them, of a length where it is fixed."""
    if hint in PLAIN or get_origin(hint) is Literal:
        return
    kinds = get_args(hint)
    if get_origin(hint) is not tuple or kinds[0] not in PLAIN:
        raise InputError(f"--set {name}={text}: {name} cannot be given as text", hint="leave it out, or change it in Python")
    if kinds[-1] is not Ellipsis and len(text.split(",")) != len(kinds):
        raise InputError(f"--set {name}={text}: {name} takes {len(kinds)} values, separated by commas")


def _require_sense(name: str, text: str, value: Any, full: Any) -> None:
    """Counts are 1 or more (0 where they are 0 in full), numbers finite and not negative, words those of the full scale."""
    values, known = (one if isinstance(one, tuple) else (one,) for one in (value, full))
    for one in values:
        if isinstance(one, str):
            if one not in known:
                raise InputError(f"--set {name}={text}: {one} is unknown", hint=f"there are {', '.join(map(str, known))}")
        elif not math.isfinite(one) or one < 0 or (isinstance(one, int) and one == 0 and 0 not in known):
            what = "a whole number, 1 or more" if isinstance(one, int) else "a number that is not negative"
            raise InputError(f"--set {name}={text}: {name} takes {what}")
