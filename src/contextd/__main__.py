"""`python -m contextd` is the `contextd` command."""

from contextd.surfaces.cli import main

if __name__ == "__main__":
    main()
