"""`plumbline huggingface`: release bundles in dataset repositories of Hugging Face."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from app.cli.kit.bundles import print_bundle_verification, verify_and_open_bundle, verify_and_reproduce_bundle
from app.client.huggingface import HuggingFaceClient
from app.config import Settings
from app.domain.errors import Invalid, Place

Dataset = Annotated[str, typer.Argument(help="The dataset repository, like owner/name.")]


def register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Push release bundles to Hugging Face, and verify them.", no_args_is_help=True)
    group.command("push")(push_bundle)
    group.command("verify")(verify_pushed_bundle)
    app.add_typer(group, name="huggingface")


def push_bundle(
    bundle: Annotated[Path, typer.Argument(help="A bundle, as an archive or a folder.")],
    dataset: Dataset,
    public: Annotated[
        bool, typer.Option("--public", help="If the repository is created here, make it public.")
    ] = False,
) -> None:
    """Push a release bundle to a dataset repository, replacing all of its files in one commit.

    A new repository is private unless you use --public. A repository that contains other files is refused.
    """
    settings = Settings.load()
    if settings.huggingface_token is None:
        why = "is needed: a token that may write, best as the file /run/secrets/plumbline_huggingface_token"
        raise Invalid("the settings are not valid", places=(Place(("PLUMBLINE_HUGGINGFACE_TOKEN",), why),))
    _check_name(dataset)
    with verify_and_open_bundle(bundle) as folder, _hub(settings) as hub:
        hub.create_dataset_if_missing(dataset, private=not public)
        commit = hub.push_bundle(dataset, folder, message="Release bundle of Plumbline")
    typer.echo(f"{commit}\nTo verify it: plumbline huggingface verify {dataset} --revision {commit}")


def verify_pushed_bundle(
    dataset: Dataset,
    revision: Annotated[str, typer.Option(help="A commit, branch or tag.")] = "main",
) -> None:
    """Read a release bundle from a dataset repository, check it, and rank it again.

    It needs no database: it starts an empty one and stops it at the end. A private repository needs a token.
    """
    _check_name(dataset)
    with tempfile.TemporaryDirectory(prefix="plumbline-") as name, _hub(Settings.load()) as hub:
        commit = hub.fetch_bundle(dataset, Path(name), revision)
        typer.echo(f"{dataset} at {commit}")
        print_bundle_verification(verify_and_reproduce_bundle(Path(name)))


def _hub(settings: Settings) -> HuggingFaceClient:
    token = settings.huggingface_token
    return HuggingFaceClient(settings.huggingface_url, token.get_secret_value() if token else None)


def _check_name(dataset: str) -> None:
    """Raise Invalid if this cannot be the name of a repository."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", dataset, re.ASCII) or ".." in dataset:
        raise Invalid("the options are not valid", places=(Place(("DATASET",), "must be like owner/name"),))
