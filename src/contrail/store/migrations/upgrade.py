"""Running migrations with Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Engine

from contrail.model.errors import ResourceConflict


def upgrade(engine: Engine, folder: Path) -> None:
    """Bring the database behind `engine` to the newest revision in `folder`.

    Raises ResourceConflict when it has a revision that is not there.
    """
    config = Config()
    config.set_main_option("script_location", str(folder))
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise ResourceConflict(
                f"This version of Contrail does not know the database's schema ({error}); install a newer version"
            ) from error
