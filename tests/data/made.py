"""Small models and ways to look at evidence, for the tests of reading."""

from pathlib import Path

from markovlogic.data.evidence import Evidence
from markovlogic.language.syntax import Model, Predicate

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def model_of(*declarations: str, constants: dict[str, tuple[str, ...]] | None = None, declared: tuple[str, ...] = ()) -> Model:
    """A model without rules, from declarations such as `Class(page, class!)`."""
    predicates = {}
    for declaration in declarations:
        name, _, rest = declaration.rstrip(")").partition("(")
        types = [part.strip() for part in rest.split(",") if part.strip()]
        predicates[name] = Predicate(name, tuple(t.rstrip("!") for t in types), tuple(t.endswith("!") for t in types))
    return Model(predicates, (), dict(constants or {}), frozenset(declared), "made.mln")


SMOKERS = model_of("Smokes(person)", "Friends(person, person)", "Lives(person, town)", "Flag")


def facts_of(evidence: Evidence, model: Model) -> dict[tuple[str, tuple[str, ...]], int]:
    """Each fact with its truth, constants by name."""
    found = {}
    for name, facts in evidence.facts.items():
        domains = [evidence.domains[type_name].names for type_name in model.predicates[name].types]
        for args, truth in zip(facts.args.tolist(), facts.truth.tolist(), strict=True):
            found[name, tuple(domain[number] for domain, number in zip(domains, args, strict=True))] = truth
    return found
