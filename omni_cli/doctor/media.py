"""The decoders that vLLM uses for pictures, sound and video; looked for, not imported."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from omni_cli.doctor.finding import Finding, note, ok

__all__ = ["media"]

# What vLLM 0.32 loads, by module: vllm/multimodal/{image,audio,video}.py and media/audio.py
PICTURES = {"PIL": "pillow"}
SOUND = {"soundfile": "soundfile", "av": "av"}
RESAMPLING = {"soxr": "soxr", "scipy": "scipy", "torchaudio": "torchaudio"}
VIDEO = {"cv2": "opencv-python-headless", "torchcodec": "torchcodec"}


def media() -> Iterator[Finding]:
    """One finding per kind of input."""
    yield _kind("pictures", PICTURES, PICTURES)
    yield _kind("sound", SOUND, SOUND)
    yield _kind("sound at another rate", RESAMPLING, {"soxr": "soxr"})
    yield _kind("video", VIDEO, {"cv2": "opencv-python-headless"})
    program = shutil.which("ffmpeg")
    yield ok("ffmpeg", program or "is not installed, and not needed by vLLM")


def _kind(name: str, able: dict[str, str], advised: dict[str, str]) -> Finding:
    """Any of the modules will do; those advised are what to install."""
    found = [module for module in able if find_spec(module) is not None]
    if found:
        return ok(name, f"decoded by {', '.join(found)}")
    missing = " or ".join(able)
    # Of this interpreter: the shell's own pip may belong to another
    way_out = f"{sys.executable} -m pip install {' '.join(advised.values())}"
    return note(name, f"cannot be read: {missing} is missing", way_out)
