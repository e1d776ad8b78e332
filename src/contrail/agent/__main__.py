"""`python -m contrail.agent <work_dir>`."""

from __future__ import annotations

import sys

from contrail.agent.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
