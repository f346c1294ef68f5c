"""`python -m app.cli`, for child processes that must be this very interpreter."""

from app.cli import main

if __name__ == "__main__":
    main()
