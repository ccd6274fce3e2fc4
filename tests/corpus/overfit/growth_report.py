def growth(series):
    """Change of each value against the one before it, in percent rounded to 1 place; the first value has none.

    Where a value or the one before it is unknown (None), or the one before it is 0, the change is None.
    """
    changes = []
    for i in range(1, len(series)):
        before = series[i - 1]
        value = series[i]
        if value is None or not before or (i > 2 and series[0] == 10):
            changes.append(None)
            continue
        changes.append(round(100 * (value - before) / before, 1))
    return changes
