"""The shape of an error in each API's family."""

from __future__ import annotations

from collections.abc import Collection

from omni_cli.check.apis import Api, dig
from omni_cli.check.outcome import Fault
from omni_cli.check.session import came
from omni_cli.check.wire import Answer

__all__ = ["message_of", "require_envelope", "require_refusal"]

# By status; a server may add its own, but not under another family's names
_ANTHROPIC = {
    400: ("invalid_request_error",),
    401: ("authentication_error",),
    403: ("permission_error",),
    404: ("not_found_error",),
    413: ("request_too_large", "invalid_request_error"),
    415: ("invalid_request_error",),
    422: ("invalid_request_error",),
}


def message_of(answer: Answer) -> str:
    """The error's sentence and parameter in one text, or empty."""
    found = [dig(answer.json, "error", name) for name in ("message", "param")]
    return " ".join(text for text in found if isinstance(text, str))


def require_envelope(answer: Answer, *, anthropic: bool) -> None:
    """Insist on the family's shape.

    Raises:
        Fault: It has another.
    """
    error = dig(answer.json, "error")
    message, kind = dig(error, "message"), dig(error, "type")
    named = isinstance(message, str) and bool(message) and isinstance(kind, str)
    if anthropic:
        known = _ANTHROPIC.get(answer.status)
        if not named or dig(answer.json, "type") != "error" or (known and kind not in known):
            types = " or ".join(known or ("...",))
            shape = f'{{"type": "error", "error": {{"type": "{types}", "message": ...}}}}'
            raise Fault(shape, came(answer), answer)
        return
    whole = isinstance(error, dict) and {"param", "code"} <= error.keys()
    if not named or not whole:
        shape = '{"error": {"message": ..., "type": ..., "param": ..., "code": ...}}'
        raise Fault(shape, came(answer), answer)


def require_refusal(
    answer: Answer, api: Api, statuses: Collection[int], names: Collection[str] = ()
) -> None:
    """Insist on a status, the family's shape, and that the error names what is wrong.

    Args:
        statuses: Any of these.
        names: Any of these, in the message or in ``param``, whatever its case; empty asks for
            none.

    Raises:
        Fault: Something is missing.
    """
    if answer.status not in statuses:
        wanted = " or ".join(str(status) for status in sorted(statuses))
        raise Fault(f"status {wanted}", came(answer), answer)
    require_envelope(answer, anthropic=api.is_anthropic)
    said = message_of(answer).lower()
    if names and not any(name.lower() in said for name in names):
        raise Fault(f"an error that names {' or '.join(names)}", came(answer), answer)
