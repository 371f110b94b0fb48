"""The text of a new `config/`, which is also the example: two subscriptions on each target, every key explained."""

from collections.abc import Iterator, Sequence

REGIONS = ("europe", "usa")
ENVIRONMENTS = ("staging", "production")
"""The documented ones (SERVICE.md, section 1)."""

CONFIG_FILES = ("targets.yaml", "subscriptions.yaml")

SCHEMA = ".schema.json"
"""The name of the JSON Schema beside the files: one that begins with a dot is not read as configuration."""

_FOR_EDITORS = f"# yaml-language-server: $schema={SCHEMA}\n\n"

_TARGETS = """\
# Where the service is: one entry for each region and environment, written region/environment. The addresses that end in
# .example are placeholders: replace them with those that the operator gave you.
#
#   auth_url:       tokens: POST {auth_url}/oauth/token
#   base_url:       subscriptions: POST {base_url}/notification/webhooksubscription
#   audience_base:  a token's audience: {audience_base}/{api_name}; default: base_url
#   vars:           your own variables, for webhookUrl in subscriptions.yaml
#   overlap:        refuse (default) | allow: the same event code in two subscriptions of one service
#   replace:        if a URL changes: overlap (default) creates the new subscription beside the old one, so that no
#                   event is lost; wait creates it after the old one is removed, so that no event comes twice
#
# Do not write credentials here. They come from the environment, two variables for each target:
#   RECONCILER_<REGION>_<ENVIRONMENT>_CLIENT_ID and RECONCILER_<REGION>_<ENVIRONMENT>_CLIENT_SECRET,
# for example @PREFIX@CLIENT_ID. The variables with _AUTH_URL, _BASE_URL and _AUDIENCE_BASE override
# what is written here.
targets:
"""

_WITHOUT_RECIPIENTS = """
# The service's responses may contain a subscription's secret key. To store them encrypted, list age public keys, as
# `age-keygen` prints them:
# recipients: [age1…]
"""

_RECIPIENTS = """
# The service's responses may contain a subscription's secret key. They are stored encrypted to these age public keys:
recipients:
  - @RECIPIENT@
"""

_VERIFICATION = """
# How notifications are signed is not documented. `reconciler verification infer FILE` finds it out, and prints this
# section:
# verification: {header: X-Signature, algorithm: hmac-sha256, encoding: hex, prefix: "sha256="}
# Its other keys, with their defaults: key_encoding: utf8, content: "{body}", enforce: true.
"""

_SUBSCRIPTIONS = """\
# The desired webhook subscriptions, and the targets they are on.
#
# A pattern is written region/environment; * matches a whole segment. A more specific pattern overrides a more general
# one, field by field: "*/*", then "europe/*" and "*/staging", then europe/staging. A list replaces a list. `null`
# excludes a subscription.
subscriptions:
  "*/*":
    # Events of applications and agreements.
    applications:
      eventCodes: [ONB10001, ONB10002, ONB10003, ONB10004, LOA10013]
      # {region}, {environment}, {name} and the target's vars are substituted; write {{ and }} for literal braces.
      webhookUrl: "{hooks}/{region}/{name}"

    # Offers Provided.
    offers:
      eventCodes: [ONB10011]
      webhookUrl: "{hooks}/{region}/{name}"

  # Overrides one field for one target: the codes are still those of "*/*".
  @TARGET@:
    applications:
      webhookUrl: https://hooks.@REGION@.partner.example/applications
    # offers: null        # would exclude offers here

# `reconciler parity A B` compares two targets, such as staging with production. Declare an intended difference:
parity:
  ignore:
    - address: @TARGET@/applications
      reason: this target receives applications at an endpoint of its own
"""


def config_files(regions: Sequence[str], environments: Sequence[str], recipient: str | None = None) -> dict[str, str]:
    """The files of a `config/` by name: each region in each environment, and the age public key to encrypt to."""
    last = f"{regions[-1]}/{environments[-1]}"
    subscriptions = _SUBSCRIPTIONS.replace("@TARGET@", last).replace("@REGION@", regions[-1])
    prefix = f"RECONCILER_{regions[0]}_{environments[0]}_".replace("-", "_").upper()
    encryption = _RECIPIENTS.replace("@RECIPIENT@", recipient) if recipient else _WITHOUT_RECIPIENTS
    targets = "\n".join(_target(region, environment) for environment in environments for region in regions)
    texts = (_TARGETS.replace("@PREFIX@", prefix) + targets + encryption + _VERIFICATION, subscriptions)
    return {name: _FOR_EDITORS + text for name, text in zip(CONFIG_FILES, texts, strict=True)}


def _target(region: str, environment: str) -> str:
    return "".join(f"{line}\n" for line in _lines(region, environment))


def _lines(region: str, environment: str) -> Iterator[str]:
    """A target. Those of an environment share identity provider and audience base, but not in production."""
    yield f"  {region}/{environment}:"
    if environment == "production":
        yield f"    auth_url: https://login.{region}.lending.example"
        yield f"    base_url: https://api.{region}.lending.example"
        hooks = "https://hooks.partner.example"
    else:
        yield f"    auth_url: https://login.{environment}.lending.example"
        yield f"    base_url: https://api.{region}.{environment}.lending.example"
        yield f"    audience_base: https://api.{environment}.lending.example"
        hooks = f"https://hooks.{environment}.partner.example"
    yield "    vars:"
    yield f"      hooks: {hooks}"
