#!/bin/sh
# Install axe, which the nightly accessibility tests run. Without it they are skipped with the reason;
# with CI=true that is a failure.
set -eu
cd "$(dirname "$0")/../web"
if ! command -v npm >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing for the tests (once): nodejs npm …"
    apt-get update -qq && apt-get install -qq -y --no-install-recommends nodejs npm >/dev/null || true
fi
if ! command -v npm >/dev/null; then
    echo "No npm, so axe is not installed and the accessibility tests will be skipped." >&2
    exit 0
fi
[ node_modules/.ready -nt package-lock.json ] && exit 0
echo "Installing axe (once, and after a change of its version) …"
npm ci --loglevel=error
touch node_modules/.ready
