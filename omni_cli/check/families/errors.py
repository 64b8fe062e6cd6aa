"""``errors``: what a client did wrong is told with the right status, in the family's shape, by
name, briefly, and without the server's insides."""

from __future__ import annotations

import json
import shlex
from functools import partial
from typing import Any

from omni_cli.check import rules
from omni_cli.check.apis import APIS, EMBEDDINGS, GENERATE, Api
from omni_cli.check.envelope import message_of, require_envelope, require_refusal
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip
from omni_cli.check.session import Session, came
from omni_cli.check.wire import Answer, Request

__all__ = ["CHECKS"]

NO_MODEL = "no-such-model"
# Of an error's body: some problems in full sentences
MAX_ERROR_BYTES = 16 * 1024
# Wrong parts of one request, each of which a careless server reports in full
WRONG_PARTS = 300
# A longer prompt is not gentle any more; tokens, each a word
MAX_PROMPT_WORDS = 200_000
MARKER = "a-secret-that-no-error-may-repeat-7c1f40b2"
# Where a body is cut to put something long into it
_CUT = "CUT-HERE"
# How interpreters talk
_INSIDES = ("object has no attribute", "traceback (most recent", "object is not", "<class '")
_BAD = (400, 422)


def _unknown_model(api: Api, session: Session) -> str:
    answer = session.post(api, model=NO_MODEL)
    require_refusal(answer, api, (404,), ("model",))
    return ""


def _missing(api: Api, session: Session) -> str:
    body = session.body(api)
    del body[api.required]
    answer = session.whole(session.request(api, body))
    require_refusal(answer, api, _BAD, (api.required,))
    return ""


def _wrong_type(api: Api, session: Session) -> str:
    for name, value in api.wrong:
        answer = session.post(api, **{name: value})
        require_refusal(answer, api, _BAD, (name,))
    return f"{len(api.wrong)} fields"


def _out_of_range(api: Api, session: Session) -> str:
    answer = session.post(api, temperature=-5)
    require_refusal(answer, api, _BAD, ("temperature",))
    return ""


def _malformed(api: Api, session: Session) -> str:
    session.model(api)
    body = b'{"model": "x", '
    answer = session.whole(Request("POST", api.path, headers=api.headers, body=body))
    require_refusal(answer, api, (400,))
    return ""


def _content_type(api: Api, session: Session) -> str:
    headers = {**api.headers, "content-type": "text/plain"}
    answer = session.whole(Request("POST", api.path, headers=headers, body=session.body(api)))
    require_refusal(answer, api, (400, 415))
    return ""


def _wrong_method(api: Api, session: Session) -> str:
    session.model(api)
    answer = session.get(api.path, headers=api.headers)
    require_refusal(answer, api, (405,))
    if "post" not in answer.header("allow").lower():
        shown = answer.header("allow") or "no allow"
        raise Fault("an allow header with POST", shown, answer)
    return ""


def _long_prompt(api: Api, session: Session) -> tuple[dict[str, Any], str]:
    """A body whose prompt is longer than the context, and a command that writes it."""
    context = session.context(api)
    if context is None:
        raise Skip("the model's card does not tell its context (max_model_len)")
    words = context + 100
    if words > MAX_PROMPT_WORDS:
        raise Skip(f"it would take a prompt of {words} words")
    body = session.body(api, **{api.prompt: api.worded("a " * words)})
    # From the shell too the body is put together, since a command line has no room for it
    head, tail = json.dumps(session.body(api, **{api.prompt: api.worded(_CUT)})).split(_CUT)
    return body, _shell(head, f"printf 'a %.0s' $(seq {words})", tail)


def _shell(head: str, middle: str, tail: str) -> str:
    """A command that writes a body whose middle another command writes."""
    return f"(printf %s {shlex.quote(head)}; {middle}; printf %s {shlex.quote(tail)})"


def _too_long(api: Api, session: Session) -> str:
    body, shell = _long_prompt(api, session)
    answer = session.whole(session.request(api, body, body_shell=shell))
    require_refusal(answer, api, (400, 413))
    return ""


