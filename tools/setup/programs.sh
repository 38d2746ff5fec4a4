#!/bin/sh
# Install Debian's packages that only tests need, where they are missing and where we may: a browser
# for the pages, Node for their modules, curl, jq and sqlite3 for what is there to be copied. A test
# whose program is missing is skipped with the reason; with CI=true that is a failure.
set -eu

have() {
    for name in "$@"; do
        command -v "$name" >/dev/null && return
    done
    return 1
}

may_install() {
    [ "$(id -u)" = 0 ] && have apt-get
}

install() {
    echo "Installing for the tests (once): $* …"
    apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

# Chromium without its window opens a page in a third of the time; not every release has it apart.
if ! have chromium-headless-shell && may_install; then
    install chromium-headless-shell || true
fi
wanted=
have chromium-headless-shell chromium chromium-browser google-chrome || wanted="chromium"
have node nodejs || wanted="$wanted nodejs"
for name in curl jq sqlite3; do
    have "$name" || wanted="$wanted $name"
done
[ -n "$wanted" ] || exit 0
# shellcheck disable=SC2086  # a list of package names
if may_install && install $wanted; then
    exit 0
fi
echo "Not installed, so some tests will be skipped: $wanted" >&2
