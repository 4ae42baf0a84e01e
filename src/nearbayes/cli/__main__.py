"""``python -m nearbayes.cli`` is ``nearbayes``."""

from nearbayes.cli import main

if __name__ == "__main__":
    main()
