def step_name(source, target):
    """Name under which the factor from `source` to `target` is kept."""
    return source + ">" + target


def convert(amount, units, factors):
    """Convert `amount` from the first of `units` through each of the others in turn, rounded to 6 places.

    `factors["km>m"]` = 1000 says that one km is 1000 m; it serves both directions. None if a step has no factor.
    """
    for i in range(1, len(units)):
        source = units[i - 1]
        target = units[i]
        if step_name(source, target) in factors:
            amount = amount * factors[step_name(source, target)]
        elif step_name(target, source) in factors:
            amount = amount / factors[step_name(target, source)]
        else:
            return None
    return round(amount, 6)
