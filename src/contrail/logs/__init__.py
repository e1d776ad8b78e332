"""Logs of attempts: received byte for byte, kept in compressed chunks, searched, followed, downloaded, expired."""

from contrail.logs.query import Cursor, LogFilter
from contrail.logs.service import Logs

__all__ = ["Cursor", "LogFilter", "Logs"]
