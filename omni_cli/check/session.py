"""One run against one server: what has been learnt of it, and the answers that several checks
look at.

Requests are sent one after the other. Which APIs are served, and by which model, is found by
asking each for one token.
"""

from __future__ import annotations

import time
from typing import Any, Literal

from omni_cli.check.apis import APIS, Api, dig
from omni_cli.check.events import Events, read_events
from omni_cli.check.outcome import Fault, Skip, excerpt
from omni_cli.check.wire import Answer, Request, Unreachable, Wire

__all__ = ["MAX_REQUESTS", "Session", "came"]

# Of one run. Against a server with many routes and a key a whole run takes about 500
MAX_REQUESTS = 1500
# Served models that are asked whether they can do what an API needs
MAX_MODELS_TRIED = 4

Kind = Literal["plain", "again", "stream", "counted"]
# What turns the plain request into the others
_VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "again": {},
    "stream": {"stream": True},
    "counted": {"stream": True, "stream_options": {"include_usage": True}},
}
# How servers say that a model, or the server as built, cannot do what a route is for
_CANNOT = ("does not support", "not supported", "not implemented", "chat template", "not offered")


class Session:
    """See the module.

    Args:
        wire: The way to the server.
        model: The model to use for everything, or None for the first that can do it.
    """

    def __init__(self, wire: Wire, model: str | None = None) -> None:
        self.wire = wire
        self.deadline = 0.0
        self.last: Answer | None = None
        self._wanted = model
        self._answers: dict[tuple[str, ...], Answer] = {}
        self._events: dict[tuple[str, ...], Events] = {}
        self._models: dict[str, str] = {}
        self._absent: dict[str, str] = {}

    def begin(self, timeout_s: float) -> None:
        """Give what follows so many seconds."""
        self.deadline = time.monotonic() + timeout_s
        self.last = None

    def send(self, request: Request) -> Answer:
        """Send, and take whatever comes.

        Raises:
            Fault: No connection can be made any more.
            Skip: The run has sent all it may send.
        """
        if self.wire.sent >= MAX_REQUESTS:
            raise Skip(f"this run has sent its {MAX_REQUESTS} requests")
        try:
            self.last = self.wire.send(request, self.deadline)
        except Unreachable as error:
            self.last = Answer(request, broken=str(error))
            raise Fault("a connection", str(error), self.last) from error
        return self.last

    def whole(self, request: Request) -> Answer:
        """Send, and insist on a whole answer.

        Raises:
            Fault: It is not.
        """
        return _insist(self.send(request))

    def get(self, target: str, **fields: Any) -> Answer:
        """Send a GET; ``fields`` are those of Request. The answer is whole."""
        return self.whole(Request("GET", target, **fields))

    def request(self, api: Api, body: dict[str, Any], **fields: Any) -> Request:
        """A POST to an API."""
        return Request("POST", api.path, headers=api.headers, body=body, **fields)

    def post(self, api: Api, **changes: Any) -> Answer:
        """Send the API's small request with some fields changed. The answer is whole.

        Raises:
            Skip: The API is not served, or does not answer even the small request.
        """
        return self.whole(self.request(api, self.body(api, **changes)))

    def body(self, api: Api, **changes: Any) -> dict[str, Any]:
        """The API's small request with some fields changed.

        Raises:
            Skip: As ``post``.
        """
        return {"model": self.model(api), **api.body, **changes}

    def reply(self, api: Api, kind: Kind = "plain") -> Answer:
        """The answer to the small request or one of its variants, asked once per run.

        Raises:
            Skip: As ``post``.
            Fault: The answer is not whole, or not a success.
        """
        key = (api.name, kind)
        if key not in self._answers:
            body = self.body(api, **_VARIANTS[kind])
            self._answers[key] = self.send(self.request(api, body))
        self.last = self._answers[key]
        return _succeeded(_insist(self.last))

    def events(self, api: Api, kind: Kind = "stream") -> Events:
        """The events of a streamed answer.

        Raises:
            Skip: As ``post``.
            Fault: As ``reply``.
        """
        answer = self.reply(api, kind)
        key = (api.name, kind)
        if key not in self._events:
            self._events[key] = read_events(answer.body)
        return self._events[key]

    def once(self, target: str) -> Answer:
        """The answer to a GET, asked once per run; it need not be whole."""
        key = ("GET", target)
        if key not in self._answers:
            self._answers[key] = self.send(Request("GET", target))
        self.last = self._answers[key]
        return self.last

    def require_determinism(self, api: Api) -> None:
        """Ask the same thing twice.

        Raises:
            Skip: The two answers differ, so that a third says nothing.
        """
        first, second = (api.text(self.reply(api, kind).json) for kind in ("plain", "again"))
        if first is None or first != second:
            raise Skip("the same request was answered with two different texts")

    def ids(self) -> list[str]:
        """The served models, as far as the server lists them."""
        cards = dig(self.once("/v1/models").json, "data")
        found = [dig(card, "id") for card in cards] if isinstance(cards, list) else []
        return [name for name in found if isinstance(name, str)]

    def context(self, api: Api) -> int | None:
        """Tokens that prompt and answer of the API's model may have together, if its card says."""
        cards = dig(self.once("/v1/models").json, "data")
        name = self.model(api)
        for card in cards if isinstance(cards, list) else []:
            if dig(card, "id") == name:
                found = dig(card, "max_model_len") or dig(card, "context_length")
                return found if isinstance(found, int) else None
        return None

    def model(self, api: Api) -> str:
        """The model that answers this API.

        Raises:
            Skip: None does.
        """
        if api.name not in self._models and api.name not in self._absent:
            self._find_model(api)
        if api.name in self._absent:
            raise Skip(self._absent[api.name])
        return self._models[api.name]

    @property
    def found_model(self) -> str:
        """The first model that has answered, without asking for one; or empty."""
        return next(iter(self._models.values()), "")

    def served(self) -> list[Api]:
        """The APIs that answer."""
        found = []
        for api in APIS:
            try:
                self.model(api)
            except Skip:
                continue
            found.append(api)
        return found

    def first_answer(self, api: Api) -> Answer:
        """The answer to the first, one-token request of an API, whatever it was.

        Raises:
            Skip: The API is not served.
        """
        if (api.name, "first") not in self._answers:
            self._find_model(api)
        self.last = self._answers[api.name, "first"]
        if self._absent.get(api.name, "").startswith("not served"):
            raise Skip(self._absent[api.name])
        return self.last

    def _find_model(self, api: Api) -> None:
        names = [self._wanted] if self._wanted else self.ids()[:MAX_MODELS_TRIED]
        known = [name for name in self._models.values() if name in names]
        kept: Answer | None = None
        for name in [*known, *names] or ["default"]:
            short = {api.limit: api.least} if api.limit else {}
            answer = self.send(self.request(api, {"model": name, **api.body, **short}))
            if answer.status == 200 and not answer.broken:
                self._models[api.name] = name
                self._answers[api.name, "first"] = answer
                return
            if kept is None or not _says_absent(answer):
                kept = answer
            if answer.status in (404, 405, 501) and not _names(answer, name):
                break  # the route is not there; other models make no difference
        assert kept is not None
        self._answers[api.name, "first"] = kept
        if _says_absent(kept):
            self._absent[api.name] = f"not served: {kept.status} on {api.path}"
        else:
            self._absent[api.name] = f"{api.path} does not answer, see replies.{api.name}"


def came(answer: Answer) -> str:
    """An answer in a few words: its status, its kind, and how it begins."""
    if not answer.status:
        return answer.broken
    kind = answer.header("content-type").partition(";")[0] or "no content-type"
    end = f" ({answer.broken})" if answer.broken else ""
    return f"{answer.status} {kind}{end}: {excerpt(answer.text) or '(no body)'}"


def _insist(answer: Answer) -> Answer:
    if answer.broken:
        raise Fault("a whole answer", came(answer), answer)
    return answer


def _succeeded(answer: Answer) -> Answer:
    if answer.status != 200:
        raise Fault("status 200", came(answer), answer)
    return answer


def _says_absent(answer: Answer) -> bool:
    said = answer.text[:2000].lower()
    return answer.status in (404, 405, 501) or (
        400 <= answer.status < 500 and any(words in said for words in _CANNOT)
    )


def _names(answer: Answer, model: str) -> bool:
    return model in answer.text[:2000]
