def find_seats(rows, group):
    """First place where `group` people can sit side by side in one row: [row, first seat], or [] if there is none.

    Each row is a string: `.` is a free seat, anything else is taken. Rows and seats are counted from 0.
    """
    free = 0
    for row, seats in enumerate(rows):
        for seat, mark in enumerate(seats):
            if mark == ".":
                free += 1
            else:
                free = 0
            if free == group:
                return [row, seat - group + 1]
    return []
