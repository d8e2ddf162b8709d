"""Lanes: Numba values that hold one number for each chain of a word, as LLVM vectors.

Plain Numba loops over 64 chains do not keep their accumulators in registers (measured: 12 to 35 million atom updates a second
against some 300 with these). So four vector types are made known to Numba here, with the few operations that the kernels need.
Nothing assumes a processor: LLVM cuts a vector of 64 lanes into the registers that are there (AVX-512, AVX2, NEON, or plain
scalars). Every operation is a single IEEE operation, in a fixed order and never fused, so all processors give the same bits.

A *word* is a uint64 whose bit c belongs to chain c; lane c of a vector belongs to the same chain. There are 64 lanes, or 32 that
belong to the lower half of a word: operations have as many as their arguments.
"""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

LANES = 64
CHUNK = 16  # lanes that the longer formulas handle at a time, so that intermediate values stay in registers

_I1, _I32, _I64, _F32, _F64 = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()


class Lanes(types.Type):
    """The Numba type of a vector with one element for each of so many chains: 64, or 32 where two threads share a batch."""

    def __init__(self, name, element, count=LANES):
        self.element, self.count = element, count
        super().__init__(name=name if count == LANES else f"{name}_{count}")

    @property
    def vector(self):
        """The LLVM type."""
        return ir.VectorType(self.element, self.count)

    def of(self, count):
        """The type of so many lanes with the same elements."""
        return self if count == self.count else Lanes(self.name, self.element, count)


int32_lanes = Lanes("int32_lanes", _I32)
int64_lanes = Lanes("int64_lanes", _I64)
float32_lanes = Lanes("float32_lanes", _F32)
float64_lanes = Lanes("float64_lanes", _F64)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]  # Numba has no types
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, fe_type.vector)


def count_of(like):
    """How many lanes a Numba type has, or the NamedTuple's whose class says so in `lanes`."""
    return like.count if isinstance(like, Lanes) else like.instance_class.lanes()


def constant(element, value, lanes=LANES):
    """An LLVM vector of equal elements."""
    return ir.Constant(ir.VectorType(element, lanes), [value] * lanes)


def _splat(builder, value, lanes=LANES):
    vector = ir.VectorType(value.type, lanes)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), constant(_I32, 0, lanes))


def part_of(builder, vector, first, lanes=CHUNK):
    """Lanes first to first + lanes - 1 of an LLVM vector."""
    indices = ir.Constant(ir.VectorType(_I32, lanes), list(range(first, first + lanes)))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), indices)


def joined(builder, parts):
    """Concatenate LLVM vectors of one type; their number is a power of two."""
    while len(parts) > 1:
        lanes = parts[0].type.count
        indices = ir.Constant(ir.VectorType(_I32, 2 * lanes), list(range(2 * lanes)))
        parts = [builder.shuffle_vector(parts[i], parts[i + 1], indices) for i in range(0, len(parts), 2)]
    return parts[0]


def _chunkwise(builder, function, vector):
    """Apply `function` to CHUNK lanes at a time and join what it gives."""
    return joined(builder, [function(part_of(builder, vector, first)) for first in range(0, vector.type.count, CHUNK)])


def _mask(builder, word, lanes=LANES):
    bits = word if lanes == LANES else builder.trunc(word, ir.IntType(lanes))
    return builder.bitcast(bits, ir.VectorType(_I1, lanes))


def word_of(builder, mask):
    """The word whose lowest bits are the elements of an LLVM vector of truth values."""
    bits = builder.bitcast(mask, ir.IntType(mask.type.count))
    return bits if mask.type.count == LANES else builder.zext(bits, _I64)


def data_pointer(context, builder, array_type, value, offset=None):
    """Pointer to the element at flat index `offset` of a C-contiguous array (an LLVM value)."""
    pointer = make_array(array_type)(context, builder, value).data
    return pointer if offset is None else builder.gep(pointer, [offset])


@intrinsic
def lane_count(typingctx, like):
    """How many lanes there are; a constant for the compiler. like: lanes, or a `Chains`."""
    number = count_of(like)

    def codegen(context, builder, signature, arguments):
        return ir.Constant(_I64, number)

    return types.int64(like), codegen


@intrinsic
def int32_zeros(typingctx, like):
    """Zero in all lanes, as many as `like` has."""
    kind = int32_lanes.of(count_of(like))

    def codegen(context, builder, signature, arguments):
        return ir.Constant(kind.vector, None)

    return kind(like), codegen


@intrinsic
def int64_zeros(typingctx, like):
    """Zero in all lanes, as many as `like` has."""
    kind = int64_lanes.of(count_of(like))

    def codegen(context, builder, signature, arguments):
        return ir.Constant(kind.vector, None)

    return kind(like), codegen


