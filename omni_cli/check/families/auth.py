"""``auth``: every route asks for the key.

Only run with a key, which says that the server should. No route that changes the server's state is
called: without its key it might well obey. Those are asked with GET alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from omni_cli.check import rules
from omni_cli.check.apis import APIS, MESSAGES, dig
from omni_cli.check.curl import KEY_VARIABLE
from omni_cli.check.envelope import require_envelope
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip
from omni_cli.check.session import Session, came
from omni_cli.check.wire import Answer, Request

__all__ = ["CHECKS"]

WRONG_KEY = "wrong-key-of-omni-check"
# Of a server's own list
MAX_ROUTES = 200
# Named in one failure
MAX_NAMED = 5
# May be open, so that orchestrators need no key
PROBES = ("/health", "/healthz", "/livez", "/readyz", "/startupz", "/ping", "/live", "/ready")
# POST with an empty object is harmless there: it is refused, or answers a question
_HARMLESS = (
    *(api.path for api in APIS),
    "/v1/chat/completions/batch",
    "/v1/messages/count_tokens",
    "/tokenize",
    "/detokenize",
    "/v1/score",
    "/score",
    "/rerank",
    "/v1/rerank",
    "/v2/rerank",
    "/classify",
    "/pooling",
    "/v2/embed",
    "/invocations",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/v1/audio/speech",
    "/v1/images/generations",
)
_READABLE = ("/v1/models", "/v1/models/x", "/metrics", "/version", "/openapi.json", "/docs")
# Ways to spell /v1/models that reach it where the guard and the router read paths differently
_TARGETS = (
    "//v1/models",
    "/v1//models",
    "/./v1/models",
    "/x/../v1/models",
    "/health/../v1/models",
    "/livez/../v1/models",
    "/health/%2e%2e/v1/models",
    "/v1/models/",
    "/v1%2Fmodels",
    "/%76%31/models",
    "/v1/models%2F",
    "/v1/models%00",
    "/V1/models",
    "/v1/models;/health",
    "/v1/models?/health",
    "/v1/models#/health",
    "\\v1\\models",
)
_HEADERS = (
    {"host": "x/health?"},
    {"host": "x/livez#"},
    {"x-original-url": "/health"},
    {"x-rewrite-url": "/livez"},
    {"x-forwarded-prefix": "/health"},
    {"authorization": "Bearer"},
    {"authorization": "Basic Og=="},
    {"x-api-key": ""},
)


def _require_key(session: Session) -> None:
    if not session.wire.key:
        raise Skip("no key was given (--api-key)")


def _accepted(session: Session) -> str:
    _require_key(session)
    answer = session.get("/v1/models")
    if answer.status in (401, 403):
        raise Fault("the key accepted", came(answer), answer)
    header = {"authorization": f"bearer {session.wire.key}"}
    answer = session.get("/v1/models", headers=header, key="")
    if answer.status in (401, 403):
        raise Fault("the scheme accepted whatever its case", came(answer), _hidden(answer, session))
    return ""


def _hidden(answer: Answer, session: Session) -> Answer:
    """The answer to a request that carries the key in a header of its own, without it."""
    shown = {
        name: value.replace(session.wire.key or "", f"${KEY_VARIABLE}")
        for name, value in answer.request.headers.items()
    }
    answer.request = replace(answer.request, headers=shown)
    return answer


def _routes(session: Session) -> Iterable[tuple[str, str]]:
    """Method and path of what is asked: the well-known routes, then what the server lists."""
    wanted = [("GET", path) for path in _READABLE] + [("POST", path) for path in _HARMLESS]
    listed = dig(session.once("/openapi.json").json, "paths")
    for path in list(listed)[:MAX_ROUTES] if isinstance(listed, dict) else []:
        if isinstance(path, str) and path.isascii() and path.isprintable() and " " not in path:
            filled = path.replace("{", "").replace("}", "").replace(":path", "")
            wanted.append(("POST" if filled in _HARMLESS else "GET", filled))
    return [pair for pair in dict.fromkeys(wanted) if pair[1] not in PROBES]


def _refused(key: str, session: Session) -> str:
    _require_key(session)
    routes = _routes(session)
    open_routes, shown = [], None
    first = _fault_of(session, "GET", "/v1/models", key)
    if first is not None:
        raise first  # there is no guard: the other routes had better be left alone
    for method, path in routes:
        fault = _fault_of(session, method, path, key)
        if fault is not None:
            open_routes.append(f"{method} {path}")
            shown = shown or fault
    if shown is not None:
        named = ", ".join(open_routes[:MAX_NAMED])
        more = f" and {len(open_routes) - MAX_NAMED} more" if len(open_routes) > MAX_NAMED else ""
        raise Fault(
            f"{shown.expected} on every route", f"{named}{more}: {shown.came}", shown.answer
        )
    return f"{len(list(routes))} routes"


def _fault_of(session: Session, method: str, path: str, key: str) -> Fault | None:
    """What is wrong with the refusal of one route. That it is not there, or not for this method,
    may be said before the key is looked at."""
    answer = session.whole(_request(method, path, key))
    if answer.status in (401, 404, 405, 501):
        return None
    return Fault("status 401", came(answer), answer)


def _request(method: str, path: str, key: str) -> Request:
    headers = MESSAGES.headers if path.startswith(MESSAGES.path) else {}
    body: dict[str, object] | None = {} if method == "POST" else None
    return Request(method, path, headers=headers, body=body, key=key)


def _shape(session: Session) -> str:
    _require_key(session)
    seen = 0
    for method, path in (("GET", "/v1/models"), *(("POST", api.path) for api in APIS)):
        answer = session.whole(_request(method, path, ""))
        if answer.status == 401:
            require_envelope(answer, anthropic=path == MESSAGES.path)
            seen += 1
    if not seen:
        raise Skip("no route answers 401, see auth.none")
    return ""


def _challenge(session: Session) -> str:
    _require_key(session)
    answer = session.get("/v1/models", key="")
    if answer.status != 401:
        raise Skip(f"/v1/models answers {answer.status} without a key, see auth.none")
    if not answer.header("www-authenticate"):
        raise Fault("a www-authenticate header", "none", answer)
    return answer.header("www-authenticate")


def _probes(session: Session) -> str:
    _require_key(session)
    said = []
    for path in PROBES:
        answer = session.get(path, key="")
        if answer.status in (404, 405):
            continue
        if answer.status not in (200, 204, 401, 503):
            raise Fault("200, 204, 401 or 503 from a probe", came(answer), answer)
        said.append(f"{path} {'asks for the key' if answer.status == 401 else 'is open'}")
    return ", ".join(said) or "there is none"


def _tricks(session: Session) -> str:
    _require_key(session)
    if _shows_models(session.get("/v1/models", key="")):
        raise Skip("/v1/models is open, see auth.none")
    tries = [Request("GET", target, key="") for target in _TARGETS]
    tries += [Request("GET", "/v1/models", headers=headers, key="") for headers in _HEADERS]
    for request in tries:
        answer = session.send(request)  # closing the connection is an answer as well
        if answer.timed_out:
            raise Fault("an answer, or the end of the connection", came(answer), answer)
        if _shows_models(answer):
            raise Fault("no way around the key", came(answer), answer)
    return f"{len(tries)} tried"


def _shows_models(answer: Answer) -> bool:
    return 200 <= answer.status < 300 and dig(answer.json, "data") is not None


def _x_api_key(session: Session) -> str:
    _require_key(session)
    body = session.body(MESSAGES, max_tokens=1)
    headers = {**MESSAGES.headers, "x-api-key": session.wire.key or ""}
    answer = session.whole(Request("POST", MESSAGES.path, headers=headers, body=body, key=""))
    if answer.status != 200:
        raise Fault("status 200", came(answer), _hidden(answer, session))
    return ""


CHECKS = tuple(
    Check(Family.AUTH, name, title, rule, run)
    for name, title, rule, run in (
        ("key", "the key is accepted, and bearer in lower case", rules.SCHEME_CASE, _accepted),
        ("x-api-key", "messages: x-api-key is accepted", rules.ANTHROPIC_AUTH, _x_api_key),
        ("none", "without a key every route is a 401", rules.UNGUARDED, partial(_refused, "")),
        (
            "wrong",
            "with a wrong key every route is a 401",
            rules.STATUS_401,
            partial(_refused, WRONG_KEY),
        ),
        ("shape", "a 401 has its family's shape", rules.OPENAI_ERRORS, _shape),
        ("challenge", "a 401 says how to authenticate", rules.CHALLENGE, _challenge),
        ("probes", "probes answer, with a key or without", rules.STATUS_401, _probes),
        ("tricks", "no odd path or header gets around it", rules.PATH_TRICKS, _tricks),
    )
)
