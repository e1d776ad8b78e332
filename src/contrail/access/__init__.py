"""Who is asking: identities and tokens."""
