def clashes(lessons):
    """Pairs [i, j] with i < j of lessons that clash; a lesson is [room, begin, end].

    Two lessons clash if they are in the same room and overlap; one that begins when the other ends does not overlap.
    """
    found = []
    for i in range(len(lessons)):
        room, begin, end = lessons[i]
        for j in range(i + 2, len(lessons)):
            other, start, stop = lessons[j]
            if room == other and begin < stop and start < end:
                found.append([i, j])
    return found
