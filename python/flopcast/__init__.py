"""Forecasts how long large-scale ML training and serving takes."""

from ._native import __version__

__all__ = ["__version__"]
