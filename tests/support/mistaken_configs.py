"""Mistakes that one file of `config/` can have: text in which ¦ marks the place, and words of the message."""

from __future__ import annotations

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

SECTIONS = [
    ("¦target: {}", "did you mean 'targets'?); valid keys: parity, recipients, subscriptions, targets, verification"),
    ("targets: ¦[a/b]", "targets: expected a mapping, got a list; write `key: value` lines, indented beneath it"),
    ("targets:¦", "targets: expected a mapping, got no value"),
    ("subscriptions: ¦~", "subscriptions: expected a mapping, got no value"),
    ("subscriptions: ¦null", "subscriptions: expected a mapping, got no value"),
    ("subscriptions: ¦text", "subscriptions: expected a mapping, got text"),
]
NAMES = [
    (
        "targets: {¦Europe/staging: {}}",
        (
            "expected a target region/environment, got 'Europe/staging';"
            " use a-z, 0-9 and -, starting with a letter or digit"
        ),
    ),
    ("targets: {¦europe: {}}", "expected a target region/environment"),
    ("targets: {¦a/b/c: {}}", "expected a target region/environment"),
    ("targets: {¦-a/b: {}}", "expected a target region/environment"),
    ('targets: {¦"*/b": {}}', "expected a target region/environment"),
    ('targets: {¦"a/b\\n": {}}', "got 'a/b\\n'"),
    ("subscriptions: {¦europe: {}}", "expected a pattern region/environment (either may be *), got"),
    ("subscriptions: {¦europe/stag*: {}}", "expected a pattern region/environment (either may be *), got"),
    ("subscriptions: {¦europe/staging/x: {}}", "expected a pattern region/environment (either may be *), got"),
    ("subscriptions: {europe/staging: {¦One: null}}", "expected a subscription name, got"),
    ("subscriptions: {europe/staging: {¦a_b: null}}", "expected a subscription name, got"),
    ('subscriptions: {europe/staging: {¦"": null}}', "expected a subscription name, got"),
    ("subscriptions: {europe/staging: ¦}", "europe/staging: expected a mapping, got no value"),
    (
        "subscriptions: {europe/staging: {one: ¦}}",
        "one: no value; to exclude the subscription here, write `null` in full",
    ),
    ("subscriptions: {europe/staging: ¦[one]}", "europe/staging: expected a mapping"),
]
SUBSCRIPTIONS = [
    ("¦~", "one: no value; to exclude the subscription here, write `null`"),
    ("¦Null", "one: no value; to exclude the subscription here, write `null`"),
    ('¦"null"', "one: expected a mapping, got text"),
    ("¦[]", "one: expected a mapping, got a list"),
    (
        "{¦eventCode: [], eventCodes: [ONB10001], webhookUrl: https://x.example}",
        "unknown key 'eventCode' in one (did you mean 'eventCodes'?); valid keys: eventCodes, webhookUrl",
    ),
    (
        "{eventCodes: ¦[], webhookUrl: https://x.example}",
        "eventCodes is empty; add a code, or write null for the subscription to exclude it",
    ),
    ("{eventCodes: ¦ONB10001, webhookUrl: https://x.example}", "eventCodes: expected a list, got text"),
    ("{eventCodes: ¦null, webhookUrl: https://x.example}", "eventCodes: expected a list, got no value"),
    (
        "{eventCodes: [¦onb10001, ONB10002], webhookUrl: https://x.example}",
        "eventCodes: not an event code: 'onb10001'; use three capital letters and five digits, for example ONB10011",
    ),
    ("{eventCodes: [¦ONB1000], webhookUrl: https://x.example}", "three capital letters and five digits"),
    ("{eventCodes: [¦ONB10001٣], webhookUrl: https://x.example}", "not an event code"),
    ('{eventCodes: [¦"ONB10001\\n"], webhookUrl: https://x.example}', "not an event code: 'ONB10001\\n'"),
    (
        "{eventCodes: [¦[ONB10001]], webhookUrl: https://x.example}",
        "eventCodes: expected text, got a list; write a single value; quote text that begins with { or [",
    ),
    ("{eventCodes: [¦~], webhookUrl: https://x.example}", "expected text, got no value"),
    ("{eventCodes: [ONB10001, LOA10001, ¦ONB10001], webhookUrl: https://x.example}", "duplicate event code ONB10001"),
    ("{eventCodes: [ONB10001], webhookUrl: ¦}", "webhookUrl: expected text, got no value"),
    ("{eventCodes: [ONB10001], webhookUrl: ¦{hooks: }}", "webhookUrl: expected text, got a mapping"),
    (
        '{eventCodes: [ONB10001], webhookUrl: ¦"{hooks"}',
        (
            "webhookUrl: unmatched brace in '{hooks'; use {region}, {environment}, {name} or a variable of the target;"
            " write {{ and }} for literal braces"
        ),
    ),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}}"}', "unmatched brace in '{"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{Hooks}"}', "unmatched brace in '{"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{}/x"}', "unmatched brace in '{"),
    (
        '{eventCodes: [ONB10001], webhookUrl: ¦"{hook}/x"}',
        (
            "webhookUrl: unknown variable hook for europe/staging (did you mean 'hooks'?);"
            " available: environment, hooks, name, region; define more under `vars` of the target"
        ),
    ),
    (
        "{eventCodes: [ONB10001], webhookUrl: ¦http://x.example}",
        "webhookUrl uses http, which is allowed for loopback addresses only: 'http://x.example'; use https",
    ),
    (
        "{eventCodes: [ONB10001], webhookUrl: ¦x.example}",
        "webhookUrl is not an absolute URL: 'x.example'; write the full URL: https://host/path",
    ),
    ("¦SAME: {eventCodes: [ONB10001]}", "europe/staging/one: missing webhookUrl"),
    ("¦SAME: {}", "europe/staging/one: missing eventCodes and webhookUrl"),
]
TARGET_FIELDS = [
    (
        "¦url: x, {ok}",
        "unknown key 'url' in a/b; valid keys: audience_base, auth_url, base_url, overlap, replace, vars",
    ),
    ("auth_url: ¦ftp://x.example, base_url: https://x.example", "auth_url is neither https nor http"),
    (
        "auth_url: https://x.example, base_url: ¦https://x.example/?a=b",
        "base_url has a query, but paths are appended to it; remove the ? and everything after it",
    ),
    ("auth_url: https://x.example, base_url: ¦", "base_url: expected text, got no value"),
    ("audience_base: ¦urn:x, {ok}", "audience_base is not an absolute URL"),
    ("audience_base: ¦[], {ok}", "audience_base: expected text"),
    ("overlap: ¦Refuse, {ok}", "overlap: invalid value 'Refuse'; expected one of: allow, refuse"),
    ("replace: ¦null, {ok}", "replace: expected text, got no value"),
    ("vars: ¦[], {ok}", "vars: expected a mapping"),
    ("vars: {¦name: x}, {ok}", "the variable name name is reserved; use another name"),
    ("vars: {¦Hooks: x}, {ok}", "vars: invalid variable name 'Hooks'; use a-z, 0-9 and _, starting with a letter"),
    ("vars: {hooks: ¦~}, {ok}", "hooks: expected text, got no value"),
    ("vars: {hooks: ¦[x]}, {ok}", "hooks: expected text"),
]
OTHERS = [
    ("recipients: ¦[]", "recipients is empty; add one, or remove the key"),
    ("recipients: ¦age1", "recipients: expected a list, got text; write [one, two], or one `- ` line for each"),
    ("recipients: [¦age1short]", "not an age X25519 public key"),
    ("recipients: [¦~]", "recipients: expected text, got no value; add a value, or remove the key"),
    (f"recipients: [¦{KEY.upper()}]", "use the public key (age1 and 58 characters), never the secret key"),
    (
        f"recipients: [¦{KEY[:-1]}q]",
        (
            "recipients: not an age X25519 public key; its checksum does not match (a typo?);"
            " copy the line that `age-keygen -y` prints"
        ),
    ),
    (f"recipients: [{KEY}, ¦{KEY[:30]}z{KEY[31:]}]", "not an age X25519 public key"),
    (f"recipients: [{KEY}, ¦{KEY}]", "duplicate recipient: already listed at"),
    ("verification: ¦[]", "verification: expected a mapping"),
    ("verification: ¦{algorithm: hmac-sha1}", "verification: missing header; add `header`"),
    ("verification: ¦{header: X}", "verification: missing algorithm; add `algorithm`"),
    ("verification: {header: ¦'X Y', algorithm: hmac-sha1}", "header: invalid value 'X Y'; use an HTTP header name"),
    (
        "verification: {header: X, algorithm: ¦md5}",
        "algorithm: invalid value 'md5'; expected one of: hmac-sha1, hmac-sha256, hmac-sha512",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, encoding: ¦utf8}",
        "encoding: invalid value 'utf8'; expected one of: base64, hex",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, key_encoding: ¦ascii}",
        "key_encoding: invalid value 'ascii'; expected one of: base64, hex, utf8",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, content: ¦body}",
        "content: invalid value 'body'; use {body} exactly once; otherwise only {header:NAME} and text without braces",
    ),
    ("verification: {header: X, algorithm: hmac-sha1, content: ¦'{body}{body}'}", "use {body} exactly once"),
    ("verification: {header: X, algorithm: hmac-sha1, content: ¦'{body}{timestamp}'}", "use {body} exactly once"),
    (
        'verification: {header: X, algorithm: hmac-sha1, prefix: ¦"a\\n"}',
        r"prefix: invalid value 'a\n'; use printable ASCII",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, enforce: ¦yes}",
        "enforce: invalid value; expected true or false, without quotes",
    ),
    (
        'verification: {header: X, algorithm: hmac-sha1, enforce: ¦"true"}',
        "enforce: invalid value; expected true or false",
    ),
    (
        "verification: {header: X, algorithm: hmac-sha1, enforce: ¦True}",
        "enforce: invalid value; expected true or false",
    ),
    ("verification: {header: X, algorithm: hmac-sha1, enforce: ¦}", "expected text, got no value"),
    ("parity: ¦[]", "parity: expected a mapping"),
    ("parity: {¦ignored: []}", "unknown key 'ignored' in parity (did you mean 'ignore'?); valid keys: ignore"),
    ("parity: {ignore: ¦{}}", "ignore: expected a list"),
    ("parity: {ignore: [¦offers]}", "ignore: expected a mapping"),
    ("parity: {ignore: [¦{reason: x}]}", "ignore: the exception is missing address; add `address`"),
    ("parity: {ignore: [¦{address: x}]}", "ignore: the exception is missing reason; add `reason`"),
    (
        "parity: {ignore: [{address: ¦europe/staging, reason: x}]}",
        (
            "address: expected region/environment/name or a name, got 'europe/staging';"
            " for example: europe/staging/offers, */staging/offers or offers"
        ),
    ),
    ("parity: {ignore: [{address: ¦, reason: x}]}", "address: expected text, got no value"),
    (
        "parity: {ignore: [{address: x, reason: ¦' '}]}",
        "reason: expected printable text; explain why the two may differ",
    ),
    ('parity: {ignore: [{address: x, reason: ¦"a\\u202e"}]}', "reason: expected printable text"),
    ("parity: {ignore: [{address: x, reason: ¦}]}", "reason: expected text, got no value"),
]


def in_subscription(marked: str) -> str:
    """The file in which a subscription is this, or in which its name is marked and it is what follows SAME."""
    name, value = ("¦one", marked[7:]) if marked.startswith("¦SAME: ") else ("one", marked)
    return f"subscriptions:\n  europe/staging:\n    {name}: {value}\n"


def in_target(marked: str) -> str:
    """The file in which a target has these fields, {ok} for those it must have, and a subscription that uses them."""
    fields = marked.replace("{ok}", "auth_url: https://x.example, base_url: https://x.example")
    wanted = (
        "" if "vars: {¦" in marked else '\nsubscriptions: {a/b: {one: {eventCodes: [ONB10001], webhookUrl: "{hooks}"}}}'
    )
    if "vars" not in marked:
        wanted = wanted.replace("{hooks}", "https://hooks.example")
    return f"targets: {{a/b: {{{fields}}}}}{wanted}"


MISTAKEN = [
    *(marked for marked, _ in SECTIONS + NAMES + OTHERS),
    *(in_subscription(marked) for marked, _ in SUBSCRIPTIONS),
    *(in_target(marked) for marked, _ in TARGET_FIELDS),
]
"""All of them, as whole files."""
