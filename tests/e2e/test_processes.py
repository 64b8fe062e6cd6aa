"""Who runs, what each process holds, and one truth from every rank."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.serving import CHAT_MODEL, EMBED_MODEL, Server

pytestmark = pytest.mark.engine

HEAVY = re.compile(r"/(libtorch_cpu|libtorch|_C\.[^/]*vllm)[^/]*\.so|/site-packages/vllm/")


def sockets_of(pid: int) -> dict[str, str]:
    """Paths of the UNIX sockets that a process holds, by inode; unnamed ones are left out."""
    paths = {}
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        parts = line.split()
        if len(parts) > 7:
            paths[parts[6]] = parts[7]
    held = {}
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(fd)
        except FileNotFoundError:
            continue
        inode = target.removeprefix("socket:[").removesuffix("]")
        if target.startswith("socket:[") and inode in paths:
            held[inode] = paths[inode]
    return held


def total(text: str, name: str, **labels: str) -> float:
    """Sum of a family's samples called `name` with these labels."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


class TestFamily:
    def test_each_stage_has_exactly_one_engine(self, omni_server: Server) -> None:
        family = omni_server.family()
        assert {kind: len(members) for kind, members in family.items()} == {
            "zygote": 1,
            "engine": 2,
            "frontend": 3,
        }

    def test_parent_loads_neither_torch_nor_vllm(self, omni_server: Server) -> None:
        maps = Path(f"/proc/{omni_server.pid}/maps").read_text()
        assert not HEAVY.search(maps)

    def test_every_child_belongs_to_the_parent(self, omni_server: Server) -> None:
        members = [child for kind in omni_server.family().values() for child in kind]
        assert {child.ppid() for child in members} == {omni_server.pid}

    def test_zygote_has_one_thread(self, omni_server: Server) -> None:
        (zygote,) = omni_server.family()["zygote"]
        assert zygote.num_threads() == 1


class TestFrontend:
    def test_sockets_are_those_of_its_own_rank(self, omni_server: Server) -> None:
        ranks = {}
        for frontend in omni_server.family()["frontend"]:
            rank = int(frontend.cmdline()[0].split()[-1])
            held = sockets_of(frontend.pid).values()
            ranks[rank] = {Path(path).name for path in held if "omni-run-" in path}
        assert ranks == {rank: {f"in{rank}", f"out{rank}"} for rank in range(3)}

    def test_it_cannot_start_or_signal_an_engine(self, omni_server: Server) -> None:
        (zygote,) = omni_server.family()["zygote"]
        peers = {os.readlink(fd) for fd in Path(f"/proc/{zygote.pid}/fd").iterdir()}
        zygote_sockets = {target for target in peers if target.startswith("socket:")}
        for frontend in omni_server.family()["frontend"]:
            targets = set()
            for fd in Path(f"/proc/{frontend.pid}/fd").iterdir():
                try:
                    targets.add(os.readlink(fd))
                except FileNotFoundError:
                    continue
            assert not targets & zygote_sockets
            assert "anon_inode:[pidfd]" not in targets

    def test_new_connections_reach_every_rank(self, omni_server: Server) -> None:
        ranks = Counter(
            httpx.get(f"{omni_server.url}/v1/models", timeout=30).headers["x-omni-rank"]
            for _ in range(60)
        )
        assert set(ranks) == {"0", "1", "2"}
        assert min(ranks.values()) >= 10, ranks


class TestMetrics:
    def test_each_request_is_counted_once_whoever_answers(self, omni_server: Server) -> None:
        before = httpx.get(f"{omni_server.url}/metrics", timeout=30).text
        ranks = set()
        for _ in range(12):
            answer = httpx.post(
                f"{omni_server.url}/v1/completions",
                json={"model": CHAT_MODEL, "prompt": "One, two,", "max_tokens": 2},
                timeout=60,
            )
            assert answer.status_code == 200
            ranks.add(answer.headers["x-omni-rank"])
        assert ranks == {"0", "1", "2"}
        scrapes = {}
        for _ in range(9):
            answer = httpx.get(f"{omni_server.url}/metrics", timeout=30)
            scrapes[answer.headers["x-omni-rank"]] = answer.text
        assert set(scrapes) == {"0", "1", "2"}
        for text in scrapes.values():
            for name, labels in (
                ("vllm:request_success_total", {"model_name": CHAT_MODEL}),
                (
                    "omni_http_requests_total",
                    {"route": "/v1/completions", "method": "POST", "code": "200"},
                ),
            ):
                assert total(text, name, **labels) - total(before, name, **labels) == 12
            tokens = "vllm:generation_tokens_total"
            counted = total(text, tokens, model_name=CHAT_MODEL)
            assert counted - total(before, tokens, model_name=CHAT_MODEL) == 24

    def test_series_name_no_process(self, omni_server: Server) -> None:
        text = httpx.get(f"{omni_server.url}/metrics", timeout=30).text
        labels = {
            label
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            for label in sample.labels
        }
        assert not labels & {"pid", "rank", "worker", "process", "client"}
        for model in (CHAT_MODEL, EMBED_MODEL):
            assert f'vllm:num_requests_running{{engine="0",model_name="{model}"}} 0.0' in text


class TestRunDirectory:
    def test_it_is_private(self, omni_server: Server) -> None:
        paths = [path for path in sockets_of(omni_server.pid).values() if "omni-run-" in path]
        folder = next(parent for parent in Path(paths[0]).parents if "omni-run-" in parent.name)
        assert folder.stat().st_mode & 0o777 == 0o700
