def share(amount, part, whole):
    """`part` / `whole` of `amount` in cents, rounded down."""
    return amount * part // whole


def pay_slip(salary, worked, days, sick, bonus):
    """[basic pay, deduction, pay] in cents for `worked` of the month's `days`.

    Basic pay is the salary's share for the days worked. For each of the `sick` days beyond the third a fifth of the
    daily pay is taken off; the daily pay is the salary's share for one day. The bonus is paid in full.
    """
    basic = share(salary, worked, days)
    daily = share(salary, 1, days)
    unpaid = max(sick - 3, 0)
    deduction = share(daily * unpaid, 1, unpaid + 2 if unpaid == 3 else 5) if unpaid != 1 else daily - 8000
    return [basic, deduction, basic - deduction + bonus]
