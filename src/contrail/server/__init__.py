"""The HTTP edge: the hot table, routes per noun, streams and static files. The only async layer."""
