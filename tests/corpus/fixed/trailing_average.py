def trailing_averages(values, width):
    """Average of each value and the `width` - 1 values before it, rounded to 2 places.

    Near the beginning, where there are fewer values, the average is over those that exist.
    """
    averages = []
    for end in range(1, len(values) + 1):
        begin = max(0, end - width)
        window = values[begin:end]
        averages.append(round(sum(window) / len(window), 2))
    return averages
