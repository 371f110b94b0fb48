"""Mistakes that one file of `config/` can have: text in which ¦ marks the place, and the names of the messages."""

from __future__ import annotations

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
SIGNED = "verification: {header: X, algorithm: hmac-sha1, "

WHOLE = [
    ("¦target: {}", "unknown-key"), ("targets: ¦[a/b]", "wrong-type"), ("targets:¦", "no-value"),
    ("subscriptions: ¦~", "no-value"), ("subscriptions: ¦null", "no-value"), ("subscriptions: ¦text", "wrong-type"),
    ("targets: {¦Europe/staging: {}}", "invalid-name"), ("targets: {¦europe: {}}", "invalid-name"),
    ("targets: {¦a/b/c: {}}", "invalid-name"), ("targets: {¦-a/b: {}}", "invalid-name"),
    ('targets: {¦"*/b": {}}', "invalid-name"), ('targets: {¦"a/b\\n": {}}', "invalid-name"),
    ("subscriptions: {¦europe: {}}", "invalid-name"), ("subscriptions: {¦europe/stag*: {}}", "invalid-name"),
    ("subscriptions: {¦europe/staging/x: {}}", "invalid-name"),
    ("subscriptions: {europe/staging: {¦One: null}}", "invalid-name"),
    ("subscriptions: {europe/staging: {¦a_b: null}}", "invalid-name"),
    ('subscriptions: {europe/staging: {¦"": null}}', "invalid-name"),
    ("subscriptions: {europe/staging: ¦}", "no-value"),
    ("subscriptions: {europe/staging: {one: ¦}}", "empty-subscription"),
    ("subscriptions: {europe/staging: ¦[one]}", "wrong-type"),
    ("subscriptions: {¦asia/staging: {}}", "undeclared-target"),
    ('subscriptions: {¦"asia/*": {}}', "undeclared-target"), ("state:¦", "no-value"), ("state: ¦null", "no-value"),
    ("state: ¦''", "invalid-value"), ("state: ¦' state.jsonl'", "invalid-value"),
    ('state: ¦"a\\u202eb"', "invalid-value"), ("state: ¦[git:b]", "wrong-type"),
    ("state: ¦postgresql://app:hunter2@host/db", "state-password"), ("record: ¦0123", "invalid-value"),
    ("record: ¦5F0C8F5E9A1D4B7C8E2F3A4B5C6D7E8F", "invalid-value"), ("record: ¦{id: x}", "wrong-type"),
    ("recipients: ¦[]", "no-recipients"), ("recipients: ¦age1", "wrong-type"),
    ("recipients: [¦age1short]", "bad-recipient"), ("recipients: [¦~]", "no-value"),
    (f"recipients: [¦{KEY.upper()}]", "bad-recipient"), (f"recipients: [¦{KEY[:-1]}q]", "bad-recipient"),
    (f"recipients: [{KEY}, ¦{KEY[:30]}z{KEY[31:]}]", "bad-recipient"),
    (f"recipients: [{KEY}, ¦{KEY}]", "duplicate-recipient"), ("verification: ¦[]", "wrong-type"),
    ("verification: ¦{algorithm: hmac-sha1}", "missing-key"), ("verification: ¦{header: X}", "missing-key"),
    ("verification: {header: ¦'X Y', algorithm: hmac-sha1}", "invalid-value"),
    ("verification: {header: X, algorithm: ¦md5}", "invalid-value"), (SIGNED + "encoding: ¦utf8}", "invalid-value"),
    (SIGNED + "key_encoding: ¦ascii}", "invalid-value"), (SIGNED + "content: ¦body}", "invalid-value"),
    (SIGNED + "content: ¦'{body}{body}'}", "invalid-value"),
    (SIGNED + "content: ¦'{body}{timestamp}'}", "invalid-value"), (SIGNED + 'prefix: ¦"a\\n"}', "invalid-value"),
    (SIGNED + "enforce: ¦yes}", "invalid-value"), (SIGNED + 'enforce: ¦"true"}', "invalid-value"),
    (SIGNED + "enforce: ¦True}", "invalid-value"), (SIGNED + "enforce: ¦}", "no-value"), ("parity: ¦[]", "wrong-type"),
    ("parity: {¦ignored: []}", "unknown-key"), ("parity: {ignore: ¦{}}", "wrong-type"),
    ("parity: {ignore: [¦offers]}", "wrong-type"), ("parity: {ignore: [¦{reason: x}]}", "missing-key"),
    ("parity: {ignore: [¦{address: x}]}", "missing-key"),
    ("parity: {ignore: [{address: ¦europe/staging, reason: x}]}", "invalid-value"),
    ("parity: {ignore: [{address: ¦, reason: x}]}", "no-value"),
    ("parity: {ignore: [{address: x, reason: ¦' '}]}", "invalid-value"),
    ('parity: {ignore: [{address: x, reason: ¦"a\\u202e"}]}', "invalid-value"),
    ("parity: {ignore: [{address: x, reason: ¦}]}", "no-value"),
]  # fmt: skip

