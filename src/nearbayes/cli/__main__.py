"""Run the command line with ``python -m nearbayes.cli``."""

from nearbayes.cli import main

if __name__ == "__main__":
    main()
