#!/bin/sh
# Install the system tools that the tests run omni in (shells, a terminal), where that needs no
# question: as root, with apt-get. Anywhere else it says what to install. It never fails: a test
# whose tool is missing is skipped, or fails in CI (CI=true).
#
# Environment: none of its own; apt's proxies and mirrors come from apt's configuration.
set -u

tools="bash zsh fish tmux" # packages of Debian and Ubuntu, each named as its command
limit=180                  # seconds for each of apt-get's two steps; a mirror that is down must not hold up the tests

say() { printf '%s\n' "system: $*" >&2; }

missing() {
    found=
    for tool in $tools; do command -v "$tool" >/dev/null || found="$found $tool"; done
    printf '%s' "${found# }"
}

apt() { # ARGUMENTS...; quiet unless it fails
    said=$(DEBIAN_FRONTEND=noninteractive timeout "$limit" apt-get -qq -o DPkg::Lock::Timeout=60 \
        -o Acquire::Retries=2 "$@" 2>&1 </dev/null) && return
    last=$(printf '%s\n' "$said" | grep -v '^$' | tail -n 1)
    return 1
}

wanted=$(missing)
if [ -z "$wanted" ]; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    say "the tests that need $wanted will be skipped; on Debian and Ubuntu: sudo apt-get install $wanted"
    exit 0
fi
say "installing for the tests: $wanted"
last=
# shellcheck disable=SC2086 # one word per package
apt install -y --no-install-recommends $wanted ||
    { apt update && apt install -y --no-install-recommends $wanted; } ||
    say "apt-get could not install them: ${last:-no reason given}"
exit 0
