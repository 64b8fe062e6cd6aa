from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from engine_bridge.errors import ChannelClosed
from engine_bridge.status import RuntimeStatus
from server.errors import ApiError

CHAT = {"model": "talker", "messages": [{"role": "user", "content": "Hello"}]}


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> httpx.Response:
    return await client.post(path, json=body)


class TestChoice:
    async def test_model_chooses_the_stage(self, client: httpx.AsyncClient) -> None:
        reply = await post(client, "/v1/chat/completions", **CHAT)
        assert (reply.status_code, reply.json()) == (200, {"stage": "chat"})

    async def test_without_model_the_first_stage_that_can_serves(
        self, client: httpx.AsyncClient
    ) -> None:
        reply = await post(client, "/v1/completions", prompt="Hello")
        assert reply.json() == {"stage": "chat"}
        reply = await post(client, "/v1/embeddings", input="Hello")
        assert reply.json()["stage"] == "embed"

    async def test_unknown_model_is_404_with_the_served_names(
        self, client: httpx.AsyncClient
    ) -> None:
        for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/responses", "/invocations"):
            reply = await post(client, path, **{**CHAT, "model": "nobody"})
            error = reply.json()["error"]
            assert (reply.status_code, error["code"], error["param"]) == (404, 404, "model"), path
            assert error["type"] == "NotFoundError"
            assert "talker, org/embedder" in error["message"]

    async def test_unknown_model_on_messages_has_anthropics_shape(
        self, client: httpx.AsyncClient
    ) -> None:
        reply = await post(client, "/v1/messages", **{**CHAT, "model": "nobody"})
        assert reply.status_code == 404
        assert reply.json()["type"] == "error"
        assert reply.json()["error"]["type"] == "not_found_error"

    async def test_wrong_task_is_400_that_names_who_can(self, client: httpx.AsyncClient) -> None:
        reply = await post(client, "/v1/chat/completions", **{**CHAT, "model": "org/embedder"})
        assert reply.status_code == 400
        assert "Models that can: talker" in reply.json()["error"]["message"]

    async def test_task_that_nobody_has_is_400(self, client: httpx.AsyncClient) -> None:
        reply = await post(client, "/classify", input="Hello")
        assert reply.status_code == 400
        assert "No served model can" in reply.json()["error"]["message"]

    async def test_dead_stage_is_503_and_the_other_goes_on(
        self, client: httpx.AsyncClient, chat: Any
    ) -> None:
        chat.dead = True
        reply = await post(client, "/v1/chat/completions", **CHAT)
        assert reply.status_code == 503
        assert reply.headers["retry-after"].isdigit()
        assert (await post(client, "/v1/embeddings", input="a")).status_code == 200
        assert (await client.get("/health")).status_code == 503


class TestBodies:
    @pytest.mark.parametrize(
        ("path", "fields", "param"),
        [
            ("/v1/chat/completions", {"tools": []}, "tools"),
            ("/v1/chat/completions", {"tool_choice": "required"}, "tool_choice"),
            ("/v1/chat/completions", {"stream_options": {"include_usage": True}}, "stream_options"),
            (
                "/v1/chat/completions",
                {"response_format": {"type": "json_schema"}},
                "response_format",
            ),
            ("/v1/completions", {"prompt": ""}, "prompt"),
            ("/v1/completions", {"prompt": "a", "logprobs": "many"}, "logprobs"),
            ("/v1/chat/completions", {"stop": "\ud800"}, "stop"),
            ("/v1/embeddings", {"input": "\ud800"}, "input"),
        ],
    )
    async def test_refusal_of_upstreams_checks_is_400_that_names_the_field(
        self, client: httpx.AsyncClient, path: str, fields: dict[str, Any], param: str
    ) -> None:
        body = json.dumps({**CHAT, **fields} if "chat" in path else fields)
        headers = {"content-type": "application/json"}
        reply = await client.post(path, content=body, headers=headers)
        assert reply.status_code == 400, reply.text
        assert param in reply.json()["error"]["message"]
        assert param in reply.json()["error"]["param"]

    async def test_deeply_nested_body_is_no_failure(self, client: httpx.AsyncClient) -> None:
        body = b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        headers = {"content-type": "application/json"}
        for path in ("/v1/chat/completions", "/v1/responses"):
            reply = await client.post(path, content=body, headers=headers)
            assert reply.status_code < 500, path

    async def test_invalid_json_is_400(self, client: httpx.AsyncClient) -> None:
        headers = {"content-type": "application/json"}
        reply = await client.post("/v1/chat/completions", content=b"{no", headers=headers)
        assert reply.status_code == 400
        assert "not valid JSON" in reply.json()["error"]["message"]

    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings", "/tokenize"])
    async def test_other_content_type_is_415(self, client: httpx.AsyncClient, path: str) -> None:
        reply = await client.post(path, content=b"{}", headers={"content-type": "text/plain"})
        assert reply.status_code == 415

    async def test_audio_takes_a_form_only(self, client: httpx.AsyncClient) -> None:
        assert (await post(client, "/v1/audio/transcriptions", model="talker")).status_code == 415
        files = {"file": ("a.wav", b"RIFF")}
        reply = await client.post("/v1/audio/transcriptions", data={"model": "nobody"}, files=files)
        assert reply.status_code == 404
        assert "nobody" in reply.json()["error"]["message"]

    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings"])
    async def test_declared_size_above_the_bound_is_413(
        self, client: httpx.AsyncClient, path: str
    ) -> None:
        reply = await post(client, path, model="talker", input="x" * 20_000)
        assert reply.status_code == 413
        assert reply.headers["connection"] == "close"

    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings"])
    async def test_streamed_size_above_the_bound_is_413(
        self, client: httpx.AsyncClient, path: str
    ) -> None:
        given = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal given
            while True:
                given += 1000
                yield b" " * 1000

        headers = {"content-type": "application/json"}
        reply = await client.post(path, content=endless(), headers=headers)
        assert reply.status_code == 413
        assert given <= 12_000

    async def test_field_that_upstream_trips_over_is_named(self, client: httpx.AsyncClient) -> None:
        reply = await post(client, "/v1/chat/completions", **CHAT, structured_outputs=5)
        assert reply.status_code == 400
        assert "structured_outputs" in reply.json()["error"]["message"]

    async def test_error_body_stays_small_and_echoes_nothing(
        self, client: httpx.AsyncClient
    ) -> None:
        messages = [{"secretvalue": n} for n in range(300)]
        reply = await post(client, "/v1/chat/completions", model="talker", messages=messages)
        assert reply.status_code == 400
        assert len(reply.content) < 4000
        assert "secretvalue" not in reply.text


