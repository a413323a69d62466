"""Benchmarks against peers, each printing a ratio. `python -m bench NAME` runs one; `bench/__main__.py` lists them."""
