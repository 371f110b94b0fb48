# Prints a Python 3.11 or later: of the PATH, or of those that the runner has for `actions/setup-python`.
is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

for python in python3 python3.{14,13,12,11} python "${RUNNER_TOOL_CACHE:-/nonexistent}"/Python/3.*/*/bin/python3; do
  if is_new_enough "$python"; then
    command -v "$python"
    exit
  fi
done
echo "::error::no Python 3.11 or later on this runner; add a step before this one: uses: actions/setup-python, with python-version: '3.13'" >&2
exit 1
