"""Every route of vLLM 0.32, and what omni does with it; and omni's own.

``served``   omni's own handler, which calls upstream's serving class
``passed``   handed to upstream's own application over the chosen stage, as it is
``refused``  will not be served; 404 with the reason
``later``    not served yet; 501 with the reason

A test builds upstream's routers in every mode and compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["ROUTES", "RouteRow", "rows"]

Disposition = Literal["served", "passed", "refused", "later"]
# ``any`` is served by every stage; the others are what server.upstream finds in a stage.
Task = Literal["any", "generate", "decide", "embed", "classify", "score", "pooling", "transcribe"]
Body = Literal["none", "json", "form"]


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One method on one path.

    Attributes:
        path: A Starlette path pattern.
        task: What a stage must be able to do.
        reason: Why it is refused, or what it waits for.
        option: The stage option that opens the route; without it the route answers 403.
        own: Upstream has no such route.
    """

    method: str
    path: str
    disposition: Disposition
    task: Task = "any"
    body: Body = "none"
    reason: str = ""
    option: str = ""
    own: bool = False


def _each(
    disposition: Disposition,
    routes: str,
    *,
    task: Task = "any",
    body: Body = "none",
    reason: str = "",
    option: str = "",
    own: bool = False,
) -> list[RouteRow]:
    """One row for each ``METHOD path`` of a blank-separated list."""
    words = routes.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return [RouteRow(m, p, disposition, task, body, reason, option, own) for m, p in pairs]


_DEV = "development mode is not offered: it runs arbitrary calls in the engine"
_RL = "weight transfer for reinforcement learning is not offered"
_SLEEP = "sleep and wake-up are not offered yet"
_LORA = "adapters cannot be loaded or unloaded while the server runs"
_PROFILE = "profiling over HTTP is not offered"
_ELASTIC = "the number of engines is fixed for a run"
_FAULT = "the parent process owns fault handling"
_ABORT = "a request lives on one frontend: close its connection to stop it"
_COHERE = "Cohere's chat surface needs vLLM's optional cohere SDK, which is not installed"
_REALTIME = "the realtime WebSocket is not offered yet"
_REDOC = "it loads its script from another site; /docs works offline"

ROUTES: tuple[RouteRow, ...] = (
    *_each(
        "served", "POST /v1/chat/completions POST /v1/completions", task="generate", body="json"
    ),
    *_each("served", "POST /tokenize POST /detokenize", body="json"),
    *_each("served", "GET /v1/models GET /health GET /version GET /metrics"),
    *_each("served", "GET /docs HEAD /docs GET /openapi.json HEAD /openapi.json"),
    *_each("served", "GET /v1/models/{model:path} HEAD /health", own=True),
    *_each("served", "GET /livez HEAD /livez GET /readyz HEAD /readyz", own=True),
    *_each("served", "GET /startupz HEAD /startupz GET /docs/{asset}", own=True),
    *_each(
        "passed", "POST /v1/chat/completions/batch POST /v1/responses", task="generate", body="json"
    ),
    *_each(
        "passed",
        "GET /v1/responses/{response_id} POST /v1/responses/{response_id}/cancel",
        task="generate",
    ),
    *_each(
        "passed", "POST /v1/messages POST /v1/messages/count_tokens", task="generate", body="json"
    ),
    *_each("passed", "POST /generative_scoring", task="generate", body="json"),
    *_each("passed", "POST /v1/systemone", task="decide", body="json"),
    *_each("passed", "POST /v1/embeddings POST /v2/embed", task="embed", body="json"),
    *_each("passed", "POST /classify", task="classify", body="json"),
    *_each("passed", "POST /score POST /v1/score", task="score", body="json"),
    *_each("passed", "POST /rerank POST /v1/rerank POST /v2/rerank", task="score", body="json"),
    *_each("passed", "POST /pooling", task="pooling", body="json"),
    *_each(
        "passed",
        "POST /v1/audio/transcriptions POST /v1/audio/translations",
        task="transcribe",
        body="form",
    ),
    *_each("passed", "POST /invocations", body="json"),
    *_each("passed", "GET /ping POST /ping GET /load GET /kv_event_sources"),
    *_each("passed", "GET /tokenizer_info", option="enable_tokenizer_info_endpoint"),
    *_each(
        "passed",
        """POST /v1/chat/completions/render POST /v1/messages/render POST /v1/completions/render
        POST /v1/responses/render POST /v1/chat/completions/derender POST /v1/completions/derender
        POST /inference/v1/generate""",
        task="generate",
        body="json",
        option="enable_scale_out",
    ),
    *_each("refused", "POST /inference/v1/abort_requests POST /abort_requests", reason=_ABORT),
    *_each("refused", "GET /redoc HEAD /redoc", reason=_REDOC),
    *_each("refused", "GET /docs/oauth2-redirect HEAD /docs/oauth2-redirect", reason="no login"),
    *_each("refused", "POST /scale_elastic_ep POST /is_scaling_elastic_ep", reason=_ELASTIC),
    *_each("refused", "POST /v1/load_lora_adapter POST /v1/unload_lora_adapter", reason=_LORA),
    *_each("refused", "POST /adapters DELETE /adapters/{adapter_name}", reason=_LORA),
    *_each("refused", "POST /start_profile POST /stop_profile", reason=_PROFILE),
    *_each("refused", "POST /fault_tolerance/apply GET /fault_tolerance/status", reason=_FAULT),
    *_each("refused", "POST /cohere/v2/chat POST /cohere/v2/chat/render", reason=_COHERE),
    *_each(
        "refused",
        """GET /server_info POST /reset_prefix_cache POST /reset_mm_cache
        POST /reset_encoder_cache POST /collective_rpc POST /release_kv_cache_memory""",
        reason=_DEV,
    ),
    *_each("later", "POST /sleep POST /wake_up GET /is_sleeping", reason=_SLEEP),
    *_each(
        "refused",
        """POST /pause POST /resume GET /is_paused POST /init_weight_transfer_engine
        POST /shutdown_weight_transfer_engine POST /start_weight_update
        POST /start_draft_weight_update POST /update_weights POST /finish_weight_update
        POST /update_weight_version GET /weight_info POST /weight_checker GET /get_world_size""",
        reason=_RL,
    ),
    *_each("later", "GET /v1/realtime", reason=_REALTIME),
)


def rows(dispositions: Iterable[Disposition]) -> dict[str, list[RouteRow]]:
    """The rows of these dispositions by path, in the table's order."""
    wanted = frozenset(dispositions)
    found: dict[str, list[RouteRow]] = {}
    for row in ROUTES:
        if row.disposition in wanted:
            found.setdefault(row.path, []).append(row)
    return found
