"""Errors on the wire: one JSON shape for everything, MLflow's."""

from __future__ import annotations

import logging

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from contrail.model.errors import ContrailError, EndpointNotFound, InternalError, InvalidParameterValue

log = logging.getLogger(__name__)

JSON = "application/json; charset=utf-8"  # some clients guess the charset unless it is said


class ErrorMessage(msgspec.Struct):
    """Body of every answer that is not a success."""

    error_code: str
    message: str


def error_body(error: ContrailError) -> bytes:
    """The JSON body for an error."""
    return msgspec.json.encode(ErrorMessage(error.code, _sendable(error.message)))


def unexpected(error: BaseException, what: str) -> ContrailError:
    """Our own fault: the log gets the traceback, the client gets no details of it."""
    log.error("%s failed", what, exc_info=error)
    return InternalError("The server failed; its log says why")


def no_endpoint(method: str, path: str) -> EndpointNotFound:
    """The error for a path, or a method on a path, that does not exist."""
    return EndpointNotFound(f"There is no endpoint {method} {path[:200]} on this server")


def _sendable(text: str) -> str:
    """Half surrogate pairs cannot be encoded; everything else can."""
    return text.encode("utf-8", "replace").decode()


# ---------------------------------------------------------------- for the Starlette half


def error_response(error: ContrailError) -> Response:
    """An error as a response; methods of HEAD keep it short by themselves."""
    headers = {"retry-after": "1"} if error.http_status in (429, 503) else None
    return Response(error_body(error), error.http_status, headers, media_type=JSON)


async def on_contrail_error(_request: Request, error: Exception) -> Response:
    """Handler for errors that say what went wrong."""
    if not isinstance(error, ContrailError):
        raise error
    return error_response(error)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Handler for Starlette's own errors: unknown routes, wrong methods, malformed forms."""
    if isinstance(error, HTTPException) and error.status_code not in (404, 405):
        return error_response(InvalidParameterValue(str(error.detail)))
    return error_response(no_endpoint(request.method, request.url.path))
