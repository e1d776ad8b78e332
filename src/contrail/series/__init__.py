"""Metric points: blocks as they arrive, compressed chunks, buckets for charts, non-finite values."""
