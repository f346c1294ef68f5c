"""Errors between this service and an identity provider."""

from __future__ import annotations

from app.domain.errors import NotFound, Unauthorized, Unavailable


class ProviderSilent(Unavailable):
    """Your organization's sign-in service does not answer. Try again in a moment."""


class ProviderRefused(Unauthorized):
    """Your organization's sign-in service did not confirm who you are. Sign in again."""


class ProviderGroupsNotRereadable(Unauthorized):
    """Your organization's sign-in service does not show groups for as long as you are signed in."""

    published = "GroupsNotShown"


class SignInNotBegun(Unauthorized):
    """This sign-in did not begin in this browser, or it took too long. Sign in again."""


class NoIdentityProvider(NotFound):
    """There is no such page."""

    published = "NoProvider"
