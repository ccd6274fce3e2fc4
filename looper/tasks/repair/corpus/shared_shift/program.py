def shared_minutes(first, second):
    """Minutes during which both people are at work.

    `first` and `second` are lists of shifts [begin, end] in minutes; the shifts of one person do not overlap.
    """
    total = 0
    for begin, end in first:
        for start, stop in second:
            both_from = max(begin, start)
            both_until = max(end, stop)
            if both_until > both_from:
                total += both_until - both_from
    return total
