"""Numba without SciPy's linear algebra: no kernel uses it, and asking whether it is there takes longer than loading the kernels.

Numba asks once, while its array functions are imported. The answer is yes, since SciPy is installed with this package; what does
use linear algebra still loads it when it is compiled.
"""

import sys


def load_array_functions() -> None:
    """Import Numba's array functions, unless they are there already, without importing `scipy.linalg`."""
    if "numba.np.arraymath" in sys.modules:
        return
    from numba.np import linalg

    ask = vars(linalg).get("ensure_blas")
    if ask is None:  # another version of Numba asks in another way
        return
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = ask
    arraymath.ensure_blas = ask
