"""Every family at small and odd sizes: facts are well formed, declared, distinct and as many as promised; seeds decide all."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from tests.generate.reading import facts_of, of, predicates_of, types_of

from markovlogic.errors import InputError, ResourceError
from markovlogic.generate import FAMILIES, NAMES, make, webkb
from markovlogic.generate.draws import Int64, distinct_others

SIZES = (1, 2, 10)
SHARES = (0.0, 0.1, 1.0)
ALL_VARIANTS = [(name, variant) for name in NAMES for variant in ("", *FAMILIES[name].variants)]


@pytest.mark.parametrize(("name", "variant"), ALL_VARIANTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_every_fact_is_declared_distinct_and_inside_its_types(name: str, variant: str, size: int, share: float) -> None:
    generated = make(name, size, share, 3, variant=variant)
    types, predicates, facts = types_of(generated), predicates_of(generated), facts_of(generated)
    assert generated.name == name
    assert len(facts) == generated.n_facts
    assert len({(predicate, args) for _, predicate, args in facts}) == len(facts)
    for _, predicate, args in facts:
        assert len(args) == len(predicates[predicate])
        assert all(arg in types[kind] for arg, kind in zip(args, predicates[predicate], strict=True))
    assert set(generated.query.split(",")) <= set(predicates)


@pytest.mark.parametrize(("name", "variant"), ALL_VARIANTS)
def test_same_seed_same_problem_and_another_seed_another(name: str, variant: str) -> None:
    first, again, other = (make(name, 6, 0.5, seed, variant=variant) for seed in (7, 7, 8))
    assert (first.rules, first.evidence_text()) == (again.rules, again.evidence_text())
    assert first.evidence_text() != other.evidence_text()


@pytest.mark.parametrize(("name", "variant"), ALL_VARIANTS)
def test_a_larger_share_keeps_what_a_smaller_one_gave(name: str, variant: str) -> None:
    texts = (make(name, 9, share, 5, variant=variant).evidence_text() for share in (0.3, 0.8))
    small, large = ({line for line in text.splitlines() if not line.startswith("0.")} for text in texts)
    assert small < large


@pytest.mark.parametrize("name", NAMES)
def test_the_rule_file_says_how_it_was_made_and_how_to_ask(name: str) -> None:
    generated = make(name, seed=4)
    assert generated.rules.startswith(f"// {name}: ")
    assert f"Size {FAMILIES[name].default_size} " in generated.rules
    assert "seed 4" in generated.rules.splitlines()[0]
    assert f"// Query: -q {generated.query}\n" in generated.rules


def test_smokers_gives_smoking_and_ten_friends_of_a_share_of_the_people() -> None:
    generated = make("smokers", 50, 0.1, 1)
    known = {args[0] for _, args in of(generated, "Smokes")}
    assert len(known) == 5
    friends = of(generated, "Friends")
    assert len(friends) == 50
    assert all(truth and first in known and first != second for truth, (first, second) in friends)
    assert "4.6 !Friends(x, y)\n" in generated.rules
    assert len(of(make("smokers", 4, 1.0, 1), "Friends")) == 4 * 3


# Each of 20 people is named by 19 others in N_DRAWS draws with probability 10/19, independently: a count is binomial. Six and a
# half standard errors over 20 counts give a false alarm rate of about 2e-9. With 200 draws the twin below reached only 5.5.
EVEN_LIMIT = 6.5
N_DRAWS = 1000


def worst_unevenness(draw: Callable[[np.random.Generator, Int64, int, int], Int64]) -> float:
    """Largest distance, in standard errors, of how often a person is drawn from how often that should be."""
    share, count = 10 / 19, np.zeros(20)
    for seed in range(N_DRAWS):
        drawn = draw(np.random.default_rng(seed), np.arange(20), 20, 10)
        assert all(len(set(row)) == 10 and owner not in row for owner, row in enumerate(drawn.tolist()))
        count += np.bincount(drawn.ravel(), minlength=20)
    return float(np.abs(count - N_DRAWS * 19 * share).max() / np.sqrt(N_DRAWS * 19 * share * (1 - share)))


def test_friends_are_drawn_evenly() -> None:
    assert worst_unevenness(distinct_others) < EVEN_LIMIT


def test_the_check_above_catches_a_range_that_is_one_short() -> None:
    """Floyd's algorithm with its usual slip: t is drawn below j instead of up to j."""

    def one_short(rng: np.random.Generator, owner: Int64, total: int, count: int) -> Int64:
        chosen = np.full((len(owner), count), -1)
        for column, last in enumerate(range(total - 1 - count, total - 1)):
            drawn = rng.integers(0, last, len(owner))
            taken = (chosen[:, :column] == drawn[:, None]).any(axis=1)
            chosen[:, column] = np.where(taken, last, drawn)
        return chosen + (chosen >= owner[:, None])

    assert worst_unevenness(one_short) > EVEN_LIMIT


