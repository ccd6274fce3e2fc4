"""Figures, times and days are those of the sources; what was guessed first is not there, nothing is invented."""

import re
from pathlib import Path

NEEDED = {
    r"\b1,?284\b": "the count of lost submissions",
    r"\b312\b": "the number of accounts that lost something",
    r"\b17 November\b": "the day",
    r"\b09:42\b": "the time from which submissions were lost",
    r"\b10:27\b": "the time until which submissions were lost",
    r"\b12:05\b": "the time when forms were back",
}
TIMES = {"09:30", "09:42", "10:27", "10:40", "12:05", "12:20", "14:10", "08:00", "18:00"}
DAYS = {
    "3 November",
    "12 November",
    "17 November",
    "18 November",
    "19 November",
    "20 November",
    "4 December",
    "18 December",
}
FIGURES = {1284, 312, 9400, 871, 413, 9088, 2026}
"""Counted, or worked out of what was counted."""
MINUTES = {45, 98, 143}
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"

text = re.sub(r"\]\([^)]*\)|<[^>]*>", " ", Path("artifact.md").read_text(encoding="utf-8"))
problems = [f"{what} is not there" for pattern, what in NEEDED.items() if not re.search(pattern, text)]
times = re.findall(r"\b\d{1,2}:\d{2}\b", text)
problems += [f"{time} is no time of the sources in UTC" for time in times if time not in TIMES]
days = [" ".join(day.split()) for day in re.findall(rf"\b\d{{1,2}}\s+(?:{MONTHS})\b", text)]
problems += [f"{day} is no day of the sources" for day in days if day not in DAYS]
plain = re.sub(r"\b\d{1,2}:\d{2}\b", " ", text)
figures = [int(figure.replace(",", "")) for figure in re.findall(r"\b\d{1,3}(?:,\d{3})+\b|\b\d{3,}\b", plain)]
problems += [f"{figure:,} is no figure of the sources" for figure in figures if figure not in FIGURES]
minutes = [int(number) for number in re.findall(r"\b(\d+) minutes?\b", plain)]
problems += [f"{number} minutes is no span of the sources" for number in minutes if number not in MINUTES]
problems += ["the time of the restart is given in local time"] if re.search(r"\bCET\b|\blocal time\b", plain) else []
verdict(not problems, "; ".join(list(dict.fromkeys(problems))[:5]))
