"""The listening socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from engine_bridge.errors import UsageError
from omni_cli.serve.listen import bind_listener, url_of


def refusal(host: str, port: int) -> str:
    with pytest.raises(UsageError) as caught:
        bind_listener(host, port)
    return str(caught.value)


def own_name() -> str:
    return Path("/proc/self/comm").read_text().strip()


@pytest.mark.parametrize(
    ("host", "address", "url"),
    [
        ("127.0.0.1", "127.0.0.1", "http://127.0.0.1"),
        ("localhost", "127.0.0.1", "http://127.0.0.1"),
        ("0.0.0.0", "127.0.0.1", "http://127.0.0.1"),
        ("::1", "::1", "http://[::1]"),
        ("[::1]", "::1", "http://[::1]"),
        ("::", "127.0.0.1", "http://[::1]"),
    ],
)
def test_socket_listens(host: str, address: str, url: str) -> None:
    with bind_listener(host, 0) as listener:
        port = listener.getsockname()[1]
        assert url_of(listener.getsockname()) == f"{url}:{port}"
        with socket.create_connection((address, port), timeout=5):
            pass


def test_port_in_use_is_refused_with_its_holder() -> None:
    with bind_listener("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        assert refusal("127.0.0.1", port) == (
            f"--port {port}: is in use by {own_name()} (pid {os.getpid()}); "
            "choose another, or 0 for any free one"
        )


def test_port_is_free_again_right_after_a_connection() -> None:
    with bind_listener("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port), timeout=5)
        served, _ = first.accept()
        served.close()  # this side closes first, so it keeps the port in TIME_WAIT
        client.close()
    bind_listener("127.0.0.1", port).close()


def test_name_that_does_not_resolve_is_refused() -> None:
    assert refusal("nowhere.invalid", 0) == (
        "--host nowhere.invalid: does not resolve (Name or service not known); "
        "use 127.0.0.1 for this machine alone, 0.0.0.0 for every interface"
    )


def test_name_that_cannot_be_a_host_is_refused() -> None:
    name = "x" * 70
    assert refusal(name, 0).startswith(f"--host {name}: does not resolve (")


def test_address_of_another_machine_is_refused() -> None:
    assert refusal("192.0.2.1", 0) == (
        "--host 192.0.2.1: is not an address of this machine; use 127.0.0.1 or 0.0.0.0"
    )


def test_subjects_are_as_the_user_spelt_them() -> None:
    with bind_listener("127.0.0.1", 0) as first, pytest.raises(UsageError) as caught:
        bind_listener("127.0.0.1", first.getsockname()[1], port_subject="OMNI_PORT")
    assert caught.value.subject == "OMNI_PORT"
