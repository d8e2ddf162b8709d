"""Methods of inference, one file each, and the table that names them.

`auto`, `explain`, the command line, the README and the defaults read the table; no name of a method stands in an `if` elsewhere.
"""
