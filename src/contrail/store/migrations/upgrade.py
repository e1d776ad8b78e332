"""Running migrations with Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine


def upgrade(engine: Engine, folder: Path) -> None:
    """Bring the database behind `engine` to the newest revision in `folder`."""
    config = Config()
    config.set_main_option("script_location", str(folder))
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
