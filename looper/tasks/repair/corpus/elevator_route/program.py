def route(floor, upwards, calls):
    """Floors in the order in which a lift serves `calls`, each floor once.

    A lift at `floor` first serves all calls in its direction, nearest first, then turns round and serves the others,
    again nearest first. A call from its own floor is served first of all, whatever the direction.
    """
    waiting = set(calls)
    here = [call for call in waiting if call == floor]
    above = sorted(call for call in waiting if call > floor)
    below = sorted(call for call in waiting if call < floor)
    below.reverse()
    above.reverse()
    if upwards:
        return here + above + below
    return here + below + above
