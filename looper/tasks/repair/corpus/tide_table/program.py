def high_waters(levels, threshold):
    """Positions of the high waters in a series of water levels.

    A high water lies above `threshold`, is higher than the level before it and not lower than the level after it.
    The first and the last level are never high waters.
    """
    found = []
    for i in range(1, len(levels) - 1):
        rising = levels[i] > levels[i - 1]
        falling = levels[i] >= levels[i + 1]
        turning = rising or falling
        if turning and levels[i] > threshold:
            found.append(i)
    return found
