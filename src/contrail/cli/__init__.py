"""The command line: `contrail run|list|get|logs|cancel|server`."""
