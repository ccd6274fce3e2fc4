def tally(ballots, places):
    """Result of ranked ballots as [name, points] pairs, most points first, names in order among equals.

    The first name of a ballot gets `places` points, the second one point fewer, and so on; names beyond `places` get
    nothing and do not appear unless another ballot names them in time. A name repeated on a ballot counts once.
    """
    points = {}
    for ballot in ballots:
        counted = []
        for place, name in enumerate(ballot[:places]):
            if name in counted:
                continue
            counted.append(name)
            points[name] = points.get(name, 1) + places - place
    return [[name, points[name]] for name in sorted(points, key=lambda name: (-points[name], name))]
