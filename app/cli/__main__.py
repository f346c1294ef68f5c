"""`python -m app.cli`, for child processes that must run in the same interpreter."""

from app.cli import main

if __name__ == "__main__":
    main()
