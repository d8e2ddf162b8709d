"""Symmetry by definition: every renaming is applied to every atom. Shares no code with `markovlogic.symmetry`."""

from __future__ import annotations

import itertools

import numpy as np

from markovlogic.language.syntax import Constant, Variable


def status_table(problem):
    """Status of every ground atom, {(predicate, args): status}."""
    table = {}
    for name, statuses in problem.statuses.items():
        for code, args in enumerate(itertools.product(*(range(size) for size in statuses.sizes))):
            table[name, args] = int(statuses.lookup(np.array([code]))[0])
    return table


def renamed(problem, atom, renaming):
    """An atom under {type: images}."""
    name, args = atom
    return name, tuple(renaming[t][a] for t, a in zip(problem.model.predicates[name].types, args, strict=True))


def preserves(problem, table, renaming):
    return all(table[renamed(problem, atom, renaming)] == status for atom, status in table.items())


def identity(problem):
    return {t: list(range(len(d))) for t, d in problem.domains.items()}


def named(problem):
    """Constants in formulas, as (type, number), and all of a type with a `+`; found in the tree by brute force."""
    found = set()

    def walk(node, type_of):
        if hasattr(node, "predicate"):
            types = problem.model.predicates[node.predicate].types
            for t, arg in zip(types, node.args, strict=True):
                if isinstance(arg, Constant):
                    found.add((t, problem.domains[t].number_of[arg.name]))
                elif arg.plus:
                    found.update((t, n) for n in range(len(problem.domains[t])))
        elif hasattr(node, "left") and isinstance(node.left, Constant | Variable):
            sides = (node.left, node.right)
            for t in {type_of[s.name] for s in sides if isinstance(s, Variable)}:
                found.update((t, problem.domains[t].number_of[s.name]) for s in sides if isinstance(s, Constant))
        else:
            for child in getattr(node, "parts", ()) or [getattr(node, k) for k in ("left", "right", "body") if hasattr(node, k)]:
                walk(child, type_of)

    for rule in problem.model.rules:
        walk(rule.formula, rule.type_of)
    return found


def twins(problem):
    """{type: list of sets}: constants whose exchange preserves every status; named ones alone."""
    table, apart = status_table(problem), named(problem)
    result = {}
    for type_name, domain in problem.domains.items():
        classes = []
        for one in range(len(domain)):
            for members in classes:
                other = min(members)
                renaming = identity(problem)
                renaming[type_name][one], renaming[type_name][other] = other, one
                free = (type_name, one) not in apart and (type_name, other) not in apart
                if free and preserves(problem, table, renaming):
                    members.add(one)
                    break
            else:
                classes.append({one})
        result[type_name] = classes
    return result


def renamings_inside(problem, classes):
    """Every renaming that stays inside the classes, given as {type: list of sets}."""
    choices = [(t, sorted(members)) for t, parts in classes.items() for members in parts]
    for images in itertools.product(*(itertools.permutations(members) for _, members in choices)):
        renaming = identity(problem)
        for (t, members), image in zip(choices, images, strict=True):
            for a, b in zip(members, image, strict=True):
                renaming[t][a] = b
        yield renaming


def automorphisms(problem):
    """Every renaming that preserves all statuses and fixes named constants."""
    table, apart = status_table(problem), named(problem)
    everything = {t: [set(range(len(d)))] for t, d in problem.domains.items()}
    for renaming in renamings_inside(problem, everything):
        if all(renaming[t][n] == n for t, n in apart) and preserves(problem, table, renaming):
            yield renaming


def open_atoms(problem):
    """Open atoms in the order of their numbers."""
    return [atom for atom, status in status_table(problem).items() if status == 2]


def orbit_sets(problem, renamings, length=1):
    """Orbits of sequences of open atoms, as a set of frozensets of tuples of numbers."""
    atoms = open_atoms(problem)
    number = {atom: n for n, atom in enumerate(atoms)}
    elements = [[number[renamed(problem, atom, r)] for atom in atoms] for r in renamings]
    return {
        frozenset(tuple(g[a] for a in sequence) for g in elements)
        for sequence in itertools.product(range(len(atoms)), repeat=length)
    }


def as_sets(labels):
    """A partition given by labels, as a set of frozensets of positions."""
    parts = {}
    for position, label in enumerate(labels):
        parts.setdefault(int(label), set()).add(position)
    return {frozenset(part) for part in parts.values()}
