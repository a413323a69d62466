"""Captioning, one to many: an image to a text that says what is in it."""
