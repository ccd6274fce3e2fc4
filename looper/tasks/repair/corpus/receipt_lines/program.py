def receipt(items, width):
    """Lines of a receipt for [name, cents] pairs, each `width` characters long: name, dots, price.

    At least one dot parts name and price. A name that is too long for that is cut and ends in `~`, which then stands
    before the one dot.
    """
    lines = []
    for name, cents in items:
        price = f"{cents // 100}.{cents % 100:02d}"
        room = width - len(price) - 2
        if len(name) > room:
            name = name[: room - 1] + "~"
        dots = "." * (width - len(name) - len(price))
        lines.append(name + dots + price)
    return lines
