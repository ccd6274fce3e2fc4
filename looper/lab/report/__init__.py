"""A comparison, or one run, as pages that open without a server: HTML, Markdown, CSV.

from looper.lab.report import compared, write
comparison = compared("outputs/sweeps/first", baseline="baseline")
comparison.table, comparison.runs, comparison.refused          # frames
write(comparison, Path("report"))                              # report.html, report.md, *.csv, plots/*.svg
"""

from looper.lab.report.comparison import VALUES, Comparison, compared
from looper.lab.report.pages import page, write
from looper.lab.report.single import run_page
from looper.lab.report.words import limits, sentence

__all__ = ["VALUES", "Comparison", "compared", "limits", "page", "run_page", "sentence", "write"]
