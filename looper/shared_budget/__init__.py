"""What the runs of a sweep may spend together: the ledger, and the share that each run has in it."""
