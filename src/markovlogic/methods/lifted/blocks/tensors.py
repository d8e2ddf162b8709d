"""Arrays whose axes have numbers: programs are compiled before sizes and chains are known, so axes are named, not placed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CHAIN = 0  # the axis of chains; every other one is larger, and inner ones are larger than outer ones


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array that is constant along all axes but these, which are in increasing order."""

    axes: tuple[int, ...]
    array: Array

    def along(self, axes: tuple[int, ...]) -> Array:
        """The array with an axis for each of these (all of its own among them), of length one where it is constant."""
        shape = dict(zip(self.axes, self.array.shape, strict=True))
        return self.array.reshape([shape.get(axis, 1) for axis in axes])


def joint_axes(*tensors: Tensor) -> tuple[int, ...]:
    """The axes along which any of them varies."""
    return tuple(sorted({axis for tensor in tensors for axis in tensor.axes}))


def product(*tensors: Tensor) -> Tensor:
    """All of them multiplied."""
    axes = joint_axes(*tensors)
    result = tensors[0].along(axes)
    for tensor in tensors[1:]:
        result = result * tensor.along(axes)
    return Tensor(axes, result)


def total(*tensors: Tensor) -> Tensor:
    """All of them added; nothing is zero."""
    if not tensors:
        return Tensor((), np.zeros(()))
    axes = joint_axes(*tensors)
    result = tensors[0].along(axes)
    for tensor in tensors[1:]:
        result = result + tensor.along(axes)
    return Tensor(axes, result)


def sum_over(tensor: Tensor, axes: tuple[int, ...], sizes: Mapping[int, int]) -> Tensor:
    """The sum along some axes, those included along which it is constant."""
    own = tuple(i for i, axis in enumerate(tensor.axes) if axis in axes)
    times = prod(sizes[axis] for axis in axes if axis not in tensor.axes)
    kept = tuple(axis for axis in tensor.axes if axis not in axes)
    array = tensor.array.sum(axis=own) if own else tensor.array
    return Tensor(kept, array if times == 1 else array * times)


def contracted(one: Tensor, other: Tensor, axes: tuple[int, ...], sizes: Mapping[int, int]) -> Tensor:
    """The sum of their product along some axes: a matrix product where no other axis is common to both."""
    times = prod(sizes[axis] for axis in axes if axis not in one.axes and axis not in other.axes)
    both = tuple(axis for axis in axes if axis in one.axes and axis in other.axes)
    one = sum_over(one, tuple(axis for axis in axes if axis in one.axes and axis not in both), sizes)
    other = sum_over(other, tuple(axis for axis in axes if axis in other.axes and axis not in both), sizes)
    kept = tuple(axis for axis in joint_axes(one, other) if axis not in both)
    array = summed_product((one.array, other.array), (list(one.axes), list(other.axes)), list(kept))
    return Tensor(kept, array if times == 1 else array * times)


def summed_product(arrays: Sequence[Array], places: Sequence[list[int]], kept: list[int]) -> Array:
    """The product of several arrays whose axes have numbers, summed along all axes but some."""
    operands: list[Any] = [item for pair in zip(arrays, places, strict=True) for item in pair]
    made: Array = np.einsum(*operands, kept, optimize="greedy" if len(arrays) > 1 else False)
    return made


class Operand(NamedTuple):
    """An array with a variable for each axis, after that of chains where it has one."""

    array: Array
    variables: Sequence[str]
    has_chains: bool = False


def coefficient_of(weight: float, operands: Sequence[Operand], axis_of: Mapping[str, int]) -> Tensor:
    """The weight times the operands' product, summed over all variables but those that have an axis."""
    if not operands:
        return Tensor((), np.full((), weight))
    number = {name: i + 1 for i, name in enumerate(dict.fromkeys(v for operand in operands for v in operand.variables))}
    kept = sorted((axis, number[name]) for name, axis in axis_of.items() if name in number)
    chains = [CHAIN] if any(operand.has_chains for operand in operands) else []
    places = [[CHAIN] * operand.has_chains + [number[name] for name in operand.variables] for operand in operands]
    array = summed_product([operand.array for operand in operands], places, chains + [place for _, place in kept])
    return Tensor((*chains, *(axis for axis, _ in kept)), array * weight)


def chosen(tensor: Tensor, drawn: Mapping[int, Tensor]) -> Tensor:
    """The tensor at drawn places of some axes; each place is itself a tensor of whole numbers, along outer axes."""
    for axis in reversed(tensor.axes):  # places of an inner axis depend on constants and chains alone
        place = drawn.get(axis)
        if place is None:
            continue
        axes = tuple(sorted({*tensor.axes, *place.axes}))
        array, index = tensor.along(axes), place.along(axes).astype(np.int64)
        at = axes.index(axis)
        shape = np.broadcast_shapes((*array.shape[:at], 1, *array.shape[at + 1 :]), index.shape)
        array = np.broadcast_to(array, (*shape[:at], array.shape[at], *shape[at + 1 :]))
        picked = np.take_along_axis(array, np.broadcast_to(index, shape), axis=at)
        tensor = Tensor(tuple(a for a in axes if a != axis), picked.squeeze(at))
    return tensor
