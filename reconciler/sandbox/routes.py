"""Which endpoint answers a request: the sandbox as one function."""

from collections.abc import Callable
from functools import partial

from reconciler.sandbox.admin import Admin
from reconciler.sandbox.deliveries import Deliveries
from reconciler.sandbox.endpoints import create_lead, create_subscription, request_token
from reconciler.sandbox.exchange import Refusal, Request, Response, error_response
from reconciler.sandbox.world import World

_Endpoint = Callable[[Request], Response]


class Routes:
    """The endpoints of a world by path and method. `root` is the URL that all others begin with."""

    def __init__(self, world: World, deliveries: Deliveries, root: str) -> None:
        admin = Admin(world, deliveries)
        self._endpoints: dict[str, tuple[str, _Endpoint]] = {
            "/_sandbox/state": ("GET", admin.show_state),
            "/_sandbox/remove": ("POST", admin.remove_subscription),
            "/_sandbox/trigger": ("POST", admin.trigger_event),
        }
        for target in world.targets.values():
            base, auth = target.base_url.removeprefix(root), target.provider.auth_url.removeprefix(root)
            self._endpoints[f"{auth}/oauth/token"] = ("POST", partial(request_token, world, target.provider))
            create = partial(create_subscription, world, target)
            self._endpoints[f"{base}/notification/webhooksubscription"] = ("POST", create)
            self._endpoints[f"{base}/onboarding/leads"] = ("POST", partial(create_lead, world, target))

    def handle(self, request: Request) -> Response:
        """The response to any request."""
        found = self._endpoints.get(request.path)
        if found is None:
            return error_response(404, "not_found", "path not found")
        method, endpoint = found
        if request.method != method:
            return error_response(405, "method_not_allowed", f"expected method {method}", ("Allow", method))
        try:
            return endpoint(request)
        except Refusal as refused:
            return refused.response