def _stream_status(api: Api, session: Session) -> str:
    """Before the first token an error still has its status, in a stream as well."""
    answer = session.post(api, stream=True, model=NO_MODEL)
    require_refusal(answer, api, (404,))
    body, shell = _long_prompt(api, session)
    answer = session.whole(session.request(api, {**body, "stream": True}, body_shell=shell))
    require_refusal(answer, api, (400, 413))
    return ""


def _bounded(api: Api, session: Session) -> str:
    part = '{"role": 5}'
    parts = [json.loads(part)] * WRONG_PARTS
    head, tail = json.dumps(session.body(api, **{api.prompt: _CUT})).split(f'"{_CUT}"')
    middle = f"printf '{part}, %.0s' $(seq {WRONG_PARTS - 1})"
    shell = _shell(f"{head}[", middle, f"{part}]{tail}")
    body = session.body(api, **{api.prompt: parts})
    answer = session.whole(session.request(api, body, body_shell=shell))
    if not 400 <= answer.status < 500:
        raise Fault("a 4xx status", came(answer), answer)
    if len(answer.body) > MAX_ERROR_BYTES:
        shown_size = f"{len(answer.body)} bytes for {WRONG_PARTS} wrong parts"
        raise Fault(f"an error of at most {MAX_ERROR_BYTES} bytes", shown_size, answer)
    return f"{len(answer.body)} bytes"


def _private(api: Api, session: Session) -> str:
    """An error repeats neither what was sent nor what the interpreter said."""
    for value in ({"secret": MARKER}, [{"role": "user", "content": {"secret": MARKER}}], 5):
        answer = session.post(api, **{api.prompt: value})
        _require_privacy(answer)
    if api is not EMBEDDINGS:
        _require_privacy(session.post(api, tools=5, tool_choice=5))
    return ""


def _require_privacy(answer: Answer) -> None:
    if MARKER in answer.text:
        raise Fault("an error that does not repeat the input", came(answer), answer)
    said = message_of(answer) or answer.text
    if answer.status >= 400 and any(words in said.lower() for words in _INSIDES):
        raise Fault("an error in words for the client", came(answer), answer)
    if answer.status >= 500:
        raise Fault("a 4xx status", came(answer), answer)


def _unknown_route(path: str, anthropic: bool, session: Session) -> str:
    answer = session.get(path)
    if answer.status != 404:
        raise Fault("status 404", came(answer), answer)
    require_envelope(answer, anthropic=anthropic)
    return ""


def _checks() -> list[Check]:
    tests = (
        ("model", "an unknown model is a 404", None, _unknown_model),
        ("missing", "a missing field is named", None, _missing),
        ("type", "a field of the wrong type is named", None, _wrong_type),
        ("range", "a temperature of -5 is refused", None, _out_of_range),
        ("json", "a body that is no JSON is a 400", rules.STATUS_400, _malformed),
        ("content", "text/plain is refused", rules.STATUS_415, _content_type),
        ("method", "GET is a 405 with an allow header", rules.STATUS_405, _wrong_method),
        ("long", "a prompt beyond the context is a 400", None, _too_long),
        ("stream", "a stream that fails at once has the true status", None, _stream_status),
        ("size", "an error stays small", rules.AMPLIFIES, _bounded),
        ("private", "an error repeats no input and shows no insides", rules.INSIDES, _private),
    )
    checks = [
        Check(
            Family.ERRORS,
            f"{api.name}.{name}",
            f"{api.name}: {title}",
            rule or rules.ERRORS[api.name],
            partial(test, api),
        )
        for api in APIS
        for name, title, rule, test in tests
        if api in GENERATE or name not in ("range", "stream")
    ]
    for name, path, anthropic in (
        ("openai", "/v1/no-such-route", False),
        ("anthropic", "/v1/messages/no-such-route", True),
    ):
        run = partial(_unknown_route, path, anthropic)
        title = f"an unknown route is a 404 in {name}'s shape"
        checks.append(Check(Family.ERRORS, f"route.{name}", title, rules.STATUS_404, run))
    return checks


CHECKS = tuple(_checks())
