"""Addresses as users spell them; those that are none are tried through the command."""

from __future__ import annotations

import pytest

from omni_cli.client.address import Address


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("https://host/prefix/v1/", "https://host/prefix"),
        ("localhost:8000", "http://localhost:8000"),
        ("[::1]:8000/v1", "http://[::1]:8000"),
    ],
)
def test_base_is_without_v1(text: str, base: str) -> None:
    address = Address.parse(f" {text} ")
    assert (address.base, address.shown) == (base, base)
    assert address.api("/models") == f"{base}/v1/models"


def test_a_password_is_not_shown() -> None:
    address = Address.parse("http://user:secret@host:1/v1")
    assert address.base == "http://user:secret@host:1"
    assert address.shown == "http://host:1"


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("localhost", True),
        ("127.1.2.3:1", True),
        ("[::1]", True),
        ("host", False),
        ("10.0.0.1", False),
    ],
)
def test_loopback_is_known(text: str, loopback: bool) -> None:
    assert Address.parse(text).is_loopback is loopback