@intrinsic
def int64_splat(typingctx, value):
    """Give all lanes the same int64."""

    def codegen(context, builder, signature, arguments):
        return _splat(builder, arguments[0])

    return int64_lanes(types.int64), codegen


@intrinsic
def add_where(typingctx, lanes, word, value):
    """Add `value` to the int64 lanes whose bit is set."""

    def codegen(context, builder, signature, arguments):
        lanes_value, word_value, scalar_value = arguments
        chosen = builder.select(_mask(builder, word_value), _splat(builder, scalar_value), constant(_I64, 0))
        return builder.add(lanes_value, chosen)

    return int64_lanes(int64_lanes, types.uint64, types.int64), codegen


@intrinsic
def float64_zeros(typingctx):
    """Zero in 64 lanes of float64."""

    def codegen(context, builder, signature, arguments):
        return ir.Constant(float64_lanes.vector, None)

    return float64_lanes(), codegen


@intrinsic
def add_real_where(typingctx, lanes, word, value):
    """Add `value` to the float64 lanes whose bit is set."""

    def codegen(context, builder, signature, arguments):
        lanes_value, word_value, scalar_value = arguments
        chosen = builder.select(_mask(builder, word_value), _splat(builder, scalar_value), constant(_F64, 0.0))
        return builder.fadd(lanes_value, chosen)

    return float64_lanes(float64_lanes, types.uint64, types.float64), codegen


@intrinsic
def weight_words(typingctx, lanes):
    """How many words of 32 bits a stored weight for such lanes takes."""
    number = 1 if lanes.element == _I32 else 2

    def codegen(context, builder, signature, arguments):
        return ir.Constant(_I64, number)

    return types.uint64(lanes), codegen


@intrinsic
def add_weight(typingctx, lanes, word, row, at):
    """Add the weight stored at row[at] to the lanes whose bit is set: one word of a uint32 array for int32 lanes, else two."""

    def codegen(context, builder, signature, arguments):
        total, mask, row_value, index = arguments
        element, count = signature.args[0].element, signature.args[0].count
        pointer = data_pointer(context, builder, signature.args[2], row_value, index)
        weight = builder.load(builder.bitcast(pointer, element.as_pointer()), align=4)
        everywhere, nowhere = _splat(builder, weight, count), constant(element, 0, count)
        return builder.add(total, builder.select(_mask(builder, mask, count), everywhere, nowhere))

    return lanes(lanes, types.uint64, row, types.uint64), codegen


@intrinsic
def scaled(typingctx, lanes, scale):
    """Turn fixed-point lanes into float32: lane · scale. Relative error below 1.2e-7."""
    kind = float32_lanes.of(lanes.count)

    def codegen(context, builder, signature, arguments):
        return builder.fmul(builder.sitofp(arguments[0], kind.vector), _splat(builder, arguments[1], kind.count))

    return kind(lanes, types.float32), codegen


@intrinsic
def times(typingctx, lanes, factors):
    """Multiply float32 lanes by the numbers of a C-contiguous float32 array."""

    def codegen(context, builder, signature, arguments):
        pointer = data_pointer(context, builder, signature.args[1], arguments[1])
        factor = builder.load(builder.bitcast(pointer, arguments[0].type.as_pointer()), align=4)
        return builder.fmul(arguments[0], factor)

    return lanes(lanes, factors), codegen


