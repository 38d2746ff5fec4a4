#!/bin/sh
# Make .venv at the root and install the pinned requirements and this package into it.
# Usage: environment.sh PYTHON
set -eu
cd "$(dirname "$0")/../.."
python=$1

"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || {
    echo "$python is not Python 3.11 to 3.13. Name one: make PYTHON=python3.12 …" >&2
    exit 2
}
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    # Debian keeps the half of venv that installs pip in a package of its own.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -qq -y --no-install-recommends python3-venv
    else
        echo "$python cannot make virtual environments. On Debian: apt install python3-venv" >&2
        exit 2
    fi
fi
echo "Setting up .venv (once, and after a change of the requirements) …"
[ -x .venv/bin/python ] || "$python" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
    --require-hashes --requirement requirements.txt
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation --editable .
# On all cores, which pip does not use; where PYTHONDONTWRITEBYTECODE is set, every start would compile
# the package anew: a fifth of `check`. What a requirement brings for other Pythons cannot be compiled.
env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m compileall -q -j 0 .venv/lib tools/rl_resources || :
