"""``models``: what is served, and whether a client can use the names."""

from __future__ import annotations

from urllib.parse import quote

from omni_cli.check import rules
from omni_cli.check.apis import CHAT, COMPLETIONS, EMBEDDINGS, RESPONSES, dig
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip, quoted
from omni_cli.check.session import MAX_MODELS_TRIED, Session, came
from omni_cli.check.wire import Request

__all__ = ["CHECKS"]


def _listed(session: Session) -> str:
    answer = session.once("/v1/models")
    body = answer.json
    if answer.broken or answer.status != 200 or not isinstance(body, dict):
        raise Fault("200 with a JSON object", came(answer), answer)
    data = body.get("data")
    if body.get("object") != "list" or not isinstance(data, list):
        raise Fault('"object": "list" and a list "data"', came(answer), answer)
    for card in data:
        kinds = {"id": str, "object": str, "created": int, "owned_by": str}
        wrong = [name for name, kind in kinds.items() if not isinstance(dig(card, name), kind)]
        if wrong:
            raise Fault("id, object, created and owned_by in each card", quoted(card), answer)
    names = session.ids()
    if not names or len(names) != len(set(names)):
        raise Fault("at least one model, each once", came(answer), answer)
    return f"{len(names)} listed"


def _retrieved(session: Session) -> str:
    names = session.ids()
    if not names:
        raise Skip("no model is listed")
    answer = session.get(f"/v1/models/{quote(names[0])}")
    if answer.status in (404, 405) and names[0] not in answer.text:
        raise Skip(f"not served: {answer.status} on /v1/models/MODEL")
    if answer.status != 200 or dig(answer.json, "id") != names[0]:
        raise Fault(f"200 with the card of {names[0]}", came(answer), answer)
    return ""


def _usable(session: Session) -> str:
    """Each listed name is known to at least one of the APIs: no stale names."""
    names = session.ids()
    if not names:
        raise Skip("no model is listed")
    answering = {session.model(api) for api in session.served()}
    if not answering:
        raise Skip("no API is served, see replies.some")
    for name in names[:MAX_MODELS_TRIED]:
        if name in answering:
            continue
        for api in (CHAT, COMPLETIONS, EMBEDDINGS, RESPONSES):
            least = {api.limit: api.least} if api.limit else {}
            body = {"model": name, **api.body, **least}
            answer = session.whole(session.request(api, body))
            if answer.status == 200:
                break
        else:
            expected = f"an answer of {name} on chat, completions, embeddings or responses"
            raise Fault(expected, came(answer), answer)
    left = len(names) - MAX_MODELS_TRIED
    return f"{left} more were not tried" if left > 0 else ""


def _unknown(session: Session) -> str:
    answer = session.whole(Request("GET", "/v1/models/no-such-model"))
    if answer.status not in (404, 405):
        raise Fault("404 for a model that is not served", came(answer), answer)
    return ""


CHECKS = (
    Check(Family.MODELS, "list", "the list has the documented shape", rules.MODELS_LIST, _listed),
    Check(
        Family.MODELS,
        "retrieve",
        "a listed model can be looked up",
        rules.MODELS_RETRIEVE,
        _retrieved,
    ),
    Check(
        Family.MODELS, "unknown", "one that is not served is a 404", rules.MODELS_RETRIEVE, _unknown
    ),
    Check(
        Family.MODELS, "usable", "every listed name answers somewhere", rules.MODELS_LIST, _usable
    ),
)
