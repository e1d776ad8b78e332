"""Artifact locations: what a client may ask for, and where a location's bytes are."""

from __future__ import annotations

from contrail.blobs import paths
from contrail.model.errors import InvalidParameterValue

SCHEME = "mlflow-artifacts:"
VOLUMES = "Volumes"
LOCATION_MAX = 2048
_VOLUME_PARTS = 4  # Volumes, catalog, schema, volume


def check(location: str) -> str:
    """The neutral form of a location that a client asked for; empty stays empty (the server chooses).

    Allowed are `mlflow-artifacts:/…` and `/Volumes/<catalog>/<schema>/<volume>/…` (also with `dbfs:`); anything else
    would let a client point the server at places of its own choice. Raises `InvalidParameterValue`.
    """
    if not location:
        return ""
    if len(location) > LOCATION_MAX:
        raise InvalidParameterValue(f"artifact_location has more than {LOCATION_MAX} characters")
    return f"{SCHEME}/{_inner(location)}"


def _inner(location: str) -> str:
    if location.startswith(SCHEME):
        rest = location[len(SCHEME) :]
        if rest.startswith("///"):
            rest = rest[2:]
        if not rest.startswith("/") or rest.startswith("//"):
            raise _refused(location)
        path = rest[1:]
    elif location.startswith(("/Volumes/", "dbfs:/Volumes/")):
        path = location.removeprefix("dbfs:")[1:]
    else:
        raise _refused(location)
    if any(sign in path for sign in "?#;"):
        raise InvalidParameterValue("artifact_location must not have a query, parameters or a fragment")
    try:
        path = paths.clean(path)
    except InvalidParameterValue as error:
        raise InvalidParameterValue(f"artifact_location: {error.message}") from None
    parts = path.split("/")
    if parts[0] == VOLUMES and len(parts) < _VOLUME_PARTS:
        raise InvalidParameterValue("artifact_location: a volume is /Volumes/<catalog>/<schema>/<volume>")
    return path


def _refused(location: str) -> InvalidParameterValue:
    shown = location if len(location) <= 200 else location[:200] + "…"
    return InvalidParameterValue(
        f"artifact_location '{shown}' is not allowed. Leave it out, or use 'mlflow-artifacts:/<path>' "
        "or '/Volumes/<catalog>/<schema>/<volume>/<path>'."
    )


def inner_path(artifact_uri: str) -> str:
    """The path behind a stored artifact URI, as the artifact routes take it; raises `InvalidParameterValue`."""
    return _inner(artifact_uri)
