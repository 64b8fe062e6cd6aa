"""API keys: what is a key, where it may stand, and that only its hash stays."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from omni_cli.flags.parsed import Given
from omni_cli.serve.keys import (
    MAX_KEY_CHARS,
    MAX_KEY_FILE_BYTES,
    MAX_KEYS,
    read_key_file,
    sealed,
)
from omni_cli.serve.layer import Layer


def sha(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def seal(*keys: str) -> Layer:
    return sealed(Layer(origin="flag", given={"api_key": Given(list(keys), "--api-key")}))


def file_line(text: bytes) -> list[str]:
    Path("keys").write_bytes(text)
    hashes, problems = read_key_file("keys", "--api-key-file", "flag")
    assert hashes == ()
    return [str(problem) for problem in problems]


def test_layer_without_keys_stays_as_it_is() -> None:
    layer = Layer(origin="file", given={"port": Given(1, "a.yaml:1: port")})
    assert sealed(layer) is layer


def test_keys_become_hashes_once_each() -> None:
    assert seal("a", "b", "a").given["api_key"] == Given((sha("a"), sha("b")), "--api-key")


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ([], "holds no key"),
        ([""], "must not be empty"),
        (["a", ""], "key 2 of 2 must not be empty"),
        (["a b"], "must be ASCII text without white space"),
        (["a\t"], "must be ASCII text without white space"),
        (["é"], "must be ASCII text without white space"),
        (["a" * (MAX_KEY_CHARS + 1)], f"is longer than {MAX_KEY_CHARS} characters"),
        ([str(n) for n in range(MAX_KEYS + 1)], f"gives more than {MAX_KEYS} keys"),
    ],
)
def test_key_is_refused(keys: list[str], reason: str) -> None:
    layer = seal(*keys)
    assert "api_key" not in layer.given
    (problem,) = layer.problems
    assert str(problem) == f"--api-key: {reason}"


def test_no_value_is_no_key() -> None:
    layer = sealed(Layer(origin="flag", given={"api_key": Given([None], "--api-key")}))
    assert [str(problem) for problem in layer.problems] == ["--api-key: must not be empty"]


def test_longest_key_and_most_keys_are_taken() -> None:
    assert seal("a" * MAX_KEY_CHARS).problems == ()
    assert seal(*[str(n) for n in range(MAX_KEYS)]).problems == ()


class TestFile:
    def test_one_key_a_line(self) -> None:
        Path("keys").write_bytes(b"\xef\xbb\xbf# team a\r\nfirst\r\n\n  second  \n#third\nfirst\n")
        assert read_key_file("keys", "--api-key-file", "flag") == (
            (sha("first"), sha("second")),
            [],
        )

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (b"", "holds no key"),
            (b"# only this\n\n", "holds no key"),
            (b"a b\n", "must be ASCII text without white space"),
            (b"ok\n\xff\n", "key 2 of 2 must be ASCII text without white space"),
            (b"#" * (MAX_KEY_FILE_BYTES + 1), "is larger than 1024 KiB"),
        ],
    )
    def test_file_is_refused(self, text: bytes, reason: str) -> None:
        assert file_line(text) == [f"--api-key-file keys: {reason}"]

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            (".", "cannot be read: Is a directory"),
            ("no", "cannot be read: No such file or directory"),
        ],
    )
    def test_file_that_cannot_be_read_is_refused(self, path: str, reason: str) -> None:
        hashes, problems = read_key_file(path, "OMNI_API_KEY_FILE", "environment")
        assert hashes == ()
        assert [str(problem) for problem in problems] == [f"OMNI_API_KEY_FILE {path}: {reason}"]
        assert problems[0].origin == "environment"
