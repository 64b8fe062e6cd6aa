"""YAML files: lines, and the bounds that a hostile or a broken file meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine_bridge.errors import UsageError
from engine_bridge.yaml_file import MAX_FILE_BYTES, Node, read_bounded, read_yaml


def refusal(content: str | bytes) -> str:
    path = Path("p.yaml")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as caught:
        read_yaml(path)
    return str(caught.value)


def test_lines_are_kept() -> None:
    Path("p.yaml").write_text("# comment\na: 1\nb:\n  - x\n  - {c: true}\n")
    root = read_yaml(Path("p.yaml"))
    assert root.plain() == {"a": 1, "b": ["x", {"c": True}]}
    assert isinstance(root.value, dict)
    b = root.value["b"]
    assert (root.line, root.value["a"].line, b.line) == (2, 2, 3)
    assert isinstance(b.value, list)
    assert [node.line for node in b.value] == [4, 5]


def test_repeated_key_is_reported() -> None:
    Path("p.yaml").write_text("a: 1\nb: 2\na: 3\n")
    assert read_yaml(Path("p.yaml")).repeated == (("a", 3),)


def test_alias_is_followed() -> None:
    Path("p.yaml").write_text("a: &x {k: 1}\nb: *x\n")
    assert read_yaml(Path("p.yaml")).plain() == {"a": {"k": 1}, "b": {"k": 1}}


@pytest.mark.parametrize("content", ["", "# nothing\n"])
def test_file_without_a_document_may_stand_for_an_empty_mapping(content: str) -> None:
    Path("p.yaml").write_text(content)
    assert read_yaml(Path("p.yaml"), may_be_empty=True) == Node({}, 1)


def test_text_is_read_within_bounds() -> None:
    Path("a.toml").write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_bounded(Path("a.toml")) == "a = 1\n"


def test_node_of_scalar_is_plain() -> None:
    assert Node("x", 1).plain() == "x"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "p.yaml: is empty; name at least one stage under stages:"),
        ("a: [1, 2\nb: 3\n", "p.yaml:2: is not valid YAML (expected ',' or ']', but got ':')"),
        ("a: b: c\n", "p.yaml:1: is not valid YAML (mapping values are not allowed here)"),
        ("a: *nope\n", "p.yaml:1: is not valid YAML (found undefined alias 'nope')"),
        ("a: 1\n---\nb: 2\n", "p.yaml:2: is not valid YAML (but found another document)"),
        (
            "a: !!python/object/apply:os.system [ls]\n",
            "p.yaml:1: is not valid YAML (could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object/apply:os.system')",
        ),
        ("a: 1\n1: 2\n", "p.yaml:2: holds a key that is not text; put it in quotes"),
        ("? [a]\n: 2\n", "p.yaml:1: holds a key that is not text; put it in quotes"),
        (
            "a: 2026-11-29\n",
            "p.yaml:1: holds a value of type date that is not text, number or boolean; "
            "put it in quotes",
        ),
        ("a: 2026-13-29\n", "p.yaml:1: holds a value that cannot be read; put it in quotes"),
        ("a: .inf\n", "p.yaml:1: holds a number that is not finite"),
        (
            "a: " + "9" * 5000 + "\n",
            "p.yaml:1: holds a value that cannot be read; put it in quotes",
        ),
        ("a: &x 1\nb:\n  <<: {c: 1}\n", "p.yaml:3: << is not supported; write the keys out"),
        (b"a: 1\nb: \xff\n", "p.yaml:2: is not UTF-8 text"),
        ("a: \x07\n", "p.yaml:1: is not valid YAML (a control character)"),
        ("[" * 100_000, "p.yaml:1: is nested deeper than 24 levels"),
        ("a: &x [*x]\n", "p.yaml:1: contains itself through an alias"),
        ("a" * (MAX_FILE_BYTES + 1), "p.yaml: is larger than 256 KiB"),
    ],
)
def test_file_is_refused(content: str | bytes, line: str) -> None:
    assert refusal(content) == line


def test_alias_bomb_is_refused_before_it_is_built() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    assert refusal("\n".join(lines)) == "p.yaml: holds more than 10000 values"


def test_deep_chain_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 60)]
    assert refusal("\n".join(lines)) == "p.yaml: is nested deeper than 24 levels"


def test_missing_file_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        read_yaml(Path("nope.yaml"))
    assert str(caught.value) == "nope.yaml: cannot be read: No such file or directory"
