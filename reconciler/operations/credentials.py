"""Reads the credentials of a target from its variables.

Only commands that call the service import this module: pydantic-settings takes longer to load than most commands
take to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from reconciler.errors import Message, SettingsError, step

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from reconciler.model.address import TargetName
    from reconciler.operations.settings import Sources


def _usable(value: str) -> str:
    stripped = value.strip()
    if not stripped:
        raise ValueError("is blank")
    if not stripped.isprintable():
        raise ValueError("contains control characters")
    return stripped


class Credentials(BaseSettings):
    """The client id and the client secret of a target.

    Each is read from a variable whose name is the target's prefix followed by the field name in upper case.
    """

    model_config = SettingsConfigDict(hide_input_in_errors=True, frozen=True)

    client_id: Annotated[str, BeforeValidator(_usable)]
    client_secret: Annotated[SecretStr, BeforeValidator(_usable)]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the only source, so that `Sources` alone decides where settings come from."""
        return (_OfTarget(settings_cls, **init_settings()),)


class _OfTarget(PydanticBaseSettingsSource):
    """Reads the fields of one target through `Sources`."""

    def __init__(self, settings: type[BaseSettings], target: TargetName, sources: Sources) -> None:
        super().__init__(settings)
        self._target = target
        self._sources = sources

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        return self._sources.get(f"{self._target.variable_prefix}{field_name.upper()}"), field_name, False

    def __call__(self) -> dict[str, Any]:
        values = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in values.items() if value is not None}


def credentials_of(target: TargetName, sources: Sources) -> Credentials:
    """Return the credentials of a target.

    Raises SettingsError with a message for every missing or invalid variable; the messages contain no values.
    """
    try:
        return Credentials(target=target, sources=sources)  # type: ignore[call-arg]
    except ValidationError as problem:
        faults = [(str(error["loc"][0]), error.get("ctx", {}).get("error")) for error in problem.errors()]
    # Outside of the handler: a validation error contains the values.
    advice = step("set it in the environment, as a file in RECONCILER_SECRETS_DIR or, outside CI, in .env")
    messages = []
    for field, fault in faults:
        name = f"{target.variable_prefix}{field.upper()}"
        if fault is None:
            messages.append(Message("credential-missing", "not set", name, (advice,)))
        else:
            messages.append(Message("credential-invalid", f"{fault} ({sources.source(name)})", name, (advice,)))
    raise SettingsError(*messages)
