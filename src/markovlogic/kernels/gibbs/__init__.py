"""Gibbs sampling over up to 64 chains at once: bit c of every word is chain c.

**How clauses are kept.** `rows` has one row of 32-bit words for each atom: its bias, and of each of its clauses the weight and
the other literals, all that its conditional needs in the order in which it is read. A clause of k literals would cost k - 1 looks
in each of k rows, so long clauses are in no row but have a counter of their true literals (`long`), one bit plane after the
other, which a visit reads and a change of an atom brings up to date. Weights are fixed-point numbers with a scale for each atom,
of 32 bits or, in wide rows, of 64: sums are exact in any order, so it makes no difference to a draw where a clause is kept.
Atoms that hidden ones depend on, and groups of which a hard clause asks for one of several values, are `general` sites: they are
evaluated from the network's own arrays, with both values. `layout` names all of these arrays; `sampling.gibbs_layout` builds them
from a network.

**How a sweep goes.** A sweep visits sites: single atoms, whole exclusive groups, general sites; in order, or as many of them as
there are drawn at random, the same for all chains. For a single atom (`atom`) the literals of each clause are combined with word
operations, and the clause adds its weight to the lanes of the chains in which it hinges on the atom: 64 log-odds in registers
(`kernels.vectors`). Hard clauses never enter the weights: they give the words of chains in which the atom must be true or must be
false, so that no rounding and no unlucky number can break one. For a group (`values`) each value gets its log-weight that way.

**How draws are decided.** `kernels.logistic` compares 64 log-odds with 64 random numbers roughly, and exactly in float64 where
that is too near to call. The lanes' random numbers come from one generator that is moved on by the same amount at every visit,
whatever the worlds are; the further bits that one draw in two thousand million needs follow from its state, too. A second, scalar
one gives the order of a random scan.

**What is shared.** `sweep` knows every kind of site and clause. Most networks hold none but short clauses on single atoms: for
these `plain` makes the same sweeps and takes a fraction of the time to compile. Both are made of the same parts and take the same
arguments; a `Chains` says which chains a sweep has, with which random numbers and inverse temperatures. Two threads share a batch
as two halves of 32 lanes, for which the same sources are compiled once more (`sweep_half`). No lane depends on another, so they
draw what the whole draws; `sampling.gibbs` parts and joins them. A single chain has a kernel of its own (`single`), which
reads the same layout, with numbers in place of lanes. Layouts are read-only and shared by threads; what a sweep works in is a
`room` that it has to itself.
"""
