"""How kernels are compiled: without what they do not need, which takes half of the time to compile, and much of a sweep.

Arrays belong to whoever calls a kernel, so kernels count no references to them (`_nrt`): Numba would do so atomically, for every
array that is handed to a function, in the innermost loops. A kernel that makes arrays of its own, or calls a function of Numba
that does, such as sort, has to be `allocating`. The others must not give arrays back.
"""

import types

import numba

_INTERNAL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # no calls from Python, none from C

internal = numba.njit(nogil=True, cache=True, _nrt=False, **_INTERNAL)  # for what only kernels call
# For what is called once an atom from one place with many arrays: a call passes seven words for each of them.
inlined = numba.njit(nogil=True, cache=True, _nrt=False, forceinline=True, **_INTERNAL)
called = numba.njit(nogil=True, cache=True, _nrt=False, no_cfunc_wrapper=True)  # for what Python calls
allocating_internal = numba.njit(nogil=True, cache=True, _nrt=True, **_INTERNAL)
allocating = numba.njit(nogil=True, cache=True, _nrt=True, no_cfunc_wrapper=True)


def again(kernel, name):
    """A kernel that Python calls once more, under another name, to be compiled for other types of arguments.

    What is compiled then lies in a file of that name, by which `kernels.are_cold` can tell the two apart.
    """
    source = kernel.py_func
    copy = types.FunctionType(source.__code__, source.__globals__, name)
    copy.__module__, copy.__qualname__ = source.__module__, name
    return called(copy)
