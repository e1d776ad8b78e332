"""Artifact bytes, volumes and the server's own blobs: local folders or object stores, and previews."""
