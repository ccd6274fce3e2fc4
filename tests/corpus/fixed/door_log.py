def people_inside(log, guests):
    """People still inside after a door log, in the order of their last entry, and the number of odd entries.

    Log entries are [name, "in"] or [name, "out"]. Coming in while inside, going out while outside and any entry by
    somebody who is not in `guests` are odd; odd entries change nothing else.
    """
    inside = []
    odd = 0
    for name, way in log:
        if name not in guests or (way == "in") == (name in inside):
            odd += 1
        elif way == "in":
            inside.append(name)
        else:
            inside.remove(name)
    return [inside, odd]
