"""Before anything is spent: what a sweep could cost at most, would cost, and could find."""
