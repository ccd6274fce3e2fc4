def build_roster(staff, absent, duties):
    """Names for `duties` duties, taken in turn from `staff`, and how many turns were passed over.

    People in `absent` are passed over and lose their turn. If everybody is absent there is no roster: [[], 0].
    """
    if all(name in absent for name in staff):
        return [[], 0]
    roster = []
    passed = 0
    turn = 0
    while len(roster) < duties:
        name = staff[turn % len(staff)]
        if name in absent:
            passed += 1
            continue
        roster.append(name)
        turn += 1
    return [roster, passed]
