"""What the counting network refuses, with its place; and that nothing is counted then unless it was requested."""

import pyarrow as pa
import pytest

import markovlogic as mln
from markovlogic.errors import UnsupportedError

MANY = "a = {A, B, C}\nP(a)\nQ(a,a)\n1 " + " v ".join(f"P(x{i})" for i in range(13)) + "\n0.5 P(x) ^ Q(x,y)\n"
NUMBERS = "a = {A, B}\nS(a,a): real\nP(a)\n1.5 * S(x,y)  P(x)\n"


@pytest.mark.parametrize(("text", "line"), [(MANY, 4), (NUMBERS, 4)])
def test_it_is_refused_with_its_place_and_gibbs_grounds_instead(text: str, line: int) -> None:
    model = mln.Model.parse(text)
    sizes = pa.table({"one": ["A"], "other": ["B"], "value": [0.5]})
    evidence = model.evidence(S=sizes) if "real" in text else None
    with pytest.raises(UnsupportedError) as refusal:
        mln.infer(model, evidence, query="P", method="gibbs", network="counting", draws=10, progress=False)
    assert refusal.value.faults[0].place.line == line and "ground" in str(refusal.value.faults[0].hint)
    result = mln.infer(model, evidence, query="P", method="gibbs", draws=10, progress=False)
    assert result.run.network == "ground"
    (candidate,) = (
        c for c in mln.explain(model, evidence, query="P").candidates if (c.method, c.network) == ("gibbs", "counting")
    )
    assert not candidate.possible and f":{line}:" in candidate.reason
