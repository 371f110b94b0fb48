"""The sandbox's own endpoints, below `/_sandbox`: what the operator of the service can see and do."""

from reconciler.errors import ReconcilerError
from reconciler.sandbox.checks import json_object
from reconciler.sandbox.deliveries import Deliveries
from reconciler.sandbox.exchange import Request, Response, json_response, refusal
from reconciler.sandbox.world import World


class Admin:
    """State, removal and events. Bodies must have the content type JSON, which a web page cannot send."""

    def __init__(self, world: World, deliveries: Deliveries) -> None:
        self._world = world
        self._deliveries = deliveries

    def show_state(self, _: Request) -> Response:
        """GET /_sandbox/state: `World.describe`."""
        return json_response(200, self._world.describe())

    def remove_subscription(self, request: Request) -> Response:
        """POST /_sandbox/remove `{"subscriptionId"}`: 200, or 404 if there is no such subscription."""
        subscription_id = json_object(request).get("subscriptionId")
        if not isinstance(subscription_id, str):
            raise refusal(400, "invalid_request", "subscriptionId must be a string")
        if not self._world.remove_subscription(subscription_id):
            raise refusal(404, "not_found", "subscription not found or already removed")
        return json_response(200, {"removed": subscription_id})

    def trigger_event(self, request: Request) -> Response:
        """POST /_sandbox/trigger `{"code", "properties"?, "target"?, "count"?}`: 202 and how many deliveries start."""
        document = json_object(request)
        code, properties = document.get("code"), document.get("properties")
        target, count = document.get("target"), document.get("count", 1)
        if (
            not isinstance(code, str)
            or not isinstance(properties, dict | None)
            or not isinstance(target, str | None)
            or not isinstance(count, int)
            or set(document) - {"code", "properties", "target", "count"}
        ):
            raise refusal(400, "invalid_request", "expected the field code and optionally properties, target and count")
        try:
            deliveries = self._deliveries.trigger(code, properties, target, count)
        except ReconcilerError as problem:
            raise refusal(400, "invalid_request", str(problem)) from None
        return json_response(202, {"deliveries": deliveries})
