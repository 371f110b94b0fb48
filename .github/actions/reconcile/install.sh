# Makes a virtual environment with reconciler: its dependencies by hash, the package from this action's own checkout.
# RECONCILER_PYTHON, if a runner of your own sets it, names an interpreter that has it already.
set -euo pipefail
is_usable() { "$1" -Pc 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; } # -P: not the checkout's pip.py
python="${RECONCILER_PYTHON:-$RUNNER_TEMP/reconciler-venv/bin/python}"
if ! [ -e "$python" ] && [ -z "${RECONCILER_PYTHON:-}" ]; then
  for base in python3 python3.{14,13,12,11} python "${RUNNER_TOOL_CACHE:-/nonexistent}"/Python/3.*/*/bin/python3; do
    is_usable "$base" && break
  done
  is_usable "$base" || { echo "::error::no Python 3.11 or later with pip on this runner; add actions/setup-python"; exit 1; }
  venv=$(mktemp -d "$RUNNER_TEMP/XXXXXX")
  "$base" -Pm venv --without-pip "$venv/made"
  # pip reads index pages one by one, for as long as all the rest takes: so there are as many as cores. Nothing is built:
  # what builds a package would come unpinned. No address: it works with any index.
  cat "$GITHUB_ACTION_PATH"/requirements*.txt | awk -v cores="$(getconf _NPROCESSORS_ONLN)" -v folder="$venv" \
    '/^[a-z]/ {number = (number + 1) % cores} !/^#/ {print >(folder "/" number ".txt")}'
  for list in "$venv"/*.txt; do
    "$base" -Pm pip install -q --disable-pip-version-check --no-compile --no-deps --only-binary=:all: --require-hashes \
      --target "$(echo "$venv"/made/lib/python3*/site-packages)" -r "$list" &
  done
  for child in $(jobs -p); do wait "$child"; done
  cp -R "$GITHUB_ACTION_PATH/../../../reconciler" "$venv"/made/lib/python3*/site-packages/
  mv "$venv/made" "$RUNNER_TEMP/reconciler-venv"
fi
{ echo "python=$python"; echo "scripts=$GITHUB_ACTION_PATH"; } >>"$GITHUB_OUTPUT"
