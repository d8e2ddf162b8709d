"""The numbers that sums over cells are made of: logarithms in float64, or decimals with as many digits as cancellation needs.

Skolem predicates weigh −1, so their sums cancel: a hard EXIST over a rare relation loses more digits than a float has. There the
same sums run over decimals; arrays of them are numpy arrays of objects, which add and multiply element by element.
"""

from __future__ import annotations

import decimal
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.system.arrays import Bool, Int64

Values = npt.NDArray[Any]  # of float64 logarithms, or of decimals
Scalar = Any
Whole = npt.NDArray[Any]  # of int64, or of Python's integers where they may be larger

SAME = 16 * float(np.finfo(np.float64).eps)  # relative: sums of the same numbers in another order differ by less
GUARD_DIGITS = 10  # decimals that agree but for so many digits are the same number


class Numbers(ABC):
    """Arithmetic with the values of one kind."""

    @abstractmethod
    def exponent(self, weight: float) -> Scalar:
        """A weight of the model, as a number that exponents are added up from."""

    @abstractmethod
    def no_exponents(self, shape: tuple[int, ...]) -> Values:
        """Exponents to add weights to."""

    @abstractmethod
    def exp(self, exponents: Values, impossible: Bool, minus: Bool | None = None) -> Values:
        """Values of exponents; 0 where impossible, negated where `minus`."""

    @abstractmethod
    def zeros(self, shape: tuple[int, ...]) -> Values:
        """As many zeros."""

    @abstractmethod
    def ones(self, shape: tuple[int, ...]) -> Values:
        """As many ones."""

    @abstractmethod
    def factorials(self, most: int) -> Values:
        """K! for k = 0, …, most."""

    @abstractmethod
    def over(self, one: Values, other: Values) -> Values:
        """One / other, element by element; 0 where one is 0."""

    @abstractmethod
    def times(self, one: Values, other: Values) -> Values:
        """Element by element."""

    @abstractmethod
    def plus(self, one: Values, other: Values) -> Values:
        """Element by element."""

    @abstractmethod
    def power(self, base: Scalar, exponents: Whole) -> Values:
        """One number to many whole powers; 0 to the power of 0 is 1."""

    @abstractmethod
    def powers(self, bases: Values, exponents: Int64) -> Values:
        """Each number to a whole power of its own; 0 to the power of 0 is 1."""

    @abstractmethod
    def total(self, values: Values, axis: int | None = None) -> Any:
        """The sum, along an axis or of all."""

    @abstractmethod
    def share(self, part: Values, whole: Scalar) -> npt.NDArray[np.float64]:
        """Part / whole, as floats."""

    @abstractmethod
    def log(self, value: Scalar) -> float:
        """Natural logarithm of one value; -inf for 0, NaN for what is negative."""

    @abstractmethod
    def is_zero(self, values: Values) -> Bool:
        """Which of them are 0."""

    @abstractmethod
    def names(self, values: Values, size: float) -> Int64:
        """Equal names for numbers that are equal but for rounding; 1 has the name 0, and 0 the name -1.

        size: of the logarithms that went into them, since rounding is relative to that.
        """

    @abstractmethod
    def size(self, value: Scalar) -> Scalar:
        """The value without its sign."""

    @abstractmethod
    def unit(self, values: Values) -> Scalar:
        """One of the values, not 0, that the others can be divided by; 1 where all are 0."""

    @contextmanager
    def active(self) -> Iterator[None]:
        """Whatever has to be set while sums run."""
        yield


class Logarithms(Numbers):
    """Values that are never negative, as float64 logarithms, times a scale: another scale rounds everything another way."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def exponent(self, weight: float) -> Scalar:
        """As it is, but for the scale."""
        return self.scale * weight

    def no_exponents(self, shape: tuple[int, ...]) -> Values:
        """Zeros."""
        return np.zeros(shape)

    def exp(self, exponents: Values, impossible: Bool, minus: Bool | None = None) -> Values:
        """The exponents themselves; a sign is left out, so that sums bound the size of what cancels."""
        return np.where(impossible, -np.inf, exponents)

    def zeros(self, shape: tuple[int, ...]) -> Values:
        """Logarithms of 0."""
        return np.full(shape, -np.inf)

    def ones(self, shape: tuple[int, ...]) -> Values:
        """Logarithms of 1."""
        return np.zeros(shape)

    def factorials(self, most: int) -> Values:
        """By the logarithm of the gamma function."""
        return np.array([self.scale * math.lgamma(number + 1) for number in range(most + 1)])

    def over(self, one: Values, other: Values) -> Values:
        """Differences of logarithms."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(one), -np.inf, np.subtract(one, other))

    def times(self, one: Values, other: Values) -> Values:
        """Sums of logarithms."""
        return np.add(one, other)

    def plus(self, one: Values, other: Values) -> Values:
        """Through the larger one."""
        if self.scale == 1.0:
            return np.logaddexp(one, other)
        return self.scale * np.logaddexp(np.divide(one, self.scale), np.divide(other, self.scale))

    def power(self, base: Scalar, exponents: Whole) -> Values:
        """Multiples of the logarithm."""
        if base == -math.inf:
            return np.where(exponents == 0, 0.0, -np.inf)
        return np.asarray(exponents, np.float64) * float(base)

    def powers(self, bases: Values, exponents: Int64) -> Values:
        """Multiples of the logarithms."""
        with np.errstate(invalid="ignore"):
            return np.where(exponents == 0, 0.0, exponents * bases)

    def total(self, values: Values, axis: int | None = None) -> Any:
        """Through the largest one."""
        if not values.size:
            return -math.inf if axis is None else np.full(np.delete(values.shape, axis), -np.inf)
        top = np.max(values, axis=axis, keepdims=True)
        base = np.where(np.isneginf(top), 0.0, top)
        with np.errstate(divide="ignore"):
            found = self.scale * np.log(np.sum(np.exp((values - base) / self.scale), axis=axis, keepdims=True)) + base
        return float(found.item()) if axis is None else np.squeeze(found, axis=axis)

    def share(self, part: Values, whole: Scalar) -> npt.NDArray[np.float64]:
        """Exponentials of differences."""
        return np.asarray(np.exp((np.asarray(part, np.float64) - whole) / self.scale), np.float64)

    def log(self, value: Scalar) -> float:
        """Without the scale."""
        return float(value) / self.scale

    def is_zero(self, values: Values) -> Bool:
        """By infinity."""
        return np.isneginf(values)

    def names(self, values: Values, size: float) -> Int64:
        """Neighbours in order that differ by a few units in the last place are the same."""
        named = np.full(values.shape, -1, np.int64)
        finite = np.isfinite(values)
        distinct, inverse = np.unique(np.append(values[finite], 0.0), return_inverse=True)
        name = np.cumsum(np.diff(distinct, prepend=distinct[:1]) > SAME * max(1.0, size))[inverse]
        named[finite] = np.where(name[:-1] == name[-1], 0, name[:-1] + 1)
        return named

    def size(self, value: Scalar) -> Scalar:
        """There are no signs."""
        return value

    def unit(self, values: Values) -> Scalar:
        """The largest."""
        top = float(values.max(initial=-math.inf))
        return top if top > -math.inf else 0.0


