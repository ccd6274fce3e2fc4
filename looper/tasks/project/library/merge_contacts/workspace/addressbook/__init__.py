"""The address book of a small office."""
