def coldest(hours, degrees):
    """Hour and temperature of the coldest reading, the latest one among equals, and the drop up to it.

    `hours` and `degrees` belong together, entry by entry, in order of time. The drop is from the first temperature to
    the lowest one. [] if there are no readings.
    """
    if not hours:
        return []
    lowest = degrees[0]
    when = hours[0]
    for hour, degree in zip(hours, degrees, strict=True):
        if degree <= lowest:
            lowest = degree
            when = hour
    return [when, lowest, degrees[0] - lowest]
