"""Atoms as text, `Pred(A,B)`: millions a second, through Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import arrow_numbers, arrow_text, arrow_texts
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import decode
from markovlogic.language.syntax import show_constant


def atom_names(predicate: str, code: npt.NDArray[np.int64], sizes: tuple[int, ...], domains: Sequence[Domain]) -> Any:
    """Text of each atom, as an Arrow string array (of 64-bit offsets where 32 would not do).

    sizes, domains: of each argument. Constants are quoted where they need to be, and there are no spaces.
    """
    import pyarrow.compute as pc

    if not sizes:
        return arrow_texts([predicate] * len(code))
    args = decode(code, sizes)
    # the predicate goes before the first argument's constants and the parenthesis behind the last one's, once each
    before = [f"{predicate}(", *[""] * (len(sizes) - 1)]
    behind = [*[""] * (len(sizes) - 1), ")"]
    texts = [
        [f"{before[position]}{show_constant(name)}{behind[position]}" for name in domain.names]
        for position, domain in enumerate(domains)
    ]
    longest = sum(1 + max((len(text.encode()) for text in column), default=0) for column in texts)
    large = longest * len(code) >= 2**31
    columns = [arrow_texts(column, large=large).take(arrow_numbers(args[:, position])) for position, column in enumerate(texts)]
    if len(columns) == 1:
        return columns[0]
    return pc.binary_join_element_wise(*columns, arrow_text(",", large=large))
