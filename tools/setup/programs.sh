#!/bin/sh
# Install Debian's packages that only tests need, where they are missing and where we may: a browser
# for the pages, Node for their modules, curl, jq and sqlite3 for what is there to be copied. A test
# whose program is missing is skipped with the reason; with CI=true that is a failure.
set -eu
wanted=
command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
    command -v google-chrome >/dev/null || wanted="chromium"
command -v node >/dev/null || command -v nodejs >/dev/null || wanted="$wanted nodejs"
for name in curl jq sqlite3; do
    command -v "$name" >/dev/null || wanted="$wanted $name"
done
[ -n "$wanted" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing for the tests (once): $wanted …"
    # shellcheck disable=SC2086  # a list of package names
    if apt-get update -qq && apt-get install -qq -y --no-install-recommends $wanted >/dev/null; then
        exit 0
    fi
fi
echo "Not installed, so some tests will be skipped: $wanted" >&2
