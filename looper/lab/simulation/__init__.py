"""Simulated runs: by the thousand, fitted to recorded ones, and held against what they must come to."""
