"""Exact inference by eliminating the variables of every component."""

from markovlogic.guarantee import Guarantee
from markovlogic.methods.exact_method import ExactMethod
from markovlogic.networks.base import NetworkKind

METHOD = ExactMethod(
    name="eliminate",
    summary="variable elimination, up to treewidth 20",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    listed=False,
    algorithm="eliminate",
)
