"""`mln warm-up`: compile all kernels now, so that no later run waits for it."""

from __future__ import annotations

import time

from markovlogic.cli import options
from markovlogic.cli.telling import tell

# Between them they have every kind of site and clause, so that every kernel is asked for: short and long clauses, hard ones,
# exclusive groups, quantifiers, interchangeable constants, evidence that parts them.
MODELS = {
    "soft rules": ("p = {A, B, C, D}\nS(p)\nF(p, p)\n0.7 F(x, y) ^ S(x) => S(y)\n-0.4 S(x)\n", "S,F"),
    "everything": (
        "p = {A, B, C, D, E, G, H, I, J, K, L, M}\nk = {U, V, W}\nS(p)\nF(p, p)\nC(p, k!)\nT(p)\n1.1 EXIST y F(x, y)\n"
        "0.6 F(x, y) ^ C(x, U) => C(y, U)\n-0.8 S(x) <=> (EXIST y (F(x, y) ^ S(y)))\nT(x) => S(x).\nT(x) => C(x, V).\n0.1 S(A)\n",
        "S,F,C,T,S(A)^T(B)",
    ),
}
CHAINS = (64, 8, 1)


def warm_up(quiet: options.Quiet = False) -> int:
    """Compile everything that any method needs, once on this machine."""
    from markovlogic.cli.progress import shown_progress
    from markovlogic.inference import infer
    from markovlogic.methods.table import all_methods
    from markovlogic.model import Model

    begun = time.perf_counter()
    sampled = [method for method in all_methods() if method.samples]
    work = [(m, name, chains) for m in sampled for name in MODELS for chains in CHAINS]
    with shown_progress(quiet=quiet) as progress:
        progress.stage("compile kernels", len(work))
        for done, (method, name, chains) in enumerate(work):
            progress.advance(done, method.name)
            text, query = MODELS[name]
            infer(Model.parse(text), None, query, method=method.name, chains=chains, draws=2, burn_in=1)
    if not quiet:
        tell(f"all kernels are compiled ({time.perf_counter() - begun:.0f} s)")
    return 0
