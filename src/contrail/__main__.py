"""`python -m contrail` is the command line."""

from contrail.cli.main import main

if __name__ == "__main__":
    main()
