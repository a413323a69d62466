"""Measurements side by side with a peer, each printing a ratio. Run one with `python -m bench NAME`, or all of them."""
