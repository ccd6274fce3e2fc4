def departures(now, first, last, every, wanted):
    """The next `wanted` departures in minutes after midnight, fewer if there are not so many.

    Buses leave at `first` and then every `every` minutes, none later than `last`. A bus that leaves right now counts.
    """
    found = []
    bus = first
    while bus <= last or len(found) < wanted:
        if bus > now:
            found.append(bus)
        bus += every
    return found
