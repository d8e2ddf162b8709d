"""A reader of generated files that shares nothing with the language's own."""

from __future__ import annotations

import re

from markovlogic.generate import Generated

FACT = re.compile(r"(?:0\.[0-9]{4} )?(!?)([A-Z][A-Za-z0-9_]*)\(([^()]+)\)\Z")


def facts_of(generated: Generated) -> list[tuple[bool, str, tuple[str, ...]]]:
    """(truth, predicate, constants) of every line, by a reader of the test's own."""
    found = []
    for line in generated.evidence_text().splitlines():
        match = FACT.match(line)
        assert match, line
        found.append((not match[1], match[2], tuple(match[3].split(","))))
    return found


def types_of(generated: Generated) -> dict[str, set[str]]:
    return {name: set(body.split(",")) for name, body in re.findall(r"^(\w+) = \{([^}]*)\}$", generated.rules, re.MULTILINE)}


def predicates_of(generated: Generated) -> dict[str, tuple[str, ...]]:
    lines = re.findall(r"^([A-Z]\w*)\(([a-z, ]+)\)$", generated.rules, re.MULTILINE)
    return {name: tuple(arguments.split(", ")) for name, arguments in lines}


def of(generated: Generated, predicate: str) -> list[tuple[bool, tuple[str, ...]]]:
    return [(truth, args) for truth, name, args in facts_of(generated) if name == predicate]
