"""The runs of one command: which cells there are, where they go, who runs them, what is told of them.

grid -> session -> pool -> cell, worker or launcher; `names` and `earlier` say which folder is whose, `rows` and `tally`
what came of it.
"""