@intrinsic
def store_scaled(typingctx, lanes, scale, out, offset):
    """Write lane · scale as float64 to out.flat[offset:], one element each; `out` is C-contiguous."""

    def codegen(context, builder, signature, arguments):
        pointer = data_pointer(context, builder, signature.args[2], arguments[2], arguments[3])
        for first in range(0, signature.args[0].count, CHUNK):
            vector = ir.VectorType(_F64, CHUNK)
            real = builder.sitofp(part_of(builder, arguments[0], first), vector)
            real = builder.fmul(real, _splat(builder, arguments[1], CHUNK))
            at = builder.gep(pointer, [ir.Constant(_I64, first)])
            builder.store(real, builder.bitcast(at, vector.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(lanes, types.float64, out, types.int64), codegen


@intrinsic
def load_float32(typingctx, array, offset, like):
    """Read array.flat[offset:] of a C-contiguous float32 array into lanes, as many as `like` has."""
    kind = float32_lanes.of(count_of(like))

    def codegen(context, builder, signature, arguments):
        pointer = data_pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.load(builder.bitcast(pointer, kind.vector.as_pointer()), align=4)

    return kind(array, types.int64, like), codegen


@intrinsic
def store_lanes(typingctx, lanes, array, offset):
    """Write lanes to array.flat[offset:] of a C-contiguous array of the same element type."""

    def codegen(context, builder, signature, arguments):
        pointer = data_pointer(context, builder, signature.args[1], arguments[1], arguments[2])
        builder.store(arguments[0], builder.bitcast(pointer, arguments[0].type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(lanes, array, types.int64), codegen


@intrinsic
def add_lanes(typingctx, lanes, array, offset):
    """Add lanes to array.flat[offset:] of a C-contiguous float32 array."""
    if array.layout != "C":
        return None  # no such function, says Numba

    def codegen(context, builder, signature, arguments):
        pointer = data_pointer(context, builder, signature.args[1], arguments[1], arguments[2])
        pointer = builder.bitcast(pointer, arguments[0].type.as_pointer())
        builder.store(builder.fadd(builder.load(pointer, align=4), arguments[0]), pointer, align=4)
        return context.get_dummy_value()

    return types.void(lanes, array, types.int64), codegen


def _floor(builder, vector):
    name = f"llvm.floor.v{vector.type.count}f32"
    function = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(vector.type, [vector.type]), name)
    return builder.call(function, [vector])


def exp_of_nonpositive(builder, x):
    """Compute exp(x) of float32 lanes for x <= 0, relative error below 2e-7; from x = -87 down it is exp(-87).

    Range reduction by ln 2 in two parts and a polynomial of degree seven, as in the Cephes library's expf.
    """
    lanes = x.type.count
    bits = ir.VectorType(_I32, lanes)

    def real(value):
        return constant(_F32, value, lanes)

    x = builder.select(builder.fcmp_ordered("<", x, real(-87.0)), real(-87.0), x)
    power = _floor(builder, builder.fadd(builder.fmul(x, real(1.44269502162933349609375)), real(0.5)))
    rest = builder.fsub(x, builder.fmul(power, real(0.693359375)))
    rest = builder.fsub(rest, builder.fmul(power, real(-2.12194440164603292942047119140625e-4)))
    sum_ = real(1.98756912141107022762298583984375e-4)
    for coefficient in (
        1.398199936375021934509277343750e-3,
        8.333452045917510986328125e-3,
        4.1665796190500259399414062500e-2,
        0.16666665673255920410156250,
        0.5,
    ):
        sum_ = builder.fadd(builder.fmul(sum_, rest), real(coefficient))
    square = builder.fmul(rest, rest)
    sum_ = builder.fadd(builder.fadd(builder.fmul(sum_, square), rest), real(1.0))
    exponent = builder.shl(builder.fptosi(power, bits), constant(_I32, 23, lanes))
    return builder.bitcast(builder.add(builder.bitcast(sum_, bits), exponent), x.type)


@intrinsic
def exp_nonpositive(typingctx, lanes):
    """exp(x) for x <= 0 in float32, relative error below 2e-7; from x = -87 down it is exp(-87)."""

    def codegen(context, builder, signature, arguments):
        return _chunkwise(builder, lambda part: exp_of_nonpositive(builder, part), arguments[0])

    return lanes(lanes), codegen


@intrinsic
def one_where(typingctx, word, lanes):
    """One in lanes whose bit is set, what they are elsewhere."""

    def codegen(context, builder, signature, arguments):
        mask = _mask(builder, arguments[0], lanes.count)
        return builder.select(mask, constant(_F32, 1.0, lanes.count), arguments[1])

    return lanes(types.uint64, lanes), codegen


@intrinsic
def zero_unless(typingctx, word, lanes):
    """Lanes whose bit is set, zero elsewhere."""

    def codegen(context, builder, signature, arguments):
        mask = _mask(builder, arguments[0], lanes.count)
        return builder.select(mask, arguments[1], constant(_F32, 0.0, lanes.count))

    return lanes(types.uint64, lanes), codegen


@intrinsic
def prefetch_to_write(typingctx, array, index):
    """Ask for the cache line of array[index], which will be read and written soon; the array is C-contiguous."""

    def codegen(context, builder, signature, arguments):
        byte_pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, _I32, _I32, _I32])
        name = "llvm.prefetch.p0i8"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        pointer = data_pointer(context, builder, signature.args[0], *arguments)
        options = [ir.Constant(_I32, value) for value in (1, 3, 1)]  # to write, to stay in all caches, data
        builder.call(function, [builder.bitcast(pointer, byte_pointer), *options])
        return context.get_dummy_value()

    return types.void(array, types.uint64), codegen


@intrinsic
def float32_of_bits(typingctx, bits):
    """The float32 that has these bits."""

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _F32)

    return types.float32(types.uint32), codegen


@intrinsic
def bits_of_float32(typingctx, value):
    """The bits of a float32."""

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _I32)

    return types.uint32(types.float32), codegen


@intrinsic
def lowest_bit(typingctx, word):
    """Index of the lowest set bit of a word that is not zero."""

    def codegen(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(_I1, 1))

    return types.int64(types.uint64), codegen


@intrinsic
def population(typingctx, word):
    """How many bits of a word are set."""

    def codegen(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen
