"""Everything that can go wrong and be said to a user, as one tree.

    ContrailError
    ├── InvalidParameterValue      400  a field is missing, malformed or not allowed
    ├── BadRequest                 400
    ├── ResourceAlreadyExists      400
    ├── InvalidState               400  the thing is deleted; MLflow's word, a kinder status
    ├── ResourceLimitExceeded      400  a quota; clients do not retry it
    ├── Unauthenticated            401
    ├── PermissionDenied           403
    ├── ResourceDoesNotExist       404
    ├── EndpointNotFound           404
    ├── ResourceConflict           409  the thing is not in a state that allows this
    ├── RequestTooLarge            413
    ├── RequestLimitExceeded       429  a rate; clients wait and retry
    ├── InternalError              500
    ├── NotImplementedHere         501
    └── TemporarilyUnavailable     503

`code` is MLflow's `error_code`; the docstring of a class is its default message.
"""

from __future__ import annotations


class ContrailError(Exception):
    """Something went wrong."""

    code = "INTERNAL_ERROR"
    http_status = 500

    def __init__(self, message: str | None = None):
        self.message = message if message is not None else (self.__doc__ or self.code)
        super().__init__(self.message)


class InvalidParameterValue(ContrailError):
    """A value in the request is missing or not allowed."""

    code = "INVALID_PARAMETER_VALUE"
    http_status = 400


class BadRequest(ContrailError):
    """The request does not make sense."""

    code = "BAD_REQUEST"
    http_status = 400


class ResourceAlreadyExists(ContrailError):
    """Something with this name already exists."""

    code = "RESOURCE_ALREADY_EXISTS"
    http_status = 400


class InvalidState(ContrailError):
    """This is not possible because of the state that it is in."""

    code = "INVALID_STATE"
    http_status = 400


class ResourceLimitExceeded(ContrailError):
    """A limit is reached."""

    code = "RESOURCE_LIMIT_EXCEEDED"
    http_status = 400


class Unauthenticated(ContrailError):
    """Sign in, or send a valid token."""

    code = "UNAUTHENTICATED"
    http_status = 401


class PermissionDenied(ContrailError):
    """You may not do this."""

    code = "PERMISSION_DENIED"
    http_status = 403


class ResourceDoesNotExist(ContrailError):
    """There is nothing with this id or name."""

    code = "RESOURCE_DOES_NOT_EXIST"
    http_status = 404


class EndpointNotFound(ContrailError):
    """There is no such endpoint on this server."""

    code = "ENDPOINT_NOT_FOUND"
    http_status = 404


class ResourceConflict(ContrailError):
    """This is not possible in the present state."""

    code = "RESOURCE_CONFLICT"
    http_status = 409


class RequestTooLarge(ContrailError):
    """The request is larger than this server accepts."""

    code = "INVALID_PARAMETER_VALUE"
    http_status = 413


class RequestLimitExceeded(ContrailError):
    """Too many requests; wait a moment."""

    code = "REQUEST_LIMIT_EXCEEDED"
    http_status = 429


class InternalError(ContrailError):
    """The server failed; its log says why."""


class NotImplementedHere(ContrailError):
    """This server does not offer that."""

    code = "NOT_IMPLEMENTED"
    http_status = 501


class TemporarilyUnavailable(ContrailError):
    """The server cannot do this right now; try again soon."""

    code = "TEMPORARILY_UNAVAILABLE"
    http_status = 503
