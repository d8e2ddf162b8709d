"""Small faults that can be planted in a Python source: what a tired programmer writes, one token at a time.

Offutt et al. (An experimental determination of sufficient mutant operators, TOSEM 1996) found that swaps of relational, logical
and arithmetic operators tell nearly as much about tests as all others together; off-by-one constants are added because index
arithmetic is most of this package.
"""

import ast
import bisect
import io
import itertools
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

COMPARISONS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
}
ARITHMETIC = {
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "/": ("*",),
    "//": ("*",),
    "%": ("//",),
    "**": ("*",),
    "&": ("|",),
    "|": ("&",),
    "^": ("|",),
    "<<": (">>",),
    ">>": ("<<",),
}
CONNECTIVES = {"and": ("or",), "or": ("and",)}
CALLS = {
    "min": ("max",),
    "max": ("min",),
    "any": ("all",),
    "all": ("any",),
    "minimum": ("maximum",),
    "maximum": ("minimum",),
    "argmin": ("argmax",),
    "argmax": ("argmin",),
    "floor": ("ceil",),
    "ceil": ("floor",),
}
SIDES = {'"left"': ('"right"',), '"right"': ('"left"',)}
TRUTHS = {"True": ("False",), "False": ("True",)}

# Larger constants are thresholds and sizes of pieces, which one more or less rarely changes.
LARGEST_CONSTANT = 10

# Types are mypy's business, and what a decorator says is mostly how to compile.
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "decorator_list", "type_params"})


@dataclass(frozen=True, order=True)
class Site:
    """A place of a source, as character offsets, and what may stand there instead."""

    start: int
    end: int
    instead: tuple[str, ...]


def plant(source: str, site: Site, instead: str) -> str:
    """The source with another text at the site."""
    return source[: site.start] + instead + source[site.end :]


def sites_of(source: str) -> list[Site]:
    """All places where a fault can be planted, in the order of the text."""
    tree = ast.parse(source)
    return sorted(_Text(source).sites(tree))


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int


class _Text:
    """A source and its tokens, found by offset."""

    def __init__(self, source: str):
        lines = source.splitlines(keepends=True)
        self.encoded = [line.encode() for line in lines]
        self.line_start = [0, *itertools.accumulate(len(line) for line in lines)]
        self.tokens = [
            _Token(
                token.string,
                self.line_start[token.start[0] - 1] + token.start[1],
                self.line_start[token.end[0] - 1] + token.end[1],
            )
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type
            not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
        ]
        self.token_starts = [token.start for token in self.tokens]

    def offset(self, line: int, column: int) -> int:
        """A character's offset; columns of a syntax tree count bytes."""
        return self.line_start[line - 1] + len(self.encoded[line - 1][:column].decode())

    def start(self, node: ast.expr) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def between(self, start: int, end: int) -> list[_Token]:
        first = bisect.bisect_left(self.token_starts, start)
        last = bisect.bisect_left(self.token_starts, end)
        return self.tokens[first:last]

    def sites(self, node: ast.AST) -> Iterator[Site]:
        """The sites of a node and of all below it."""
        if isinstance(node, ast.JoinedStr):  # what is reported to people; and Python 3.11 does not know where its parts stand
            return
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: it asserts, and changes nothing that is right
            return
        yield from self.own_sites(node)
        for name, value in ast.iter_fields(node):
            if name in _SKIPPED_FIELDS:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self.sites(child)

    def own_sites(self, node: ast.AST) -> Iterator[Site]:
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for left, right in itertools.pairwise(operands):
                    yield from self.operator(left, right, COMPARISONS)
            case ast.BinOp():
                yield from self.operator(node.left, node.right, ARITHMETIC)
            case ast.BoolOp():
                for left, right in itertools.pairwise(node.values):
                    yield from self.operator(left, right, CONNECTIVES)
            case ast.AugAssign():
                swaps = {f"{old}=": tuple(f"{new}=" for new in instead) for old, instead in ARITHMETIC.items()}
                yield from self.operator(node.target, node.value, swaps)
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                start = self.start(node)
                yield Site(start, self.between(start, self.end(node))[1].start, ("",))
            case ast.Call(func=ast.Name() | ast.Attribute()):
                yield from self.word(self.end(node.func), CALLS)
            case ast.Constant(value=bool()):
                yield from self.word(self.end(node), TRUTHS)
            case ast.Constant(value="left" | "right"):
                yield from self.word(self.end(node), SIDES)
            case ast.Constant(value=int(value)) if 0 <= value <= LARGEST_CONSTANT:
                instead = (str(value + 1), str(value - 1)) if value else ("1",)
                yield Site(self.start(node), self.end(node), instead)
            case _:
                pass

    def operator(self, left: ast.expr, right: ast.expr, swaps: Mapping[str, tuple[str, ...]]) -> Iterator[Site]:
        """The operator between two operands; only parentheses can stand beside it."""
        tokens = [token for token in self.between(self.end(left), self.start(right)) if token.text not in "()"]
        instead = swaps.get(" ".join(token.text for token in tokens), ())
        if instead:
            yield Site(tokens[0].start, tokens[-1].end, instead)

    def word(self, end: int, swaps: Mapping[str, tuple[str, ...]]) -> Iterator[Site]:
        """The last token before an offset."""
        token = self.tokens[bisect.bisect_left(self.token_starts, end) - 1]
        if token.text in swaps:
            yield Site(token.start, token.end, swaps[token.text])
