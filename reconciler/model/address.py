"""What things are called: targets and the addresses of subscriptions."""

from __future__ import annotations


class TargetName(str):
    """One region and environment of the service, written `region/environment`."""

    __slots__ = ()

    @property
    def region(self) -> str:
        return self.partition("/")[0]

    @property
    def environment(self) -> str:
        return self.partition("/")[2]

    @property
    def variable_prefix(self) -> str:
        """What the names of this target's environment variables begin with: `RECONCILER_<REGION>_<ENVIRONMENT>_`."""
        return f"RECONCILER_{self}_".replace("/", "_").replace("-", "_").upper()


class Address(str):
    """`region/environment/name`: the identity of a subscription, whatever its codes and URL become."""

    __slots__ = ()

    @classmethod
    def of(cls, target: str, name: str) -> Address:
        return cls(f"{target}/{name}")

    @property
    def target(self) -> TargetName:
        return TargetName(self.rpartition("/")[0])

    @property
    def name(self) -> str:
        return self.rpartition("/")[2]