def test_transitivity_is_smokers_and_one_rule_more() -> None:
    plain, more = make("smokers", 12, 0.5, 2), make("transitivity", 12, 0.5, 2)
    assert plain.evidence_text() == more.evidence_text()
    assert more.rules.endswith("1.0 Friends(x, y) ^ Friends(y, z) => Friends(x, z)\n")


@pytest.mark.parametrize(("name", "atoms"), [("rst", 10 + 200), ("m3", 300), ("asthma", 30 + 100), ("synthetic", 20 * 200)])
def test_random_evidence_is_the_share_of_all_ground_atoms(name: str, atoms: int) -> None:
    assert [make(name, 10, share, 1).n_facts for share in SHARES] == [0, atoms // 10, atoms]


def test_the_unary_variant_of_rst_has_evidence_on_r_alone() -> None:
    generated = make("rst", 40, 0.1, 1, variant="unary")
    assert generated.n_facts == len(of(generated, "R")) == 4


def test_hard_asthma_has_hard_rules_and_evidence_about_people() -> None:
    generated = make("asthma", 20, 0.1, 1, variant="hard")
    assert "Smokes(x) => Cancer(x).\n" in generated.rules
    assert len(of(generated, "Smokes")) == 2
    assert len(of(generated, "Friends")) == 20


def test_webkb_of_1000_pages_is_the_benchmark() -> None:
    generated = make("webkb", 1000, 0.0, 0)
    links = of(generated, "Linked")
    assert len(links) == 10_000
    assert all(truth and source != target for truth, (source, target) in links)
    assert len(re.findall("!Linked", generated.rules)) == 25
    assert generated.n_facts == 10_000 + len(of(generated, "HasWord"))


def test_webkb_labels_are_complete_and_links_prefer_a_class() -> None:
    generated = make("webkb", 300, 1.0, 0)
    classes = generated.query.split(",")
    class_of = {args[0]: name for name in classes for truth, args in of(generated, name) if truth}
    assert len(class_of) == 300
    assert all(len(of(generated, name)) == 300 for name in classes)
    following = dict(zip(classes, classes[1:] + classes[:1], strict=True))
    links = of(generated, "Linked")
    share = np.mean([class_of[target] == following[class_of[source]] for _, (source, target) in links])
    assert share > 0.4


def test_webkb_links_prefer_a_class_of_a_single_page_too() -> None:
    """Six links of ten go to the page that is alone in the class that follows, while there are sources left."""
    page_class = np.zeros(60, np.int64)
    page_class[7] = 1
    links = webkb._links(np.random.default_rng(1), page_class)
    assert len(links) == 600 and np.count_nonzero(links[:, 1] == 7) > 50  # without preference about ten


def test_er_pairs_are_an_equivalence_relation() -> None:
    generated = make("er", 25, 1.0, 1)
    pairs = of(generated, "SameBib")
    assert len(pairs) == 25 * 25
    same = {args for truth, args in pairs if truth}
    bibs = {first for first, _ in same}
    assert all((bib, bib) in same for bib in bibs)
    assert all((second, first) in same for first, second in same)
    assert all((a, c) in same for a, b in same for b2, c in same if b == b2)
    assert len(re.findall(r"^[0-9.]+ ", generated.rules, re.MULTILINE)) == 14


@pytest.mark.parametrize(
    ("name", "size", "sites", "edges"), [("grid", 4, 16, 24), ("ising", 3, 9, 12), ("chimera", 1, 8, 16), ("chimera", 3, 72, 192)]
)
def test_lattices_have_their_edges_once(name: str, size: int, sites: int, edges: int) -> None:
    generated = make(name, size, 0.0, 1)
    assert len(types_of(generated)["site"]) == sites
    found = {frozenset(args) for truth, args in of(generated, "Adjacent") if truth}
    assert len(found) == len(of(generated, "Adjacent")) == edges
    assert all(len(edge) == 2 for edge in found)


def test_chimera_sites_have_five_or_six_neighbours_inside() -> None:
    degree: dict[str, int] = {}
    for _, args in of(make("chimera", 4, 0.0, 1), "Adjacent"):
        for site in args:
            degree[site] = degree.get(site, 0) + 1
    assert sorted(set(degree.values())) == [5, 6]


def test_a_hard_grid_is_given_a_proper_colouring() -> None:
    generated = make("grid", 6, 1.0, 3, variant="hard")
    red = {args[0]: truth for truth, args in of(generated, "Red")}
    assert all(red[first] != red[second] for _, (first, second) in of(generated, "Adjacent"))


@pytest.mark.parametrize("name", ["webkb", "grid", "ising", "chimera", "protein", "er"])
def test_structure_stays_closed_even_where_there_is_none(name: str) -> None:
    """One site has no edge; a predicate without any fact would be open and summed over."""
    generated = make(name, 1, 0.0, 1)
    given = {predicate for _, predicate, _ in facts_of(generated)}
    assert given | set(generated.query.split(",")) == set(predicates_of(generated))


def test_desaturated_synthetic_has_moderate_log_odds() -> None:
    generated = make("synthetic", 10, 1.0, 1, variant="desaturated")
    weight = [float(w) for w in re.findall(r"^(\S+) R\(x\)", generated.rules, re.MULTILINE)]
    false_count: dict[tuple[str, str], int] = {}
    for truth, predicate, (item, _) in facts_of(generated):
        false_count[predicate, item] = false_count.get((predicate, item), 0) + (not truth)
    log_odds = [
        sum(w * false_count[f"S{i}", f"X{x}"] * false_count[f"T{i}", f"X{x}"] for i, w in enumerate(weight, 1)) for x in range(10)
    ]
    assert max(map(abs, log_odds)) == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "smoker"}, "did you mean smokers"),
        ({"name": "smokers", "size": 0}, "at least 1"),
        ({"name": "smokers", "size": 2.5}, "whole number"),
        ({"name": "smokers", "size": True}, "whole number"),
        ({"name": "smokers", "evidence": 1.5}, "from 0 to 1"),
        ({"name": "smokers", "evidence": float("nan")}, "from 0 to 1"),
        ({"name": "smokers", "evidence": "much"}, "from 0 to 1"),
        ({"name": "smokers", "seed": -1}, "at least 0"),
        ({"name": "smokers", "variant": "hard"}, "no variant hard"),
        ({"name": "grid", "variant": "hart"}, "did you mean hard"),
    ],
)
def test_wrong_arguments_are_explained(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_an_absurd_size_is_refused_before_it_starts(name: str) -> None:
    with pytest.raises(ResourceError, match="smaller size"):
        make(name, 10**12, 1.0)


def test_asthma_with_unary_evidence_knows_no_friendship() -> None:
    generated = make("asthma", 20, 0.5, 1, variant="unary")
    assert {predicate for _, predicate, _ in facts_of(generated)} == {"Asthma", "Smokes", "Cancer"}
    assert generated.n_facts == 30


def test_open_webkb_knows_a_share_of_all_ground_atoms() -> None:
    """M4 of [001]: five classes, words and links, as many words as pages."""
    generated = make("webkb", 20, 0.1, 1, variant="open")
    assert generated.n_facts == (5 * 20 + 2 * 20 * 20) // 10
    assert {predicate for _, predicate, _ in facts_of(generated)} >= {"HasWord", "Linked"}
    assert set(generated.query.split(",")) == set(predicates_of(generated))
