"""Forms in which what people wrote is compared. They are never stored."""

import re

from addressbook.contact import Entry


def phone(number: str, country_code: str) -> str:
    """The number in international form: `020 7946 0018` is `+442079460018` in a book of country code 44."""
    digits = re.sub(r"[^0-9+]", "", number.replace("(0)", ""))
    if digits.startswith("00"):
        return f"+{digits[2:]}"
    if digits.startswith("0"):
        return f"+{country_code}{digits[1:]}"
    return digits


def email(address: str) -> str:
    """The address without regard to case."""
    return address.strip().casefold()


def entry_value(entry: Entry, country_code: str) -> str:
    """What two entries of the same kind have in common if they mean the same."""
    return phone(entry.value, country_code) if entry.kind == "phone" else email(entry.value)
