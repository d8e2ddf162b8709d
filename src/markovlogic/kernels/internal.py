"""How functions are compiled that only kernels call: without the wrappers for Python and C, which take half of the time."""

import numba

internal = numba.njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# For what is called once an atom from one place with many arrays: a call passes seven words for each of them.
inlined = numba.njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)
# For what Python calls: the wrapper for C callbacks alone is left out.
called = numba.njit(nogil=True, cache=True, no_cfunc_wrapper=True)
