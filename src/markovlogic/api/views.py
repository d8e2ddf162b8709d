"""What values offer as methods and only `api` can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markovlogic.errors import InputError
from markovlogic.system.views import register

if TYPE_CHECKING:
    from markovlogic.reasons.values import Reasons
    from markovlogic.results.marginals import Marginals


@register
def why(result: Marginals, atom: str, **options: Any) -> Reasons:
    """Explain an atom of a result with the problem that it was inferred from."""
    from markovlogic.api.why import why_of

    if result.prepared is None:
        raise InputError("this result does not hold its problem", hint="use mln.why(model, evidence, atom)")
    if result.run.compression is not None:
        raise InputError("this result is of a compressed problem", hint="mln.why(model, evidence, atom) explains the model")
    name = next((name for name in result if name.replace(" ", "") == atom.replace(" ", "")), None)
    known = None if name is None else (float(result[name]), result[name].stderr)
    return why_of(result.prepared, atom, known=known, **options)
