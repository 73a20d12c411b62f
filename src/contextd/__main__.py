"""`python -m contextd` is the `contextd` command."""

from contextd.surfaces.cli import run

if __name__ == "__main__":
    run()
