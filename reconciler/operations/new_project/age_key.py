"""Makes an age key pair: create responses are encrypted to the public key, and read with the private one."""

import os
from pathlib import Path

from msgspec import Struct

from reconciler.disk.directories import private_directory
from reconciler.disk.durable import sync_directory, written_beside

HOW_TO_ENCRYPT = (
    "run: reconciler init new-key --age-key --region europe; then copy the lines of `recipients` from"
    " new-key/config/targets.yaml to config/, and delete new-key"
)
"""How to encrypt the responses of a project that exists."""


class KeyFile(Struct, frozen=True):
    """A private key in a file that only its owner can read, and the public key."""

    path: Path
    recipient: str


def make_key(data_directory: Path) -> KeyFile:
    """A new key pair; the private key is on the disk, in a file of its own. Raises SettingsError and OSError."""
    import pyrage  # type: ignore[import-untyped]  # noqa: PLC0415 - not for those who want no key

    identity = pyrage.x25519.Identity.generate()
    recipient = str(identity.to_public())
    folder = private_directory(private_directory(data_directory) / "identities")
    path = folder / f"{recipient[:16]}.txt"
    with written_beside(path, f"# public key: {recipient}\n{identity}\n".encode(), 0o600) as beside:
        os.link(beside, path)
    sync_directory(folder)
    return KeyFile(path, recipient)
