"""From a problem to a ground network: plans, SQL, DuckDB, assembly; and sizes before anything runs.

`ground.ground` and `predict.predict` are what other packages call; import them from there when they are needed.
"""
