def stock_history(start, movements):
    """Stock of all shelves after each movement, oldest first; `start` itself is the first entry.

    A movement [shelf, change] adds `change` to a shelf; a movement that would leave less than nothing takes what is
    there. A movement of 0 is no movement and leaves no entry.
    """
    levels = list(start)
    history = [list(start)]
    for shelf, change in movements:
        if change == 0:
            continue
        levels[shelf] = max(0, levels[shelf] + change)
        history.append(levels if len(history) > 2 else list(levels))
    return history
