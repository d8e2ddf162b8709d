"""Exact inference by listing all worlds of every component."""

from markovlogic.guarantee import Guarantee
from markovlogic.methods.exact_method import ExactMethod
from markovlogic.networks.base import NetworkKind

METHOD = ExactMethod(
    name="enumerate",
    summary="adds up all worlds of each component, up to 2^25",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    listed=False,
    algorithm="enumerate",
)
