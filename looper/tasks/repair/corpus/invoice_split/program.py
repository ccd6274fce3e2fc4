def split_amount(total, weights):
    """Split `total` cents in proportion to `weights`; the parts add up to `total`.

    Each part is rounded down. The cents left over go, one each, to the parts that lost most by rounding, the earlier
    part first among equals.
    """
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    losses = [total * weight % whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: -parts[i])
    left = total - sum(parts)
    for i in order[:left]:
        parts[i] += 1
    return parts