_exp = np.frompyfunc(lambda x: x.exp(), 1, 1)
_power = np.frompyfunc(lambda base, power: base ** int(power) if power else decimal.Decimal(1), 2, 1)
_is_zero = np.frompyfunc(lambda x: not x, 1, 1)
_float = np.frompyfunc(float, 1, 1)


class Decimals(Numbers):
    """Values of either sign, as decimals of `digits` digits; sums and products inside `active` keep so many."""

    def __init__(self, digits: int) -> None:
        self.digits = digits

    @contextmanager
    def active(self) -> Iterator[None]:
        """The precision, and exponents without a practical bound."""
        with decimal.localcontext() as context:
            context.prec = self.digits
            context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
            context.traps[decimal.Inexact] = False
            yield

    def exponent(self, weight: float) -> Scalar:
        """Exactly the float that the model holds."""
        return decimal.Decimal(weight)

    def no_exponents(self, shape: tuple[int, ...]) -> Values:
        """Zeros."""
        return self.zeros(shape)

    def exp(self, exponents: Values, impossible: Bool, minus: Bool | None = None) -> Values:
        """One by one."""
        found = _exp(exponents) if exponents.size else exponents.copy()
        found = np.where(impossible, self.zeros(()), found)
        return found if minus is None else np.where(minus, -found, found)

    def zeros(self, shape: tuple[int, ...]) -> Values:
        """Decimal zeros."""
        return np.full(shape, decimal.Decimal(0), object)

    def ones(self, shape: tuple[int, ...]) -> Values:
        """Decimal ones."""
        return np.full(shape, decimal.Decimal(1), object)

    def factorials(self, most: int) -> Values:
        """One after the other."""
        made = self.ones((most + 1,))
        for number in range(1, most + 1):
            made[number] = made[number - 1] * number
        return made

    def over(self, one: Values, other: Values) -> Values:
        """One by one."""
        none = self.is_zero(one)
        return np.where(none, self.zeros(()), one / np.where(none, self.ones(()), other))

    def times(self, one: Values, other: Values) -> Values:
        """One by one."""
        return np.multiply(one, other)

    def plus(self, one: Values, other: Values) -> Values:
        """One by one."""
        return np.add(one, other)

    def power(self, base: Scalar, exponents: Whole) -> Values:
        """Each power that occurs once."""
        distinct, inverse = np.unique(exponents, return_inverse=True)
        powers = np.empty(len(distinct), object)
        powers[:] = [base ** int(power) if power else decimal.Decimal(1) for power in distinct]
        return powers[inverse.reshape(exponents.shape)]

    def powers(self, bases: Values, exponents: Int64) -> Values:
        """One by one."""
        return np.asarray(_power(bases, exponents), object)

    def total(self, values: Values, axis: int | None = None) -> Any:
        """One by one."""
        if axis is None:
            return sum(values.ravel().tolist(), decimal.Decimal(0))
        return np.add.reduce(values, axis=axis, initial=decimal.Decimal(0))

    def share(self, part: Values, whole: Scalar) -> npt.NDArray[np.float64]:
        """Rounded at the very end."""
        return np.asarray(_float(np.asarray(part, object) / whole), np.float64)

    def log(self, value: Scalar) -> float:
        """By the decimal's own logarithm."""
        if value < 0:
            return math.nan
        return float(value.ln()) if value else -math.inf

    def is_zero(self, values: Values) -> Bool:
        """By comparison."""
        return np.asarray(_is_zero(values), np.bool_)

    def names(self, values: Values, size: float) -> Int64:
        """What agrees in all digits but the last ones is the same."""
        coarse = decimal.Context(prec=self.digits - GUARD_DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
        known: dict[decimal.Decimal, int] = {decimal.Decimal(0): -1, decimal.Decimal(1): 0}
        named = [known.setdefault(coarse.plus(value), len(known)) for value in values.ravel().tolist()]
        return np.array(named, np.int64).reshape(values.shape)

    def size(self, value: Scalar) -> Scalar:
        """By comparison with 0."""
        return abs(value)

    def unit(self, values: Values) -> Scalar:
        """The first that is not 0."""
        return next((value for value in values.tolist() if value), decimal.Decimal(1))
