"""``python -m solver.cli`` is the command ``blackwhite``."""

from solver.cli import main

main()
