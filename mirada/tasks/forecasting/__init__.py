"""Forecasting: how a series of numbers goes on, with ranges that say how sure that is."""
