"""Runs again from their record: `replay` repeats one, `fork` continues a copy of it with other settings."""
