"""How functions are compiled that only kernels call: without the wrappers for Python and C, which take half of the time."""

import numba

internal = numba.njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
