"""A ground path of a rule: something to look at."""

from __future__ import annotations

import numpy as np

from markovlogic.kernels.paths import CONSTANT, MEMBER, NOTHING
from markovlogic.language.syntax import show_constant
from markovlogic.paths.rules import FIRST, PAIRS, SECOND, PathRule, Scratch, Target

ROOM = 50_000  # false pairs that are looked at for one


def example(target: Target, rule: PathRule, *, true: bool) -> str:
    """A true or false atom of the head that the body reaches, and the facts by which it does; empty where none is found."""
    graph = target.graph
    column = target.column(rule, Scratch(graph), 1.0, 0, 0 if true else ROOM)
    assert column is not None
    if true:
        reached = np.flatnonzero(column.at_fact)
        if not len(reached):
            return ""
        x, y = int(target.first[reached[0]]), int(target.second[reached[0]])
    elif column.key is not None and len(column.key):
        x, y = divmod(int(column.key[0]), graph.n_nodes)
    elif column.by_node is not None and column.by_node.any():
        x = y = int(np.flatnonzero(column.by_node)[0])
    else:
        return ""
    start = y if rule.shape == SECOND else x
    nodes = _nodes(target, rule, start, x, y)
    if nodes is None:
        return ""
    head = ""
    if true or rule.shape == PAIRS:
        names = [show_constant(graph.name(node)) for node in ((x, y) if len(target.head.types) == 2 else (x,))]
        head = f"{'' if true else '!'}{target.head.atom(*names)}: ".replace(", ", ",")
    facts = []
    for step, d in enumerate(rule.path):
        pair = [show_constant(graph.name(node)) for node in (nodes[step], nodes[step + 1])]
        facts.append(graph.relations[d >> 1].atom(*(reversed(pair) if d & 1 else pair)).replace(", ", ","))
    if rule.end == MEMBER:
        facts.append(graph.sets[rule.what].atom(show_constant(graph.name(nodes[-1]))).replace(", ", ","))
    return head + " ^ ".join(facts)


def _nodes(target: Target, rule: PathRule, start: int, x: int, y: int) -> list[int] | None:
    """The nodes of a path that ends as the rule says, without the fact that it is to explain; None where there is none."""
    graph = target.graph
    stack = [[start]]
    dead: set[tuple[int, int]] = set()
    while stack:
        nodes = stack.pop()
        if len(nodes) > len(rule.path):
            return nodes
        d = rule.path[len(nodes) - 1]
        for node in graph.neighbours(d, nodes[-1]).tolist():
            ends = (nodes[-1], node) if not d & 1 else (node, nodes[-1])
            if d >> 1 == target.own_relation and ends == (x, y):
                continue
            if (len(nodes), node) in dead:
                continue
            dead.add((len(nodes), node))
            if len(nodes) < len(rule.path) or _ends(target, rule, node, x, y):
                stack.append([*nodes, node])
    return None


def _ends(target: Target, rule: PathRule, node: int, x: int, y: int) -> bool:
    if rule.shape == PAIRS:
        return node == y
    if rule.end == CONSTANT:
        return bool(target.graph.net.label[node] == rule.what)
    if rule.end == MEMBER:
        return bool(target.graph.net.member[rule.what, node]) and not (rule.what == target.own_set != NOTHING and node == x)
    return rule.shape in (FIRST, SECOND)