class TestStreams:
    async def test_frames_come_as_they_are(self, client: httpx.AsyncClient, chat: Any) -> None:
        reply = await post(client, "/v1/chat/completions", **CHAT, stream=True)
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.text == 'data: {"x":1}\n\ndata: [DONE]\n\n'
        assert chat.closed == 1

    async def test_error_before_the_first_token_has_its_status(
        self, client: httpx.AsyncClient, chat: Any
    ) -> None:
        error = {"message": "no", "type": "BadRequestError", "param": "n", "code": 400}
        chat.frames = [f"data: {json.dumps({'error': error})}\n\n", "data: [DONE]\n\n"]
        reply = await post(client, "/v1/chat/completions", **CHAT, stream=True)
        assert (reply.status_code, reply.json()) == (400, {"error": error})
        assert chat.closed == 1

    async def test_failure_in_the_middle_is_one_error_frame_and_one_end(
        self, client: httpx.AsyncClient, chat: Any
    ) -> None:
        chat.frames = ['data: {"x":1}\n\n', RuntimeError("secret")]
        reply = await post(client, "/v1/chat/completions", **CHAT, stream=True)
        frames = reply.text.split("\n\n")
        assert reply.status_code == 200
        assert json.loads(frames[1].removeprefix("data: "))["error"]["code"] == 500
        assert frames[2:] == ["data: [DONE]", ""]
        assert "secret" not in reply.text

    async def test_missing_terminator_is_added(self, client: httpx.AsyncClient, chat: Any) -> None:
        chat.frames = ['data: {"x":1}\n\n']
        reply = await post(client, "/v1/chat/completions", **CHAT, stream=True)
        assert reply.text.count("data: [DONE]\n\n") == 1


