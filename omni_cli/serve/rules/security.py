"""Rows about TLS, pages of other origins, and what a server lets out."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS"]

_PEM = {"c.pem": "", "k.pem": ""}

_TLS_DETAILS = ("ssl_ca_certs", "ssl_cert_reqs", "ssl_ciphers")
_CORS_DETAILS = ("allow_credentials", "allowed_methods", "allowed_headers")
# What browsers send, letter for letter; `null` stands for a page without an origin.
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^\s/?#@]+")
# As in a request line: printable ASCII, no empty first part, no query.
_PREFIX = re.compile(r"/(?!/)[!-~]*")
# Lines written for vLLM may say its defaults.
_DEFAULTS: tuple[object, ...] = (0, False, ["*"])


def _details(line: Line, details: tuple[str, ...], main: str) -> Found:
    """Flags that refine another one, which was not given."""
    if line.value(main):
        return False
    return [
        {"blame": dest}
        for dest in details
        if line.given(dest) and _list(line.value(dest)) not in _DEFAULTS
    ]


def _list(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _pair(line: Line) -> Found:
    """What OpenSSL finds in the files; it names the flag as such, not as the user spelt it."""
    error = line.facts.tls_error
    if error is None:
        return False
    dest = error.subject.removeprefix("--").replace("-", "_")
    return {
        "subject": line.subject(dest),
        "value": error.value,
        "origin": line.origin(dest),
        "why": error.reason,
        "instead": error.way_out,
    }


def _star_with_credentials(line: Line) -> Found:
    origins = line.value("allowed_origins")
    return line.on("allow_credentials") and isinstance(origins, list | tuple) and "*" in origins


def _no_origin(line: Line) -> Found:
    """Texts that no browser sends as its origin, so that they would allow nobody."""
    origins = line.value("allowed_origins")
    found = []
    for origin in origins if isinstance(origins, list | tuple) else ():
        if not isinstance(origin, str) or _ORIGIN.fullmatch(origin):
            continue
        scheme, mark, rest = origin.strip().partition("://")
        name = re.split("[/?#]", rest)[0].rpartition("@")[2] if mark else ""
        instead = f"{scheme.lower()}://{name}"
        usable = _ORIGIN.fullmatch(instead) is not None
        hint = f"write {instead}" if usable else "write it like https://a.example"
        found.append({"value": origin or "''", "hint": hint})
    return found


def _no_prefix(line: Line) -> Found:
    path = line.text("root_path")
    if not path or (_PREFIX.fullmatch(path) and not set("?#") & {*path}):
        return False
    tail = "/" + urlsplit(path).path.strip("/") if path.isascii() else ""
    usable = len(tail) > 1 and _PREFIX.fullmatch(tail)
    return {"hint": f"write {tail}" if usable else "write it like /llm"}


def _unasked_clients(line: Line) -> Found:
    return (line.number("ssl_cert_reqs") or 0) > 0 and not line.value("ssl_ca_certs")


ROWS = (
    Rule(
        id="tls-key-without-certificate",
        flags=("ssl_keyfile", "ssl_certfile"),
        each="run",
        when=lambda line: bool(line.value("ssl_keyfile")) and not line.value("ssl_certfile"),
        reason="is the key of a certificate that is missing",
        way_out="add --ssl-certfile",
        example=Example(words="--ssl-keyfile k.pem", files=_PEM),
        allowed=Example(words="--ssl-keyfile k.pem --ssl-certfile c.pem", files=_PEM),
    ),
    Rule(
        id="tls-certificate-without-key",
        flags=("ssl_certfile", "ssl_keyfile"),
        each="run",
        when=lambda line: bool(line.value("ssl_certfile")) and not line.value("ssl_keyfile"),
        reason="is a certificate whose key is missing",
        way_out="add --ssl-keyfile",
        example=Example(words="--ssl-certfile c.pem", files=_PEM),
        allowed=Example(words="--ssl-certfile c.pem --ssl-keyfile k.pem", files=_PEM),
    ),
    Rule(
        id="tls-files",
        flags=("ssl_certfile", "ssl_keyfile", "ssl_ca_certs", "ssl_ciphers"),
        each="run",
        when=_pair,
        reason="{why}",
        way_out="{instead}",
        example=Example(words="--ssl-certfile c.pem --ssl-keyfile k.pem", files=_PEM),
        allowed=Example(
            words="--ssl-certfile c.pem --ssl-keyfile k.pem", files=_PEM, facts={"tls_error": None}
        ),
    ),
    Rule(
        id="tls-details-without-certificate",
        flags=(*_TLS_DETAILS, "ssl_certfile"),
        each="run",
        when=lambda line: _details(line, _TLS_DETAILS, "ssl_certfile"),
        reason="means nothing without a certificate of the server",
        way_out="add --ssl-certfile and --ssl-keyfile, or leave it out",
        example=Example(words="--ssl-ciphers HIGH"),
        allowed=Example(
            words="--ssl-ciphers HIGH --ssl-certfile c.pem --ssl-keyfile k.pem", files=_PEM
        ),
    ),
    Rule(
        id="tls-clients-without-authorities",
        flags=("ssl_cert_reqs", "ssl_ca_certs"),
        each="run",
        when=_unasked_clients,
        reason="asks clients for certificates, and nobody says who may sign them",
        way_out="add --ssl-ca-certs",
        example=Example(
            words="--ssl-cert-reqs 2 --ssl-certfile c.pem --ssl-keyfile k.pem", files=_PEM
        ),
        allowed=Example(
            words="--ssl-cert-reqs 0 --ssl-certfile c.pem --ssl-keyfile k.pem", files=_PEM
        ),
    ),
    Rule(
        id="cors-credentials-for-all",
        flags=("allow_credentials", "allowed_origins"),
        each="run",
        when=_star_with_credentials,
        reason="would let every page of the web use the visitor's cookies, as {allowed_origins} "
        "names *; browsers refuse it",
        way_out="name the origins",
        example=Example(words="""--allow-credentials --allowed-origins '["*"]'"""),
        allowed=Example(words="""--allow-credentials --allowed-origins '["https://a.example"]'"""),
    ),
    Rule(
        id="cors-origin",
        flags=("allowed_origins",),
        each="run",
        when=_no_origin,
        reason="is not what browsers send as an origin: scheme, name and port, and nothing behind",
        way_out="{hint}",
        example=Example(words="""--allowed-origins '["https://a.example/"]'"""),
        allowed=Example(words="""--allowed-origins '["https://a.example"]'"""),
    ),
    Rule(
        id="root-path",
        flags=("root_path",),
        each="run",
        when=_no_prefix,
        reason="is not the path of a URL: it must begin with one / and be ASCII without white "
        "space, and the rest of a URL does not belong to it",
        way_out="{hint}",
        example=Example(words="--root-path https://a.example/llm"),
        allowed=Example(words="--root-path /llm"),
    ),
    Rule(
        id="cors-details-without-origins",
        flags=(*_CORS_DETAILS, "allowed_origins"),
        each="run",
        when=lambda line: _details(line, _CORS_DETAILS, "allowed_origins"),
        reason="means nothing while no other origin is allowed",
        way_out="add --allowed-origins, or leave it out",
        example=Example(words="--allow-credentials"),
        allowed=Example(words="""--allow-credentials --allowed-origins '["https://a.example"]'"""),
    ),
)
