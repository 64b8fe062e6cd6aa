#!/bin/sh
# Install omni for the CPU into .venv:  requirements/install.sh [test]
#
# `test` adds the tools of test.lock. A stamp, written last and keyed to everything that the install
# depends on, makes the next run a no-op of a few milliseconds. A mark stands in .venv while packages
# are being written; a run that finds it starts with a fresh .venv, since a killed install may have
# left half a package. pip brings uv, and uv brings the rest from the lock, without dependencies:
# the lock is complete, and what it leaves out on purpose is wanted by others' metadata.
#
# Environment: PYTHON (the interpreter), TORCH_INDEX_URL (a folder or an index that holds the torch
# wheel), OMNI_VENV (another place than .venv), and pip's and uv's own variables.
set -eu
unset CDPATH PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX

root=$(cd -- "$(dirname -- "$0")/.." && pwd)
venv=${OMNI_VENV:-$root/.venv}
python=$venv/bin/python
uv=$venv/bin/uv
mark=$venv/.omni-installing
needed_kb=2500000 # what the install takes on the disk, rounded up

say() { printf '%s\n' "$*" >&2; }
fail() { say "install: $*"; exit 2; }

key() { # of the files named, and of where they are: an editable install points there
    cat "$0" "$@" | sha256sum | cut -d' ' -f1
    printf '%s\n' "$root"
}
stamped() { # STAMP FILES...
    stamp=$1 && shift
    [ -f "$stamp" ] && [ ! -e "$mark" ] && [ -x "$python" ] && [ "$(cat "$stamp")" = "$(key "$@")" ]
}
base_done() {
    stamped "$venv/.omni-base" "$root/requirements/cpu.lock" "$root/pyproject.toml" && [ -x "$venv/bin/omni" ]
}
test_done() { stamped "$venv/.omni-test" "$root/requirements/test.lock"; }
marked() { # COMMAND...
    : >"$mark"
    "$@"
    rm -f "$mark"
}

probe='import platform, sys
libc, version = platform.libc_ver()
print(sys.implementation.name, "%d.%d" % sys.version_info[:2], sys.platform, platform.machine(), libc, version)'

fits() { # FACTS, as the probe prints them
    case $1 in "cpython 3.11 linux x86_64 glibc 2."*) [ "${1##*.}" -ge 31 ] ;; *) false ;; esac
}

find_python() { # sets `base` to an interpreter that fits, or refuses
    first=
    for base in ${PYTHON:-python3.11 python3 python}; do
        facts=$("$base" -c "$probe" 2>/dev/null) || continue
        if fits "$facts"; then return; fi
        first=${first:-$base is $facts}
    done
    needs="the CPU install needs CPython 3.11 on Linux x86-64 with glibc 2.31 or newer"
    get="apt-get install python3.11 python3.11-venv"
    case $first in
    "") fail "${PYTHON:-python3.11} was not found; $needs: $get, or name one: make install PYTHON=/path/to/python3.11" ;;
    *" linux x86_64 glibc "*) fail "$first; $needs: $get, or name one: make install PYTHON=/path/to/python3.11" ;;
    *) fail "$first; $needs. With an NVIDIA GPU: python3 -m pip install '.[cuda]'. For the client commands alone: python3 -m pip install ." ;;
    esac
}

make_venv() { # a fresh .venv, unless a sound one is there
    if [ ! -e "$mark" ] && fits "$("$python" -c "$probe" 2>/dev/null)"; then return; fi
    find_python
    "$base" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        fail "$base cannot make virtual environments; on Debian and Ubuntu: apt-get install python3.11-venv"
    rm -rf "$venv"
    mkdir -p "$venv"
    free_kb=$(df -Pk "$venv" | awk 'NR == 2 { print $4 }')
    if [ "${free_kb:-$needed_kb}" -lt "$needed_kb" ]; then
        rmdir "$venv"
        fail "$venv: $((free_kb / 1000)) MB are free on this disk, and the install takes $((needed_kb / 1000)) MB"
    fi
    say "Installing omni for the CPU into $venv: 0.6 GB to download, 2.3 GB on the disk"
    marked "$base" -m venv "$venv"
}

pin() { sed -n "s/^\($1==[^ ]*\).*/\1/p" "$root/requirements/cpu.lock"; }

bootstrap_uv() {
    wanted=$(pin uv)
    case "$("$uv" --version 2>/dev/null)" in "uv ${wanted#uv==}"*) return ;; esac
    "$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip >/dev/null
    marked "$python" -m pip install -qq --disable-pip-version-check "$wanted" ||
        fail "pip could not fetch $wanted (its reason stands above)"
}

