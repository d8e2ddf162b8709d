"""Settings in words: the one parser of `--set NAME=VALUE`, and whether a setting knows the word."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from markovlogic.errors import InputError, nearest
from markovlogic.system import plugins

Made = TypeVar("Made")
PLAIN = (int, float, str, bool)  # what words on a command line can be
TRUTH = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False, "1": True, "0": False}


def check_words(settings: Any, owner: str) -> None:
    """Refuse a word that a setting does not know; its type says which it knows. owner: whose settings, for the message."""
    for name, hint in hints_of(settings).items():
        if get_origin(hint) is Literal and vars(settings)[name] not in get_args(hint):
            known = ", ".join(map(str, get_args(hint)))
            raise InputError(f"{owner}: {name} is {vars(settings)[name]!r}, expected one of {known}")


def with_variant(settings: Any, owner: str, words: Sequence[str], others: Collection[str] = ()) -> Any:
    """The settings, or those of an installed variant of them where a word names a setting that only the variant has.

    others: names that other owners have. A setting of the papers' package is refused with a hint where that is not installed.
    """
    own = setting_names(settings)
    for text in words:
        name, equals, _ = (part.strip() for part in text.partition("="))
        bare = name.removeprefix(f"{owner}.")
        if not equals or bare in own or (bare == name and name in others):
            continue
        variant = variant_of(owner)
        if variant is not None and bare in [one.name for one in fields(variant)]:
            return variant()
        if variant is None and owner in plugins.PAPERS_SETTINGS.get(bare, ()):
            raise InputError(
                f"--set {text}: {bare} is a setting of the package markovlogic-papers, which is not installed",
                hint=plugins.INSTALL_PAPERS,
            )
    return settings


def variant_of(owner: str) -> type | None:
    """The settings class that an installed package gives in place of the one with this name; None: there is none."""
    reference = plugins.installed(plugins.VARIANTS).get(owner)
    found: type | None = None if reference is None else plugins.load(reference)
    return found


def every_setting(settings: Any, owner: str) -> list[str]:
    """Names of the settings that words can change, those of an installed variant with them."""
    variant = None if settings is None else variant_of(owner)
    return plain_names(settings if variant is None else variant())


@dataclass(frozen=True)
class Owner:
    """A method or a compression, and its settings; `given` are those that options of their own set."""

    name: str
    settings: Any = None  # None: there are none that words can change
    given: Mapping[str, Any] = field(default_factory=dict)


def parsed_settings(
    words: Sequence[str], owners: Sequence[Owner], elsewhere: Callable[[str], str] = lambda name: ""
) -> list[Any]:
    """The settings of each owner as the words of `--set` change them: `NAME=VALUE`, or `OWNER.NAME=VALUE` where two have it.

    elsewhere: a hint for a name that none of the owners has.
    """
    names = [plain_names(own.settings) for own in owners]
    made = []
    for own in owners:
        others = {name for other, known in zip(owners, names, strict=True) if other is not own for name in known}
        made.append(None if own.settings is None else with_variant(own.settings, own.name, words, others))
    names = [plain_names(settings) for settings in made]
    texts: list[dict[str, str]] = [{} for _ in owners]
    for text in words:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"--set {text}: no value", hint="write NAME=VALUE")
        able = [at for at, own in enumerate(owners) if name.removeprefix(f"{own.name}.") in names[at]]
        if not able:
            known = {own.name: every_setting(own.settings, own.name) for own in owners}
            raise _unknown_setting(text, known, elsewhere)
        if len(able) > 1:
            both = [owners[at].name for at in able]
            hint = f"write {' or '.join(f'{owner}.{name}={value}' for owner in both)}"
            raise InputError(f"--set {text}: {' and '.join(both)} have a setting {name}", hint=hint)
        own = owners[able[0]]
        bare = name.removeprefix(f"{own.name}.")
        if bare in own.given:
            twice = f"--{bare} {own.given[bare]:g} and --set {bare}={value} set the same thing"
            raise InputError(twice, hint="leave one of them out")
        texts[able[0]][bare] = value
    return [
        None if one is None else changed(one, words_of, own.given) for one, words_of, own in zip(made, texts, owners, strict=True)
    ]


def changed(settings: Made, words: Mapping[str, str], given: Mapping[str, Any] = MappingProxyType({})) -> Made:
    """The settings with some of them changed; a value is read as what the setting's type takes.

    given: settings that are values already. All are changed together, because some are checked by what others are.
    """
    hints = hints_of(settings)
    values = {name: _read(name, text, hints[name]) for name, text in words.items()}
    return replace(settings, **values, **given) if values or given else settings  # type: ignore[type-var]


def setting_names(settings: Any) -> list[str]:
    """Names of the settings, in their order."""
    return list(hints_of(settings))


def plain_names(settings: Any) -> list[str]:
    """Names of the settings that words can change: numbers, words and truth values."""
    if settings is None:
        return []
    hints = hints_of(settings)
    return [name for name, value in vars(settings).items() if name in hints and _is_plain(value, hints[name])]


def _is_plain(value: Any, hint: Any) -> bool:
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return type(value) in PLAIN or (len(kinds) > 1 and any(kind in (int, float) for kind in kinds))


def _unknown_setting(text: str, owners: Mapping[str, Sequence[str]], elsewhere: Callable[[str], str]) -> InputError:
    """The error for a word of `--set` that nobody knows; owners: whose settings there are, with their names."""
    name = text.partition("=")[0].strip()
    for owner in owners:
        name = name.removeprefix(f"{owner}.")
    able = {owner: names for owner, names in owners.items() if names}
    lists = [f"settings of {owner} are {', '.join(names)}" for owner, names in able.items()]
    near = nearest(name, [other for names in able.values() for other in names])
    who = f"{next(iter(owners))} has no" if len(owners) == 1 else f"neither {' nor '.join(owners)} has a"
    rest = "; ".join(part for part in (elsewhere(name), *lists) if part)
    return InputError(f"--set {text}: {who} setting {name}", hint=f"{near} {rest}".strip())


def hints_of(settings: Any) -> dict[str, Any]:
    """Types by setting; where one names what only type checkers import, the type of the value that is there."""
    found: dict[str, Any] = {}
    for base in reversed(type(settings).__mro__):
        names = vars(sys.modules[base.__module__])
        for name, hint in vars(base).get("__annotations__", {}).items():
            try:
                found[name] = eval(hint, names) if isinstance(hint, str) else hint
            except NameError:
                found[name] = type(vars(settings).get(name))
    return {one.name: found[one.name] for one in fields(settings)}


def _read(name: str, text: str, hint: Any) -> Any:
    if get_origin(hint) is Literal:
        return text
    if get_origin(hint) is tuple:
        return tuple(_value(part.strip(), get_args(hint)[0], name, text) for part in text.split(","))
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    kind = kinds[0] if get_origin(hint) in (Union, types.UnionType) else hint
    return _value(text, kind, name, text)


def _value(part: str, kind: Any, name: str, text: str) -> Any:
    """A value of a kind; name and text: the whole assignment."""
    if kind is bool:
        if part.lower() not in TRUTH:
            raise InputError(f"--set {name}={text}: expected true or false")
        return TRUTH[part.lower()]
    try:
        return kind(part)
    except (TypeError, ValueError):
        number = "whole number" if kind is int else "number"
        takes = f"a {number}" if part == text else f"{number}s, separated by commas"
        raise InputError(f"--set {name}={text}: {name} takes {takes}") from None
