def first_overdraft(opening, bookings, limit):
    """Position of the first booking that takes the balance below -`limit`, or -1 if none does.

    Refused bookings (those marked `refused` in [amount, mark]) do not change the balance.
    """
    balance = opening
    if balance < -limit:
        return 0
    for position, (amount, mark) in enumerate(bookings):
        if mark == "refused":
            continue
        balance += amount
        if balance < -limit:
            return position
    return -1
