"""``python -m assocpriv`` is the command ``assocpriv``."""

from assocpriv.apps.cli import main

if __name__ == "__main__":
    main()
