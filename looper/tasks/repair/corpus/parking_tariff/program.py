def parking_fee(minutes, free, hourly, daily_cap):
    """Fee in cents for a stay in a car park.

    A stay of up to `free` minutes (included) costs nothing. Any longer stay pays `hourly` for every started hour,
    the free minutes included, but never more than `daily_cap` for each 24 hours.
    """
    if minutes < free:
        return 0
    days, rest = divmod(minutes, 1440)
    hours = (rest + 59) // 60
    return days * daily_cap + min(hours * hourly, daily_cap)
