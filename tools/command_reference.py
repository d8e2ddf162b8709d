"""The command-line page, made from the options of every command."""

from __future__ import annotations

import re
from typing import Any

from typer.main import get_command

from markovlogic.cli.main import OTHER_NAMES, OWN, add_commands

HEAD = """# Command line

This page is made from the program: `mln COMMAND --help` shows the same on your terminal.
Options that take several values can be repeated.

| command | what it does |
|---|---|
"""
ELSEWHERE = {
    "infer": "[tutorial](tutorial.md), [query items](language.md#queries), [methods](methods.md), [output files](outputs.md)",
    "map": "[find the best world](map.md)",
    "explain": "[when a problem is too big](too-big.md), [keys of `--json`](outputs.md#explain)",
    "symmetries": "[averages over orbits](methods/symmetry-estimates.md), [keys of `--json`](outputs.md#symmetries)",
    "compress": "[smaller problems](methods/compression.md), [files it writes](outputs.md#compress)",
    "learn": "[learn weights](learning.md)",
    "evaluate": "[how good are the probabilities?](evaluate.md)",
    "why": "[explain a result](why.md)",
    "diff": "[how good are the probabilities?](evaluate.md#compare-two-results)",
    "check": "[check rules](check.md)",
    "format": "[check rules](check.md)",
    "lsp": "[use your editor](editor.md)",
    "cluster": "[rules for entity resolution](entity-resolution.md)",
    "generate": "[benchmark problems](problems.md)",
    "warm-up": "[install](install.md)",
    "reproduce": "[the papers' experiments](experiments.md)",
}
FIRST, REST = "Arguments", "Options"
PANELS = (FIRST, REST, "The problem", "The data", "The method", "Learning", "Sampling", "Search", "Output")


def command_page() -> str:
    """The whole page."""
    group: Any = get_command(add_commands())
    found = {name: group.commands[name] for name in sorted(group.commands, key=lambda name: _place(name))}
    rows = "".join(f"| [`mln {name}`](#mln-{name}) | {_sentence(command)} |\n" for name, command in found.items())
    synonyms = ", ".join(f"`{word}`" for word in OTHER_NAMES)
    tail = (
        "\n`mln --version` shows the version. `mln --debug COMMAND …` shows the traceback of an internal error.\n"
        "The meaning of each exit code is on [a page of its own](exit-codes.md).\n"
        f"\nOther names that are answered with a hint: {synonyms}.\n"
    )
    return HEAD + rows + tail + "".join(_section(name, command) for name, command in found.items())


def _place(name: str) -> tuple[int, str]:
    return (list(OWN).index(name) if name in OWN else len(OWN), name)


def _sentence(command: Any) -> str:
    return str(command.help or "").split("\n\n")[0].replace("\n", " ").strip()


def _section(name: str, command: Any) -> str:
    anchor = f"mln-{name}"
    text = f"\n## mln {name} {{#{anchor}}}\n\n{_sentence(command)}\n"
    if name not in OWN:
        text += "\nThis command comes with the package `markovlogic-papers`.\n"
    if name in ELSEWHERE:
        text += f"\nSee also: {ELSEWHERE[name]}.\n"
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        title = FIRST if parameter.param_type_name == "argument" else getattr(parameter, "rich_help_panel", None) or REST
        panels.setdefault(title, []).append(parameter)
    for title in sorted(panels, key=lambda title: PANELS.index(title) if title in PANELS else len(PANELS)):
        rows = "".join(_row(parameter) for parameter in panels[title])
        text += f"\n**{title}**\n\n| option | value | default | meaning |\n|---|---|---|---|\n{rows}"
    return text


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        own, value = f"`{(parameter.metavar or parameter.name.upper()).strip('[]')}`".replace("|", "` or `"), ""
    else:
        own = ", ".join(f"`{word}`" for word in (*parameter.opts, *parameter.secondary_opts))
        value = "" if parameter.is_flag else parameter.metavar or parameter.type.name.upper()
    return f"| {own} | {_choices(value)} | {_default(parameter)} | {_cell(parameter.help or '')} |\n"


def _choices(value: str) -> str:
    words = value.split("|")
    return ", ".join(f"`{word}`" for word in words) if value else ""


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if (not value and value != 0) or value is False:
        return "off" if parameter.param_type_name == "option" and parameter.is_flag else ""
    return "on" if value is True else f"`{value}`"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;").strip()
