from __future__ import annotations

import logging
import warnings
from argparse import Namespace
from collections import Counter
from typing import Any

import pytest
from fastapi.routing import APIRoute

from server.route_table import ROUTES, rows

# Every set of tasks for which upstream registers something of its own.
TASK_SETS = (
    ("generate",),
    ("embed", "token_embed", "classify", "score"),
    ("transcription", "realtime"),
    ("render",),
)
# What FastAPI itself adds, and what upstream mounts with no method of its own.
WITHOUT_METHODS = {"/metrics": "GET", "/v1/realtime": "GET"}


class AnyModel:
    """A model configuration for which every pooling router is registered."""

    def get_pooling_task(self, tasks: tuple[str, ...]) -> str:
        return "embed"

    def __getattr__(self, name: str) -> Any:
        return False


def upstream_args(**opened: Any) -> Namespace:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    args: Namespace = make_arg_parser(FlexibleArgumentParser()).parse_args(["--model", "x"])
    for name, value in opened.items():
        setattr(args, name, value)
    return args


def upstream_routes(args: Namespace, tasks: tuple[str, ...]) -> set[tuple[str, str]]:
    from vllm.entrypoints.launchers.app import build_app

    found = set()
    for route in build_app(args, tasks, AnyModel()).routes:
        path = getattr(route, "path", "")
        for method in getattr(route, "methods", None) or [WITHOUT_METHODS[path]]:
            found.add((method, path))
    return found


@pytest.fixture(scope="module")
def upstream() -> set[tuple[str, str]]:
    """Every route of upstream, with every mode, option and task set switched on and off."""
    root_level = logging.root.level
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from vllm.config import ProfilerConfig

        found: set[tuple[str, str]] = set()
        for tasks in TASK_SETS:
            found |= upstream_routes(upstream_args(), tasks)
        patch.setenv("VLLM_SERVER_DEV_MODE", "1")
        patch.setenv("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "1")
        patch.setenv("VLLM_ENABLE_COHERE_API", "1")
        opened = upstream_args(
            enable_tokenizer_info_endpoint=True,
            enable_fault_tolerance=True,
            enable_scale_out=True,
            profiler_config=ProfilerConfig(profiler="torch", torch_profiler_dir="/tmp"),
        )
        found |= upstream_routes(opened, ("generate",))
        opened.tokens_only = True
        patch.delenv("VLLM_SERVER_DEV_MODE")
        found |= upstream_routes(opened, ("generate",))
    logging.root.setLevel(root_level)  # upstream's bootstrap for SageMaker raises it
    return found


# Registered only with a package that is not installed; read from upstream's source.
NEEDS_COHERE = {("POST", "/cohere/v2/chat"), ("POST", "/cohere/v2/chat/render")}


def test_table_has_every_route_of_upstream(upstream: set[tuple[str, str]]) -> None:
    assert upstream - {(row.method, row.path) for row in ROUTES} == set()


def test_table_has_no_row_that_upstream_lacks(upstream: set[tuple[str, str]]) -> None:
    rows_of_upstream = {(row.method, row.path) for row in ROUTES if not row.own}
    assert rows_of_upstream - upstream - NEEDS_COHERE == set()


def test_own_rows_are_none_of_upstream(upstream: set[tuple[str, str]]) -> None:
    assert {(row.method, row.path) for row in ROUTES if row.own} & upstream == set()


def test_no_row_stands_twice() -> None:
    counts = Counter((row.method, row.path) for row in ROUTES)
    assert [pair for pair, count in counts.items() if count > 1] == []


def test_reason_stands_where_a_route_is_closed_and_only_there() -> None:
    for row in ROUTES:
        assert bool(row.reason) == (row.disposition in {"refused", "later"}), row.path


def test_served_rows_are_the_handlers_of_the_application(app: Any) -> None:
    handlers = {
        (method, route.path)
        for route in app.routes.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    served = {(row.method, row.path) for found in rows(["served"]).values() for row in found}
    assert handlers == served
