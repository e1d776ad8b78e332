"""Alembic's entry point: runs on the connection that `Database.migrate` hands over."""

from alembic import context

from contrail.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
