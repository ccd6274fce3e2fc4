def pages(items, size):
    """Pages of a catalogue: each is [heading, items on the page], with up to `size` items.

    The heading names the first and the last item, like `apple - fig`; a page of one item has that item as heading.
    """
    result = []
    start = 0
    while start < len(items):
        stop = start + size
        page = items[start:size]
        heading = page[0]
        if len(page) > 1:
            heading = page[0] + " - " + page[-1]
        result.append([heading, page])
        start = stop
    return result
