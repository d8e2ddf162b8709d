"""How kernels are compiled: without what they do not need, which takes half of the time to compile, and much of a sweep.

Arrays belong to whoever calls a kernel, so kernels count no references to them (`_nrt`): Numba would do so atomically, for every
array that is handed to a function, in the innermost loops. A kernel that makes arrays of its own, or calls a function of Numba
that does, such as sort, has to be `allocating`. The others must not give arrays back.
"""

import numba

_INTERNAL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # no calls from Python, none from C

internal = numba.njit(nogil=True, cache=True, _nrt=False, **_INTERNAL)  # for what only kernels call
# For what is called once an atom from one place with many arrays: a call passes seven words for each of them.
inlined = numba.njit(nogil=True, cache=True, _nrt=False, forceinline=True, **_INTERNAL)
called = numba.njit(nogil=True, cache=True, _nrt=False, no_cfunc_wrapper=True)  # for what Python calls
allocating_internal = numba.njit(nogil=True, cache=True, _nrt=True, **_INTERNAL)
allocating = numba.njit(nogil=True, cache=True, _nrt=True, no_cfunc_wrapper=True)
