"""omni's own flags, which vLLM does not have; and the groups in which help shows them."""

from __future__ import annotations

from collections.abc import Mapping

from omni_cli.flags.flag import Flag

__all__ = [
    "CROSS_ORIGIN",
    "GROUPS",
    "LISTENING",
    "OUTPUT",
    "OWN",
    "PROCESSES",
    "SECURITY",
    "SETTINGS",
]

ARGUMENTS = "Arguments"
LISTENING = "Listening"
SECURITY = "Security"
CROSS_ORIGIN = "CrossOrigin"
PROCESSES = "Processes"
OUTPUT = "Output"
SETTINGS = "Settings"

GROUPS: Mapping[str, str] = {
    ARGUMENTS: "What is served.",
    LISTENING: "The address, and what a proxy in front of it needs.",
    SECURITY: "Keys, certificates, and bounds on what a client may send.",
    CROSS_ORIGIN: "Which web pages of other origins may call.",
    PROCESSES: "What runs, and how its processes are started, watched and stopped.",
    OUTPUT: "What is said at the terminal.",
    SETTINGS: "Where settings come from, and what they are.",
}

MAX_THREADS = 1024
# A day for a start that pulls and loads a very large model; an hour for a stop.
MAX_READY_TIMEOUT_S = 86_400.0
MAX_STOP_TIMEOUT_S = 3_600.0
# One body is held in memory as a whole.
MAX_BODY_BYTES = 2**34

OWN: tuple[Flag, ...] = (
    Flag(
        dest="target",
        names=("TARGET",),
        scope="run",
        own=True,
        common=True,
        default="smollm2-135m-instruct",
        group=ARGUMENTS,
        help="A bundled model's name, a Hugging Face id, a model folder, or a PIPELINE.yaml.",
    ),
    Flag(
        dest="api_key_file",
        names=("--api-key-file",),
        repeatable=True,
        scope="run",
        own=True,
        group=SECURITY,
        metavar="FILE",
        help="File with one API key per line; repeat for more.",
    ),
    Flag(
        dest="allowed_hosts",
        names=("--allowed-hosts",),
        many="some",
        repeatable=True,
        scope="run",
        own=True,
        group=SECURITY,
        metavar="NAME",
        help="Names that a request's Host header may carry, such as *.example.org; * allows any. "
        "By default the loopback names when the server listens on loopback, else any.",
    ),
    Flag(
        dest="max_body_bytes",
        names=("--max-body-bytes",),
        kind="count",
        scope="run",
        own=True,
        low=1024,
        high=MAX_BODY_BYTES,
        default=64 * 2**20,
        group=SECURITY,
        metavar="BYTES",
        help="Largest request body, such as 64M; a larger one gets 413.",
    ),
    Flag(
        dest="start_method",
        names=("--start-method",),
        scope="run",
        own=True,
        choices=("auto", "fork", "spawn"),
        default="auto",
        group=PROCESSES,
        help="How children start: fork from one warm process, or spawn fresh ones; auto forks on "
        "the CPU and spawns on CUDA.",
    ),
    Flag(
        dest="threads",
        names=("--threads",),
        kind="integer",
        scope="run",
        own=True,
        low=1,
        high=MAX_THREADS,
        group=PROCESSES,
        help="OpenMP threads of each worker; by default one core stays free and the rest is "
        "shared.",
    ),
    Flag(
        dest="ready_timeout_s",
        names=("--ready-timeout",),
        kind="number",
        scope="run",
        own=True,
        low=1,
        high=MAX_READY_TIMEOUT_S,
        default=600.0,
        group=PROCESSES,
        metavar="SECONDS",
        help="Seconds that a child may take to become ready.",
    ),
    Flag(
        dest="stop_timeout_s",
        names=("--stop-timeout",),
        kind="number",
        scope="run",
        own=True,
        low=0,
        high=MAX_STOP_TIMEOUT_S,
        default=5.0,
        group=PROCESSES,
        metavar="SECONDS",
        help="Seconds from SIGTERM to SIGKILL when a child is stopped.",
    ),
    Flag(
        dest="print_config",
        names=("--print-config",),
        kind="switch",
        scope="run",
        own=True,
        common=True,
        default=False,
        group=SETTINGS,
        help="Show each setting with its origin, secrets masked, and start nothing.",
    ),
    Flag(
        dest="json",
        names=("--json",),
        kind="switch",
        scope="run",
        own=True,
        default=False,
        group=SETTINGS,
        help="With --print-config: as JSON.",
    ),
    Flag(
        dest="quiet",
        names=("--quiet",),
        off=("--no-quiet",),
        kind="switch",
        scope="run",
        own=True,
        default=False,
        group=OUTPUT,
        help="Say only what went wrong.",
    ),
    Flag(
        dest="verbose",
        names=("--verbose",),
        off=("--no-verbose",),
        kind="switch",
        scope="run",
        own=True,
        default=False,
        group=OUTPUT,
        help="Say more about each step.",
    ),
    Flag(
        dest="help",
        names=("--help", "-h"),
        many="optional",
        scope="run",
        own=True,
        common=True,
        group=SETTINGS,
        metavar="[=WORD]",
        help="Show this help; =all shows every flag, =GROUP a group, =WORD what names it.",
    ),
)
