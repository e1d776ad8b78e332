"""Routes, one module per noun; each offers `routes(services)`."""
