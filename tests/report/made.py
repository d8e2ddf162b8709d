"""Results made by hand, for tests of everything that shows them."""

import numpy as np
import pyarrow as pa

from markovlogic.data.arrow import atom_names
from markovlogic.data.evidence import Domain
from markovlogic.guarantee import Guarantee
from markovlogic.results.marginals import EVENT, Marginals, RunRecord

PEOPLE = Domain("person", ("Ann", "Bob", 'odd "one", x', "é"))
RUN = RunRecord(
    method="exact", network="ground", estimator="exact", atoms=20, clauses=3, seconds={"read": 0.1, "total": 0.5}, log_z=1.5
)
SAMPLED = RunRecord(
    method="gibbs", network="ground", estimator="sample", atoms=20, clauses=3, seconds={"total": 0.5}, chains=8, draws=100, seed=3
)


def marginals(people: Domain = PEOPLE, *, sampled: bool = False, event: str = "Smokes(Ann)^!Smokes(Bob)") -> Marginals:
    """All of Friends and one conjunction; probabilities are k/n in the order of codes."""
    n = len(people) ** 2
    code = np.arange(n, dtype=np.int64)
    written = atom_names("Friends", code, (len(people), len(people)), (people, people)).cast(pa.large_string())
    names = pa.concat_arrays([written, pa.array([event], pa.large_string())])
    order = pa.compute.sort_indices(names)
    at = order.to_numpy()
    p = np.append(code / n, 1 / 3)[at]
    nothing = np.full(n + 1, np.nan)
    return Marginals(
        atom=names.take(order),
        predicate_of=np.append(np.zeros(n, np.int32), np.int32(EVENT))[at],
        code=np.append(code, -1)[at],
        probability=p,
        stderr=np.full(n + 1, 0.01) if sampled else np.zeros(n + 1),
        rhat=np.full(n + 1, 1.001) if sampled else nothing,
        ess=np.full(n + 1, 800.0) if sampled else nothing,
        guarantee=Guarantee.EXACT,
        run=SAMPLED if sampled else RUN,
        predicates=("Friends",),
        domains=((people, people),),
    )
