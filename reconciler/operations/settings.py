"""Each target's credentials, from its variables.

Imported only by commands that need credentials: pydantic-settings takes longer to load than most commands to run.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from reconciler.errors import SettingsError
from reconciler.model.address import TargetName
from reconciler.operations.variables import Variables
from reconciler.service.credentials import Credentials

WHERE_TO_SET = "set it in the environment, in a file of RECONCILER_SECRETS_DIR or, outside of CI, in .env"
CREDENTIALS = ("CLIENT_ID", "CLIENT_SECRET")
"""The fields of a target's credentials, as its variables end."""


def _usable(value: str) -> str:
    stripped = value.strip()
    if not stripped:
        raise ValueError("is blank")
    if not stripped.isprintable():
        raise ValueError("contains control characters")
    return stripped


class TargetSettings(BaseSettings):
    """The settings of one target; a variable's name is a prefix and the field's name in upper case."""

    model_config = SettingsConfigDict(hide_input_in_errors=True, frozen=True)

    client_id: Annotated[str, BeforeValidator(_usable)]
    client_secret: Annotated[SecretStr, BeforeValidator(_usable)]

    def __init__(self, target: TargetName, variables: Variables) -> None:
        super().__init__(target=target, variables=variables)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """One source, so that only `Variables` knows where variables come from."""
        return (_VariablesSource(settings_cls, **init_settings()),)


class _VariablesSource(PydanticBaseSettingsSource):
    """Reads the fields of one target through `Variables`."""

    def __init__(self, settings: type[BaseSettings], target: TargetName, variables: Variables) -> None:
        super().__init__(settings)
        self._target = target
        self._variables = variables

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        return self._variables.get(_variable(self._target, field_name)), field_name, False

    def __call__(self) -> dict[str, Any]:
        values = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in values.items() if value is not None}


def credentials(target: TargetName, variables: Variables) -> Credentials:
    """The credentials of `target`. Raises SettingsError that names every missing or invalid variable, but no value."""
    found = credentials_or_faults(target, variables)
    if isinstance(found, Credentials):
        return found
    raise SettingsError(
        ", ".join(f"{name} {fault}" for name, fault in found.items()), where=target, remedy=WHERE_TO_SET
    )


def credentials_or_faults(target: TargetName, variables: Variables) -> Credentials | dict[str, str]:
    """The credentials of `target`, or what is wrong with each variable that is, by name, without its value.

    Raises SettingsError for a file of variables that cannot be used.
    """
    try:
        settings = TargetSettings(target, variables)
    except ValidationError as problem:
        faults = [
            (_variable(target, str(error["loc"][0])), error["ctx"]["error"] if "ctx" in error else None)
            for error in problem.errors()
        ]
    else:
        return Credentials(settings.client_id, settings.client_secret.get_secret_value())
    # Outside of the handler: a validation error holds the values.
    return {name: _fault(name, reason, variables) for name, reason in faults}


def _fault(name: str, reason: object, variables: Variables) -> str:
    return "is not set" if reason is None else f"from {variables.source(name)} {reason}"


def _variable(target: TargetName, field_name: str) -> str:
    return f"{target.variable_prefix}{field_name.upper()}"