pip_setting() { # NAME, from pip's configuration files; several values separated by commas
    "$python" -m pip config list 2>/dev/null |
        sed -n -e "s/^global\.$1='\(.*\)'\$/\1/p" -e "s/^install\.$1='\(.*\)'\$/\1/p" |
        sed 's/\\n/ /g' | tr -s ' \n' ',,' | sed 's/^,//; s/,$//'
}

follow_pip() { # uv does not read pip's settings
    if [ -z "${UV_FIND_LINKS:-}" ]; then
        UV_FIND_LINKS=$(printf '%s' "${PIP_FIND_LINKS:-}" | tr -s ' \n' ',,')
        export UV_FIND_LINKS="${UV_FIND_LINKS:-$(pip_setting find-links)}"
    fi
    if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
        index=${PIP_INDEX_URL:-$(pip_setting index-url)}
        if [ -n "$index" ]; then export UV_DEFAULT_INDEX="$index"; fi
    fi
    if [ -n "${PIP_CERT:-}" ]; then export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"; fi
    export UV_HTTP_TIMEOUT="${UV_HTTP_TIMEOUT:-180}" # seconds without a byte
    # Without a home to keep it in, the cache lies beside what is hard-linked from it.
    if [ ! -w "${HOME:-/nowhere}" ]; then export UV_CACHE_DIR="${UV_CACHE_DIR:-$venv/.uv-cache}"; fi
}

uv_install() { # its progress is for a person; its errors come in any case
    set -- --python "$python" --no-deps "$@"
    if [ -t 2 ]; then "$uv" pip install "$@"; else "$uv" pip install --quiet "$@"; fi
}

install_torch() { # by itself: TORCH_INDEX_URL is asked for nothing else
    torch=$(pin torch)
    set --
    for source in ${TORCH_INDEX_URL:-} ${PIP_EXTRA_INDEX_URL:-}; do
        case $source in
        http://* | https://*) set -- "$@" --index "$source" --find-links "$source" ;;
        *) set -- "$@" --find-links "$source" ;;
        esac
    done
    if why=$(uv_install --dry-run --only-binary torch "$@" "$torch" 2>&1); then
        marked uv_install --only-binary torch "$@" "$torch"
        return
    fi
    case $why in *"No solution found"* | *"not found in the"*) ;; *) say "$why" ;; esac
    fail "the wheel torch-${torch#torch==}-cp311-cp311-manylinux_2_28_x86_64.whl was not found;" \
        "point to the folder or the index that holds it: make install TORCH_INDEX_URL=<folder or URL>"
}

install_base() {
    install_torch
    marked uv_install --only-binary :all: -r "$root/requirements/cpu.lock"
    uv_install --no-build-isolation --editable "$root"
    # shellcheck disable=SC2046 # one word per package
    "$uv" pip uninstall --quiet --python "$python" $(sed -n 's/^\([a-z]*\) ;.*/\1/p' "$root/requirements/overrides.txt")
    compile_bytecode
    key "$root/requirements/cpu.lock" "$root/pyproject.toml" >"$venv/.omni-base"
    say "Installed omni; $venv/bin/omni --help says what it can do"
}

# Bytecode now rather than at the first command and the first start; where PYTHONDONTWRITEBYTECODE is
# set, at each of them. It only saves time, so it may fail.
compile_bytecode() {
    set -- "$root/omni_cli" "$root/server" "$root/engine_bridge" "$root/protocol"
    for package in typer shellingham pydantic pydantic_settings typing_inspection dotenv yaml msgspec h11 rich prompt_toolkit typing_extensions.py; do
        set -- "$@" "$venv"/lib/python3*/site-packages/$package
    done
    "$python" -m compileall -q -j 0 "$@" >/dev/null || true
    env -u PYTHONDONTWRITEBYTECODE HF_HUB_OFFLINE=1 "$python" - >/dev/null 2>&1 <<-'EOF' || true
	import importlib
	from engine_bridge import preload
	for name in (*preload.ENGINE_MODULES, *preload.ENGINE_CPU_MODULES, "server.frontend"):
	    importlib.import_module(name)
	EOF
}

install_test() {
    marked uv_install --only-binary :all: -r "$root/requirements/test.lock"
    key "$root/requirements/test.lock" >"$venv/.omni-test"
}

trap 'say "install: interrupted; the same command again repairs it"; exit 130' INT
if base_done && { [ "${1:-}" != test ] || test_done; }; then exit 0; fi
for found in "$venv"/lib/python3*/site-packages/vllm-*.dist-info; do
    if [ -d "$found" ]; then
        say "install: $venv holds vLLM for GPUs; it is left as it is"
        exit 0
    fi
done
if command -v flock >/dev/null; then # one install at a time; the lock is on this file
    exec 9<"$0"
    flock -n 9 || { say "Another install is running; waiting for it"; flock 9; }
fi
make_venv
bootstrap_uv
follow_pip
base_done || install_base
if [ "${1:-}" = test ]; then test_done || install_test; fi
