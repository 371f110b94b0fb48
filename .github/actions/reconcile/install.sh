# Makes a virtual environment with reconciler: its dependencies by hash, the package from this action's own checkout.
# RECONCILER_PYTHON, if a runner of your own sets it, names an interpreter that has it already.
set -euo pipefail
is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

python="${RECONCILER_PYTHON:-}"
venv="$RUNNER_TEMP/reconciler-venv"
if [ -z "$python" ] && [ ! -e "$venv/ready" ]; then
  for base in python3 python3.{14,13,12,11} python "${RUNNER_TOOL_CACHE:-/nonexistent}"/Python/3.*/*/bin/python3; do
    if is_new_enough "$base"; then break; fi
  done
  is_new_enough "$base" || { echo "::error::no Python 3.11 or later on this runner; add actions/setup-python before this step"; exit 1; }
  export PYTHONSAFEPATH=1 # the checkout may hold a pip.py of its own
  if "$base" -m pip --version >/dev/null 2>&1; then
    "$base" -m venv --clear --without-pip "$venv" # much faster
    pip=("$base" -m pip --python "$venv/bin/python")
  else
    "$base" -m venv --clear "$venv"
    pip=("$venv/bin/python" -m pip)
  fi
  lists=()
  for list in "$GITHUB_ACTION_PATH"/requirements*.txt; do lists+=(-r "$list"); done
  # Nothing is built: what builds a package would come unpinned. No address: it works with any index.
  "${pip[@]}" install -q --disable-pip-version-check --no-compile --no-deps --only-binary=:all: --require-hashes "${lists[@]}"
  cp -R "$GITHUB_ACTION_PATH/../../../reconciler" "$venv"/lib/python3*/site-packages/
  touch "$venv/ready"
fi
{ echo "python=${python:-$venv/bin/python}"; echo "scripts=$GITHUB_ACTION_PATH"; } >>"$GITHUB_OUTPUT"
