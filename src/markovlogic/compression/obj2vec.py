"""Obj2Vec: objects embedded by the objects they stand beside, and balanced groups of near ones ([002] Algorithm 1)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import ceil, log
from typing import Any, Literal

import numpy as np

from markovlogic.compression.contexts import Contexts, contexts_of, sentences_of
from markovlogic.compression.grouping import SharedRatio, group_number
from markovlogic.compression.osa import unary_classes
from markovlogic.compression.partition import Partition, held_apart, partition_of
from markovlogic.errors import InputError
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, each_once
from markovlogic.system.cancellation import check

SMALL_VOCABULARY = 3000  # objects up to which the matrix of contexts is factorised
MOST_SENTENCES = 500_000  # groundings of a rule that skip-gram reads; of more, so many are drawn
DENSE = 1500  # objects and contexts up to which all singular values are computed
BEYOND = 16  # singular values that are looked at beyond those requested
EQUAL = 1e-6  # relative to the largest: singular values that differ by less are one, and lengths below are none
ROWS = 1024  # of a matrix of distances that are made at once
UNIT = 1e-6  # of distances: objects that are alike are equally far, whatever rounding says
RATE, LAST_RATE = 0.05, 0.0001  # of learning, while the loss falls and at the end
ROUND = 10  # epochs between two looks at the loss, more where there are few pairs
PAIRS = 6000  # of a round, at least: the loss of fewer is mostly noise
SETTLED = 0.03  # of the loss, by which it falls in a round at least while there is something to learn
LEARNT = 0.95  # of the loss at the start, above which nothing was learnt yet
MOST_ROUNDS, MOST_TRAINED = 200, 40_000_000  # and pairs of all rounds; what was not learnt then stays so
KEPT = 0.9  # share of objects that must keep a context under the shift by negatives


@dataclass(frozen=True)
class Obj2Vec(SharedRatio):
    """Groups of objects with similar contexts.

    dim: length of the vectors, at most half the number of objects.
    embedding: "svd" of the shifted positive pointwise mutual information, which has the optimum of "skipgram" with negative
        samples (Levy and Goldberg 2014). "auto" takes skip-gram for large vocabularies where gensim is installed.
    epochs: passes of skip-gram. Default: until its loss has settled.
    negatives: negative samples of skip-gram.

    Objects of which different things are known by themselves are never in one group.
    """

    paper_evidence = "representatives"  # [002]: evidence about other objects is removed

    dim: int = 300
    embedding: Literal["auto", "svd", "skipgram"] = "auto"
    epochs: int | None = None
    negatives: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 1 or (self.epochs is not None and self.epochs < 1) or self.negatives < 1:
            raise InputError("obj2vec: dim, epochs and negatives are at least 1")
        if self.embedding == "svd" and self.epochs is not None:
            raise InputError(
                "obj2vec: epochs are a setting of embedding=skipgram", hint="leave epochs out, or take embedding=skipgram"
            )

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "obj2vec"

    def contexts(self, problem: Problem) -> Contexts:
        """What objects stand beside."""
        return contexts_of(problem)

    def kinds(self, problem: Problem, of: str) -> Int32:
        """Objects of different kinds are never in one group: what is known of each by itself."""
        return unary_classes(problem).class_of[of]

    def balanced(self, points: Float64, wanted: int, rng: np.random.Generator) -> list[Group]:
        """So many groups of points."""
        return balanced(points, wanted, rng)

    def memory_bytes(self, problem: Problem) -> int:
        """Distances of all objects of a type, and the order of each one's neighbours."""
        return 8 * max((len(domain) ** 2 for domain in problem.domains.values()), default=0)

    def partition(self, problem: Problem) -> Partition:
        """Balanced groups of near objects, type by type."""
        found = self.contexts(problem)
        made = self.embedded(problem, found)
        vectors = directions(made.vectors)
        label, stands, notes = {}, {}, [*found.notes, *made.notes]
        seeds = np.random.SeedSequence(self.seed or 0).spawn(len(problem.domains))
        for (of, domain), seed in zip(problem.domains.items(), seeds, strict=True):
            points = vectors[found.first[of] : found.first[of] + len(domain)]
            free = ~held_apart(problem)[of]
            groups = self._groups(points, np.where(free, self.kinds(problem, of), -1), problem, of, np.random.default_rng(seed))
            own = np.arange(len(domain), dtype=np.int64) + len(domain)
            for number, group in enumerate(groups):
                own[group.members] = number
            label[of] = own.astype(np.int32)
            stands[of] = np.array([group.chosen for group in groups], np.int64)
            notes += _warnings(of, groups)
        return partition_of(problem, label, f"{self.source} ({made.name})", representative=stands, notes=tuple(notes))

    def embedded(self, problem: Problem, contexts: Contexts) -> Embedding:
        """A vector for each object."""
        size = max(1, min(self.dim, contexts.n_objects // 2))
        if self.embedding == "skipgram" or (self.embedding == "auto" and contexts.n_objects > SMALL_VOCABULARY):
            try:
                return _skip_gram(self.sentences(problem, contexts), contexts.n_objects, size, self)
            except ImportError:
                if self.embedding == "skipgram":
                    hint = "install markovlogic[embeddings], or take embedding=svd"
                    raise InputError("obj2vec: skip-gram needs gensim, which is not installed", hint=hint) from None
        return Embedding(factorised(contexts, size, self.negatives), "SVD")

    def sentences(self, problem: Problem, contexts: Contexts) -> list[list[int]]:
        """What skip-gram reads: the objects of each grounding; contexts that are other words have numbers behind the objects."""
        rules = sentences_of(problem, MOST_SENTENCES, self.seed or 0)
        return [sentence for rule in rules for sentence in rule]

    def _groups(self, points: Float64, kinds: Any, problem: Problem, of: str, rng: np.random.Generator) -> list[Group]:
        wanted = group_number(problem, of, self.share)
        every, found = int(np.count_nonzero(kinds >= 0)), []
        for kind in each_once(kinds[kinds >= 0]):
            members = np.flatnonzero(kinds == kind)
            share = max(1, min(len(members), round(wanted * len(members) / every)))
            for group in self.balanced(points[members], share, rng):
                found.append(Group(int(members[group.chosen]), members[group.members], group.diameter))
        return found


@dataclass(frozen=True, eq=False)
class Group:
    """Objects with the one that was chosen; the diameter is the largest distance from it."""

    chosen: int
    members: Int64
    diameter: float


@dataclass(frozen=True, eq=False)
class Embedding:
    """A vector for each object, zero for one without contexts; and how they were found."""

    vectors: Float64  # (n_objects, dim)
    name: str
    notes: tuple[str, ...] = ()


def factorised(contexts: Contexts, size: int, negatives: int) -> Float64:
    """The left factor of the shifted positive pointwise mutual information, with the roots of its singular values."""
    matrix = contexts.matrix
    if not matrix.nnz:
        return np.zeros((contexts.n_objects, size))
    total, row, column = matrix.sum(), matrix.sum(axis=1), matrix.sum(axis=0)
    entries = matrix.tocoo()
    information = np.log(entries.data * total / (row[entries.row] * column[entries.col]))
    shifted = np.maximum(information - log(negatives), 0.0)
    kept = np.bincount(entries.row, shifted > 0, minlength=contexts.n_objects)[row > 0] > 0
    if kept.mean() < KEPT:  # few contexts: the shift would leave nothing of them
        shifted = np.maximum(information, 0.0)
    if not shifted.any():  # everything stands beside everything: counts themselves are left to distinguish objects
        shifted = np.log1p(entries.data)
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    positive = csr_array((shifted, (entries.row, entries.col)), shape=matrix.shape)
    if max(matrix.shape) <= DENSE or size + BEYOND >= min(matrix.shape):
        left, length, _ = np.linalg.svd(positive.toarray(), full_matrices=False)
        next_one = 0.0
    else:
        left, length, _ = svds(positive, k=size + BEYOND, rng=np.random.default_rng(0))
        left, length = left[:, ::-1], length[::-1]
        next_one = float(length[-1])  # not known: it may be as long
    size = _whole(length, next_one, size)
    return np.asarray(left[:, :size] * np.sqrt(length[:size]), np.float64)


def _whole(length: Float64, next_one: float, size: int) -> int:
    """How many singular values to take so that none of those that are equal is left out: which axes they have is chance.

    As many as were requested, and those equal to the last one; where no end of these is seen, those before them.
    """
    several = int(np.count_nonzero(length > EQUAL * length[0]))
    size = min(size, several)
    ends = np.flatnonzero(length - np.append(length[1:], next_one) > EQUAL * length[0]) + 1
    after = ends[ends >= size]
    return int(after[0]) if len(after) else int(ends[-1]) if len(ends) else size


def directions(vectors: Float64) -> Float64:
    """Vectors of length 1, or 0: how often an object is seen makes its vector longer, and says nothing of what it is."""
    length = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    seen = length > EQUAL * length.max(initial=0.0)
    return np.asarray(np.where(seen, vectors / np.where(seen, length, 1.0), 0.0), np.float64)


def _skip_gram(sentences: list[list[int]], n_objects: int, size: int, settings: Obj2Vec) -> Embedding:
    """Skip-gram with negative samples, in one thread from a seed; each word of a sentence is a context of all others.

    No word is left out for being frequent: in so small a vocabulary all are. The loss is flat at first, as all vectors are near
    zero, then falls; training ends when it has settled.
    """
    from gensim.models import Word2Vec

    check()
    vectors, name = np.zeros((n_objects, size)), "skip-gram"
    if not sentences:
        return Embedding(vectors, name)  # gensim refuses to learn from nothing
    rng = np.random.default_rng(settings.seed or 0)
    text = [[str(number) for number in sentences[at]] for at in rng.permutation(len(sentences)).tolist()]
    model = Word2Vec(
        vector_size=size,
        window=max(map(len, text)),
        shrink_windows=False,
        min_count=1,
        sample=0,
        sg=1,
        negative=settings.negatives,
        workers=1,
        seed=((settings.seed or 0) + 1) % 2**32,  # gensim takes no larger one
    )
    model.build_vocab(text)
    pairs = sum(len(sentence) * (len(sentence) - 1) for sentence in text)
    again = 1 if settings.epochs else ceil(PAIRS / (ROUND * pairs))  # a short text is read several times at once, since
    text *= again  # gensim takes as long to begin an epoch as to read a thousand pairs

    def train(epochs: int, last: float) -> float:
        """The loss of a pair, on average."""
        check()
        model.train(text, total_examples=len(text), epochs=epochs, compute_loss=True, start_alpha=RATE, end_alpha=last)
        return float(model.get_latest_training_loss()) / (again * pairs * epochs)

    notes: tuple[str, ...] = ()
    done = settings.epochs or 0
    if settings.epochs is None:
        best, start = np.inf, (1 + settings.negatives) * log(2)
        most = ROUND * again * max(2, min(MOST_ROUNDS, MOST_TRAINED // (ROUND * again * pairs)))
        settled = False
        while not settled and done < most:
            loss = train(ROUND, RATE)
            done += ROUND * again
            settled = loss < LEARNT * start and loss > (1 - SETTLED) * best
            best = min(best, loss)
        if not settled:
            notes = (f"obj2vec: skip-gram had not settled after {done:,} epochs; choose how many with --set epochs",)
    train(settings.epochs or ROUND, LAST_RATE)
    for number in range(n_objects):
        if str(number) in model.wv:
            vectors[number] = model.wv[str(number)]
    return Embedding(vectors, f"{name}, {done:,} epochs", notes)


def balanced(
    points: Float64, wanted: int, rng: np.random.Generator, *, p_random: float = 0.01, one_less: bool = True
) -> list[Group]:
    """So many groups of about one size: the object with the nearest neighbours takes them with it, the last one takes the rest.

    [002] Algorithm 1 with papers.md 2.11: K + 1 objects leave at every step, so K is one less than n/α. What is left is
    divided by the groups that are left at every step: of 100 objects in 80 groups twenty are pairs. One K for all steps would
    make 50 pairs. one_less=False is the paper's K, one for all steps.
    """
    n = len(points)
    if wanted >= n:
        return [Group(i, np.array([i]), 0.0) for i in range(n)]
    if wanted == 1:
        return [_rest(points, np.arange(n), rng)]
    distance = _distances(points)
    order = _orders(distance)
    alive = np.ones(n, np.bool_)
    neighbours, heap = 0, list[tuple[int, int]]()
    found: list[Group] = []
    while len(found) < wanted - 1 and np.count_nonzero(alive) > 1:
        check()
        left = int(np.count_nonzero(alive))
        size = ceil(left / (wanted - len(found))) - 1 if one_less else ceil(n / wanted)
        if size == 0:  # as many groups as objects
            return [*found, *(Group(i, np.array([i]), 0.0) for i in np.flatnonzero(alive).tolist())]
        if size != neighbours:
            neighbours, heap = size, _sums(distance, order, alive, size)
        if rng.random() < p_random:
            chosen = int(rng.choice(np.flatnonzero(alive)))
        else:
            chosen = _tightest(heap, alive, order, distance, min(neighbours, left - 1))
        own = _nearest(order[chosen], alive, chosen, min(neighbours, left - 1))
        members = np.append(own, chosen)
        alive[members] = False
        found.append(Group(chosen, np.sort(members), float(distance[chosen, members].max()) * UNIT))
    rest = np.flatnonzero(alive)
    if len(rest):
        found.append(_rest(points, rest, rng))
    return found


def _sums(distance: Int32, order: Any, alive: Bool, neighbours: int) -> list[tuple[int, int]]:
    """A heap of the distances to the nearest objects that are left, added up."""
    heap = [
        (int(distance[i, _nearest(order[i], alive, i, neighbours)].sum(dtype=np.int64)), i)
        for i in np.flatnonzero(alive).tolist()
    ]
    heapq.heapify(heap)
    return heap


def _rest(points: Float64, members: Int64, rng: np.random.Generator) -> Group:
    chosen = int(rng.choice(members))
    return Group(chosen, members, float(np.sqrt(((points[members] - points[chosen]) ** 2).sum(axis=1)).max()))


def _distances(points: Float64) -> Int32:
    """Distances in whole units; -1 for oneself, who comes first."""
    square, made = (points**2).sum(axis=1), np.empty((len(points), len(points)), np.int32)
    for low in range(0, len(points), ROWS):
        rows = slice(low, min(low + ROWS, len(points)))
        squared = square[rows, None] + square[None, :] - 2 * points[rows] @ points.T
        made[rows] = np.rint(np.sqrt(np.maximum(squared, 0.0)) / UNIT)
    np.fill_diagonal(made, -1)
    return made


def _orders(distance: Int32) -> Int32:
    """For each object all others, the nearest first."""
    made = np.empty(distance.shape, np.int32)
    for low in range(0, len(distance), ROWS):
        made[low : low + ROWS] = np.argsort(distance[low : low + ROWS], axis=1, kind="stable")
    return made


def _nearest(order: Any, alive: Bool, chosen: int, count: int) -> Int64:
    near = order[alive[order]]
    return np.asarray(near[near != chosen][:count], np.int64)


def _tightest(heap: list[tuple[int, int]], alive: Bool, order: Any, distance: Int32, count: int) -> int:
    """The object that is nearest to its neighbours: sums only grow as objects leave, so the smallest is looked at again."""
    while True:
        before, chosen = heapq.heappop(heap)
        if not alive[chosen]:
            continue
        now = int(distance[chosen, _nearest(order[chosen], alive, chosen, count)].sum(dtype=np.int64))
        if now <= before or not heap or now <= heap[0][0]:
            heapq.heappush(heap, (now, chosen))
            return chosen
        heapq.heappush(heap, (now, chosen))


def _warnings(of: str, groups: list[Group]) -> list[str]:
    """A note where the last group, which takes outliers, is far wider than the others."""
    sizes = [group.diameter for group in groups if len(group.members) > 1]
    if len(sizes) > 2 and sizes[-1] > 3 * max(float(np.median(sizes)), 1e-9):
        return [f"obj2vec: the last group of {of} holds what was left, {sizes[-1]:.2g} wide against {np.median(sizes):.2g}"]
    return []
