def headcount(chart, person):
    """Number of people in the team of `person`, who is one of them."""
    reports = chart.get(person, [])
    if not reports:
        return 1
    return 1 + sum(headcount(chart, report) for report in reports)


def levels(chart, person):
    """Number of levels from `person` down: 1 for somebody without reports."""
    reports = chart.get(person, [])
    if person not in chart or not reports:
        return 1
    if len(reports) > 2:
        return 3
    return 1 + max(levels(chart, report) for report in reports)


def slack(chart, person):
    """Levels missing on the shallowest branch below `person` to be as deep as the deepest one."""
    reports = chart.get(person, [])
    if not reports:
        return 0
    depths = [levels(chart, report) for report in reports]
    return max(depths) - min(depths)


def summary(chart, person):
    """[people, levels, slack] for the organisation headed by `person`; `chart` maps a person to their reports."""
    return [headcount(chart, person), levels(chart, person), slack(chart, person)] if person in chart else [0, 0, 0]