class TestFailures:
    async def test_unexpected_exception_is_500_without_its_text(
        self, client: httpx.AsyncClient, chat: Any
    ) -> None:
        chat.error = RuntimeError("secret")
        reply = await post(client, "/v1/chat/completions", **CHAT)
        assert reply.status_code == 500
        assert reply.json()["error"]["type"] == "InternalServerError"
        assert "secret" not in reply.text
        assert reply.headers["x-omni-rank"] == "2"

    async def test_refusal_of_a_stage_keeps_its_status(
        self, client: httpx.AsyncClient, chat: Any
    ) -> None:
        chat.error = ApiError(422, "cannot", type_="Odd", param="n")
        reply = await post(client, "/v1/chat/completions", **CHAT)
        assert reply.json() == {
            "error": {"message": "cannot", "type": "Odd", "param": "n", "code": 422}
        }

    async def test_unknown_path_is_404(self, client: httpx.AsyncClient) -> None:
        for path in ("/nothing", "/v1/models/", "/v1/chat/completions/"):
            assert (await client.get(path)).status_code == 404, path

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("GET", "/v1/chat/completions", {"POST"}),
            ("POST", "/v1/models", {"GET"}),
            ("PUT", "/v1/embeddings", {"POST"}),
            ("DELETE", "/ping", {"GET", "HEAD", "POST"}),
        ],
    )
    async def test_wrong_method_is_405_with_allow(
        self, client: httpx.AsyncClient, method: str, path: str, allowed: set[str]
    ) -> None:
        reply = await client.request(method, path)
        assert reply.status_code == 405
        assert set(reply.headers["allow"].split(", ")) == allowed
        assert reply.json()["error"]["type"] == "MethodNotAllowedError"

    async def test_refused_route_is_404_with_its_reason(self, client: httpx.AsyncClient) -> None:
        reply = await client.post("/collective_rpc")
        assert reply.status_code == 404
        assert "development mode" in reply.json()["error"]["message"]

    async def test_later_route_is_501_with_its_reason(self, client: httpx.AsyncClient) -> None:
        reply = await client.get("/v1/realtime")
        assert reply.status_code == 501
        assert "not offered yet" in reply.json()["error"]["message"]

    async def test_optional_route_is_403_until_its_option_is_set(
        self, client: httpx.AsyncClient, chat: Any
    ) -> None:
        assert (await post(client, "/inference/v1/generate", model="talker")).status_code == 403
        chat.options.add("enable_scale_out")
        assert (await post(client, "/inference/v1/generate", model="talker")).status_code == 200


class TestPassThrough:
    async def test_body_and_id_arrive_and_our_routing_does_not(
        self, client: httpx.AsyncClient
    ) -> None:
        body = {"model": "org/embedder", "input": "Hello"}
        reply = await client.post("/v1/embeddings", json=body, headers={"x-request-id": "mine"})
        found = reply.json()
        assert json.loads(found["body"]) == body
        assert found["id"] == reply.headers["x-request-id"] == "mine"
        assert {"router", "endpoint", "path_params", "app"}.isdisjoint(found["keys"])

    async def test_query_chooses_the_stage_where_there_is_no_body(
        self, client: httpx.AsyncClient
    ) -> None:
        assert (await client.get("/load")).json()["stage"] == "chat"
        assert (await client.get("/load?model=org/embedder")).json()["stage"] == "embed"


class TestModels:
    async def test_list_has_every_stage(self, client: httpx.AsyncClient) -> None:
        cards = (await client.get("/v1/models")).json()["data"]
        assert [card["id"] for card in cards] == ["talker", "org/embedder"]

    async def test_name_may_contain_slashes(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/models/org/embedder")).json()["id"] == "org/embedder"
        assert (await client.get("/v1/models/org%2Fembedder")).json()["id"] == "org/embedder"

    async def test_unknown_is_404(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/models/org/other")).status_code == 404


class TestAbout:
    async def test_probes_answer_from_the_parents_status(
        self, client: httpx.AsyncClient, parent: Any
    ) -> None:
        for path in ("/livez", "/readyz", "/startupz", "/health"):
            assert (await client.get(path)).status_code == 200, path
            assert (await client.head(path)).status_code == 200, path
        parent.now = RuntimeStatus(started_at=0.0, stages={"chat": "failed"})
        assert (await client.get("/readyz")).json()["waiting_for"] == ["stage chat"]
        assert (await client.get("/livez")).status_code == 200

    async def test_version_tells_both(self, client: httpx.AsyncClient) -> None:
        found = (await client.get("/version")).json()
        assert found["version"] == "9.9"
        assert found["vllm_version"].startswith("0.32")

    async def test_metrics_are_the_parents(self, client: httpx.AsyncClient, parent: Any) -> None:
        reply = await client.get("/metrics")
        assert reply.text == "# HELP a A.\n"
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        for error in (ChannelClosed("gone"), TimeoutError()):
            parent.error = error
            assert (await client.get("/metrics")).status_code == 503

    async def test_docs_need_no_other_site(self, client: httpx.AsyncClient) -> None:
        page = (await client.get("/docs")).text
        assert "http://" not in page
        assert "https://" not in page
        for asset in ("swagger-ui-bundle.js", "swagger-ui.css"):
            assert f"/docs/{asset}" in page
            assert (await client.get(f"/docs/{asset}")).status_code == 200
        assert (await client.get("/docs/../app.py")).status_code == 404

    async def test_openapi_has_own_and_passed_routes(self, client: httpx.AsyncClient) -> None:
        document = (await client.get("/openapi.json")).json()
        assert "post" in document["paths"]["/v1/chat/completions"]
        assert document["paths"]["/v1/embeddings"]["post"] == {"summary": "theirs"}
        assert "/sleep" not in document["paths"]
        assert {"Theirs", "ChatCompletionRequest"} <= set(document["components"]["schemas"])
