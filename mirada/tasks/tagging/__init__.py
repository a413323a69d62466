"""Tagging, many to many and aligned: a label, or a number, for every word."""
