"""``python -m omni_cli.completions`` (``make completions``), run by whoever changes a command: it
writes completions/omni.{bash,zsh,fish}, docs/cli.md, docs/flags.md and docs/validation.md.
"""

from __future__ import annotations

from pathlib import Path

from omni_cli.completions import SHELLS, script
from omni_cli.flags.reference import write_flags_page
from omni_cli.reference import write_reference
from omni_cli.serve.rules.page import write_page

ROOT = Path(__file__).resolve().parent.parent.parent



def main() -> None:
    """Write all of them anew."""
    for shell, text in {shell: script(shell) for shell in SHELLS}.items():
        (ROOT / "completions" / f"omni.{shell}").write_text(text)
    write_reference(ROOT / "docs" / "cli.md")
    write_flags_page(ROOT / "docs" / "flags.md")
    write_page(ROOT / "docs" / "validation.md")


if __name__ == "__main__":
    main()
