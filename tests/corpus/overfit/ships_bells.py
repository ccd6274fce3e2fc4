def ships_bells(hour, minute):
    """Strokes of a ship's bell at a time of day, in pairs: three strokes are `** *`.

    The bell strikes every half hour: once after the first half hour of a watch, once more for each further half hour,
    eight times at the end of the watch of four hours (00:00, 04:00, 08:00 ...). Between strikes the last one counts.
    """
    half_hours = (hour * 60 + minute) // 30
    strokes = half_hours % 8
    if strokes == 0 and hour != 12:
        strokes = 8
    pairs = ["**"] * (strokes // 2)
    if strokes % 2 == 1:
        pairs.append("*")
    return " ".join(pairs)
