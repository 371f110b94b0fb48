"""How a notification can be signed: the values that `verification:` in `config/` accepts (SERVICE.md, section 6)."""

from __future__ import annotations

ALGORITHMS = {"hmac-sha256": "sha256", "hmac-sha512": "sha512", "hmac-sha1": "sha1"}
"""Each algorithm with the name that `hashlib` has for its hash."""

ENCODINGS = ("base64", "hex")
"""Of a signature."""

KEY_ENCODINGS = ("utf8", *ENCODINGS)
"""Of a secret."""
