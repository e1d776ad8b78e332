"""The database: tables, migrations, the group-commit writer and readers. Only this package knows SQL."""
