"""``python -m solver.cli`` is the command ``blackwhite``."""

from solver.cli.app import main

main()
