"""The operator of the service, as a program: `operator [list] | delete ID... | secret ID`.

In the drill's shell it stands for a letter to the operator and its answer. It sees what exists at the service.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

_USAGE = """\
usage: operator               what exists at the service
       operator delete ID...  delete subscriptions
       operator secret ID     the secret of a subscription
"""


def main(secrets: str, arguments: list[str]) -> int:
    """Answer one request; the exit code."""
    if any(argument.startswith("-") for argument in arguments):
        arguments = ["help"]
    match arguments:
        case [] | ["list"]:
            return _list()
        case ["delete", _, *_]:
            return max(map(_delete, arguments[1:]))
        case ["secret", subscription]:
            return _secret(Path(secrets), subscription)
    sys.stderr.write(_USAGE)
    return 1


def _list() -> int:
    existing = [one for one in _ask("state")["subscriptions"] if not one["removed"]]
    for one in existing:
        sys.stdout.write(f"{one['subscriptionId']}  {','.join(one['eventCodes'])}  {one['webhookUrl']}\n")
    if not existing:
        sys.stdout.write("There are no subscriptions.\n")
    return 0


def _delete(subscription: str) -> int:
    try:
        _ask("remove", {"subscriptionId": subscription})
    except HTTPError:
        sys.stderr.write(f"A subscription with the id {subscription} was not found.\n")
        return 1
    sys.stdout.write(f"{subscription} is deleted.\n")
    return 0


def _secret(secrets: Path, subscription: str) -> int:
    found = json.loads(secrets.read_text(encoding="utf-8")).get(subscription) if secrets.exists() else None
    if found is None:
        sys.stderr.write("The secret of this subscription is not available.\n")
        return 1
    sys.stdout.write(f"{found}\n")
    return 0


def _ask(what: str, document: dict[str, str] | None = None) -> Any:
    url = f"{os.environ['RECONCILER_SANDBOX_URL']}/_sandbox/{what}"
    data = None if document is None else json.dumps(document).encode()
    with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=10) as answer:  # noqa: S310 - loopback
        return json.loads(answer.read())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
