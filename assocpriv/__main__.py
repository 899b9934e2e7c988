"""``python -m assocpriv`` is the command ``assocpriv``."""

from assocpriv.cli.main import main

if __name__ == "__main__":
    main()
