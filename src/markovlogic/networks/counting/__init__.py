"""The counting network: nothing is grounded; relations are bit tensors, and conditionals are signed counts of joins.

What a conditional needs of a clause is how many of its groundings hinge on the atom. That number is a sum of *terms*, each the
number of ways to choose values for some variables such that a conjunction of bits holds (`terms`). `views` says how relations lie
in memory, `joins` how the variables of a term are looped over, `messages` and `programs` what a row shares; `building`
turns all of it into tables, which the kernels of `kernels.counting` interpret: a new model compiles nothing. `direct` is the slow
way, `counts` and `moves` are for those who learn weights or look for a good world.
"""
