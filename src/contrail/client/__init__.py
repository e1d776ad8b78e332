"""How the command line and the SDK reach a server."""
