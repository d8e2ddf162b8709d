"""The cell method: exact marginals of two-variable models, by sums over how many objects are of each kind.

The road: rules → `clauses` (small types written out, existentials Skolemised) → `factors` (of one object, a pair, counts) →
`classes` of objects by evidence → `tables` of cell and pair weights → `merging` into kinds → `lattice` sums → `solution`.
"""

from markovlogic.methods.lifted.cells.cell_plan import CellWork, plan_cells
from markovlogic.methods.lifted.cells.solution import CellSolution

__all__ = ["CellSolution", "CellWork", "plan_cells"]
