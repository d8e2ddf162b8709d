"""Lifted blocked Gibbs [001]: predicates in clusters, each drawn whole given the others, by programs over constants.

terms       clauses as sums of products of falsities, without equalities
tensors     arrays with numbered axes
program     the schematic run of theorem proving on a cluster, compiled once: which rule, on which variable, in which order
tensor_code clusters as code for one kernel: messages, node terms upwards, draws and expectations downwards
messages    what a cluster receives from the rest of the world: sums over unshared variables
remainder   what no lifted rule takes apart: ground, and eliminated where its treewidth is small
units       what is drawn at once: a cluster
rows        how a predicate that theorem proving cannot draw whole is divided
held        predicates of which terms do not show all: groups, quantifiers, hard rules
counted     what draws both: atoms, groups or blocks in turn, by the kernels of the counting network
clusters    the greedy construction of the cluster graph, with its time, space and coupling functions
"""