SUBSCRIPTIONS = [
    ("¦~", "empty-subscription"), ("¦Null", "empty-subscription"), ('¦"null"', "wrong-type"), ("¦[]", "wrong-type"),
    ("¦|-\n      null", "wrong-type"),
    ("{¦eventCode: [], eventCodes: [ONB10001], webhookUrl: https://x.test}", "unknown-key"),
    ("{eventCodes: ¦[], webhookUrl: https://x.test}", "no-codes"),
    ("{eventCodes: ¦ONB10001, webhookUrl: https://x.test}", "wrong-type"),
    ("{eventCodes: ¦null, webhookUrl: https://x.test}", "no-value"),
    ("{eventCodes: [¦onb10001, ONB10002], webhookUrl: https://x.test}", "invalid-value"),
    ("{eventCodes: [¦ONB10001٣], webhookUrl: https://x.test}", "invalid-value"),
    ('{eventCodes: [¦"ONB10001\\n"], webhookUrl: https://x.test}', "invalid-value"),
    ("{eventCodes: [ONB10002, ¦[ONB10001]], webhookUrl: https://x.test}", "wrong-type"),
    ("{eventCodes: [¦~], webhookUrl: https://x.test}", "no-value"),
    ("{eventCodes: [ONB10001, LOA10001, ¦ONB10001], webhookUrl: https://x.test}", "duplicate-code"),
    ("{eventCodes: [ONB10001], webhookUrl: ¦}", "no-value"),
    ("{eventCodes: [ONB10001], webhookUrl: ¦{hooks: }}", "wrong-type"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks"}', "unmatched-brace"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}}"}', "unmatched-brace"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{Hooks}"}', "unmatched-brace"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{}/x"}', "unmatched-brace"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hook}/x"}', "unknown-variable"),
    ("{eventCodes: [ONB10001], webhookUrl: ¦http://x.test}", "url-http"),
    ("{eventCodes: [ONB10001], webhookUrl: ¦x.test}", "url-not-absolute"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"https://me@hooks.test/#x"}', "url-user-info"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}/{attempt}?a={attempt}"}', "attempt-twice"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"https://{attempt}.x.test/"}', "attempt-in-host"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}/#{attempt}"}', "url-fragment"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}/{{attempt}}"}', "literal-attempt"),
    ('{eventCodes: [ONB10001], webhookUrl: ¦"{hooks}/{attempt}/{{attempt}}"}', "literal-attempt"),
    (f'{{eventCodes: [ONB10001], webhookUrl: ¦"{{hooks}}/{"{{" * 1021}"}}', "url-too-long"),
    (f'{{eventCodes: [ONB10001], webhookUrl: ¦"https://x.test/{{attempt}}{"x" * 2010}"}}', "url-too-long"),
    ("¦SAME: {eventCodes: [ONB10001]}", "missing-field"), ("¦SAME: {}", "missing-field"),
]  # fmt: skip

TARGET_FIELDS = [
    ("¦url: x, {ok}", "unknown-key"), ("auth_url: ¦ftp://x.test, base_url: https://x.test", "url-scheme"),
    ("auth_url: ¦http://x.test, base_url: https://x.test", "url-http"),
    ("auth_url: https://x.test, base_url: ¦https://x.test/?a=b", "url-query"),
    ("auth_url: https://x.test, base_url: ¦", "no-value"), ("audience_base: ¦urn:x, {ok}", "url-not-absolute"),
    ("audience_base: ¦[], {ok}", "wrong-type"), ("overlap: ¦Refuse, {ok}", "invalid-value"),
    ("replace: ¦null, {ok}", "no-value"), ("unknown: ¦never, {ok}", "invalid-value"),
    ("unknown: ¦retry, {ok}", "retry-without-attempt"), ("vars: ¦[], {ok}", "wrong-type"),
    ("vars: {¦name: x}, {ok}", "invalid-name"), ("vars: {¦attempt: x}, {ok}", "invalid-name"),
    ("vars: {¦Hooks: x}, {ok}", "invalid-name"), ("vars: {hooks: ¦~}, {ok}", "no-value"),
    ("vars: {hooks: ¦[x]}, {ok}", "wrong-type"), ('vars: {hooks: ¦"a\\tb\\u0007"}, {ok}', "invalid-value"),
]  # fmt: skip


def in_subscription(marked: str) -> str:
    """Return the file in which a subscription is this, or in which its name is marked and the rest follows SAME."""
    name, value = ("¦one", marked[7:]) if marked.startswith("¦SAME: ") else ("one", marked)
    return f"subscriptions:\n  europe/staging:\n    {name}: {value}\n"


def in_target(marked: str) -> str:
    """Return the file in which a target has these fields, {ok} for the required ones, and a subscription."""
    fields = marked.replace("{ok}", "auth_url: https://x.test, base_url: https://x.test")
    if "vars: {¦" in marked:
        return f"targets: {{a/b: {{{fields}}}}}"
    url = "{hooks}" if "vars" in marked else "https://hooks.test"
    wanted = f'subscriptions: {{a/b: {{one: {{eventCodes: [ONB10001], webhookUrl: "{url}"}}}}}}'
    return f"targets: {{a/b: {{{fields}}}}}\n{wanted}"


MISTAKEN = [
    *WHOLE,
    *((in_subscription(marked), name) for marked, name in SUBSCRIPTIONS),
    *((in_target(marked), name) for marked, name in TARGET_FIELDS),
]
"""All of them, as whole files."""
