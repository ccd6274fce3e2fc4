def free_slots(bookings, opens, closes, minimum):
    """Gaps [from, until] of at least `minimum` between `opens` and `closes` that no booking touches, in order of time.

    Bookings [begin, end] come in any order, may overlap, lie inside one another or reach beyond the opening hours.
    """
    slots = []
    free_from = opens
    for begin, end in bookings:
        until = min(begin, closes)
        if until - free_from >= minimum:
            slots.append([free_from, until])
        free_from = end
    if closes - free_from >= minimum:
        slots.append([free_from, closes])
    return slots
