import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from markovlogic.data.arrow import atom_names
from markovlogic.data.evidence import Domain, codes, decode
from markovlogic.language.syntax import show_constant

names = st.lists(st.text('Ab1_- é"\\,(\n', max_size=3), min_size=1, max_size=4, unique=True)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(names, max_size=3), st.data())
def test_names_are_written_one_by_one(domains, data):
    typed = [Domain(f"t{number}", tuple(names)) for number, names in enumerate(domains)]
    sizes = tuple(len(domain) for domain in typed)
    total = int(np.prod(sizes, dtype=np.int64))
    code = np.array(data.draw(st.lists(st.integers(0, total - 1), max_size=6)), np.int64)
    written = atom_names("Pred", code, sizes, typed)
    expected = []
    for args in decode(code, sizes).tolist():
        shown = [show_constant(domain.names[number]) for domain, number in zip(typed, args, strict=True)]
        expected.append(f"Pred({','.join(shown)})" if shown else "Pred")
    assert written.to_pylist() == expected
    assert written.type == pa.string()
    assert codes(decode(code, sizes), sizes).tolist() == code.tolist()
