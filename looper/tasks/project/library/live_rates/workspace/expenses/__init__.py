"""Expense reports from a CSV ledger."""
