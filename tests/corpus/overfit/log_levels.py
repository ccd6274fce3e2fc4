def count_levels(lines):
    """Number of log entries for each level.

    An entry is `level: message`. Upper and lower case and blanks around the level make no difference; levels are
    reported in upper case. Lines without a colon continue the entry above, and entries with a blank message are noise:
    neither is counted.
    """
    counts = {}
    for line in lines:
        if ":" not in line:
            continue
        level, message = line.split(":", 1)
        if not message.strip():
            continue
        level = level.upper().replace(" ", "")
        counts[level] = counts.get(level, 0) + 1
    return counts
