def table(results):
    """Table of a league: [team, points, goal difference], best team first.

    Results are [home team, away team, home goals, away goals]. A win brings 3 points, a draw 1. Equal teams are ordered
    by goal difference, then by name.
    """
    points = {}
    difference = {}
    for home, away, scored, conceded in results:
        for team, made, lost in ((home, scored, conceded), (away, conceded, scored)):
            difference[team] = difference.get(team, 0) + made - lost
            points[team] = points.get(team, 0)
            if made > lost:
                points[team] += 3
            elif made == lost:
                points[team] += 1
    order = sorted(points, key=lambda team: (-points[team], -difference[team], team))
    return [[team, points[team], difference[team]] for team in order]
