"""Classification of images and videos, many to one: pixels to one of a few labels."""
