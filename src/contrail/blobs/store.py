"""The server's places for bytes: artifacts, volumes, and its own blobs (log chunks, code archives)."""

from __future__ import annotations

from pathlib import Path

from contrail.blobs import locations, paths
from contrail.blobs.area import Area
from contrail.blobs.folder import Folder
from contrail.model.errors import InvalidParameterValue
from contrail.model.settings import Settings


class BlobStore:
    """`artifacts` and `volumes` hold users' files, `internal` holds what only the server reads and writes."""

    def __init__(self, settings: Settings):
        root = settings.artifact_path
        if "://" in root and not root.startswith("file://"):
            from contrail.blobs.remote import Remote

            self.artifacts: Area = Remote(root)
            self.internal: Area = Remote(root.rstrip("/") + "/" + paths.RESERVED)
        else:
            self.artifacts = Folder(Path(root.removeprefix("file://")))
            self.internal = Folder(settings.data_path / "blobs")
        self.volumes: Area = Folder(settings.volumes_path)

    def place(self, path: str) -> tuple[Area, str]:
        """The area and name behind a path of the artifact routes: `<experiment>/…` or `Volumes/<c>/<s>/<v>/…`.

        Raises `InvalidParameterValue` for a path that is not safe.
        """
        path = paths.clean(path)
        first, _, rest = path.partition("/")
        return (self.volumes, rest) if first == locations.VOLUMES else (self.artifacts, path)

    def place_in(self, artifact_uri: str, path: str) -> tuple[Area, str]:
        """The area and name of `path` below a stored artifact URI; an empty path is the URI itself."""
        root = locations.inner_path(artifact_uri)
        below = paths.clean(path)
        if not root:
            raise InvalidParameterValue("This run's artifacts are not kept by this server")
        return self.place(f"{root}/{below}" if below else root)
