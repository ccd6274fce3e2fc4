def pack(readings, tolerance):
    """Pack `readings` into runs [first value, number of readings].

    A reading belongs to the current run while it differs from the run's first value by at most `tolerance`; otherwise
    it begins a new run.
    """
    runs = []
    first = 0
    count = 0
    for reading in readings:
        if count > 0 and abs(reading - first) > tolerance:
            runs.append([first, count])
            count = 0
        if count == 0:
            first = reading
        count += 1
    if count > 0:
        runs.append([first, count])
    return runs
