def consumption(readings, digits):
    """Use between each reading and the next, and the total: [[use, ...], total].

    The meter shows `digits` digits and goes on at zero after its highest number, at most once between two readings.
    """
    span = 10**digits
    used = []
    for i in range(1, len(readings)):
        amount = readings[i] - readings[i - 1]
        if amount < 0:
            amount += span
        used.append(amount)
    return [used, sum(used)]
