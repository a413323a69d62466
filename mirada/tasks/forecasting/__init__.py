"""Forecasting: the next values of a series of numbers, with prediction intervals."""
