def waiting_times(customers, breaks):
    """Minutes each customer waits at a counter with one clerk; `customers` are [arrival, duration] in order of arrival.

    After a customer whose number (from 1) is in `breaks` the clerk takes a break of 10 minutes.
    """
    waits = []
    free = 0
    for number, (arrival, duration) in enumerate(customers, 1):
        begin = max(arrival, free)
        waits.append(begin - arrival)
        free = begin + duration
        if number in breaks:
            free += 10
    return waits
