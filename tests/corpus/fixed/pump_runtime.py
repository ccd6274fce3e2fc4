def runtime(events, end):
    """Minutes a pump ran until `end`, and how many times it was started: [minutes, starts].

    Events are [minute, "on" or "off"] in order of time. Switching on what runs or off what rests changes nothing. The
    pump rests at first; if it runs after the last event, it runs until `end`.
    """
    total = 0
    starts = 0
    since = None
    for minute, switch in events:
        if switch == "on" and since is None:
            since = minute
            starts += 1
        elif switch == "off" and since is not None:
            total += minute - since
            since = None
    if since is not None:
        total += end - since
    return [total, starts]
