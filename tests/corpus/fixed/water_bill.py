def water_bill(used, tiers, last_price, fixed):
    """Bill in cents for `used` cubic metres: the `fixed` charge and the price of the use, tier by tier.

    `tiers` are [upper limit, price], lowest first: use up to the first limit costs the first price, use between the
    first and the second limit the second price, and so on. Use beyond the last limit costs `last_price`.
    """
    cost = fixed
    lower = 0
    for upper, price in tiers:
        if used <= lower:
            return cost
        cost += (min(used, upper) - lower) * price
        lower = upper
    if used > lower:
        cost += (used - lower) * last_price
    return cost
