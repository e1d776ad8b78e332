"""A live server inside the test process, for tests that speak the tracking API."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn

from contrail.model.settings import Settings
from contrail.server import app as application
from contrail.server.routes import mlflow, pages
from contrail.store.database import Database
from contrail.tracking import Tracking

API = "/api/2.0/mlflow/"


class TrackingServer:
    """The tracking half of a server on a port of its own."""

    def __init__(self, folder: Path, **given: Any):
        self.settings = Settings({"data_dir": str(folder), **given}, environ={})
        self.database = Database.open(self.settings.store_address, durability="process")
        self.tracking = Tracking(self.database, self.settings)
        jobs = SimpleNamespace(engines={"local": None}, accelerators=lambda: ["CPU"])
        services: Any = SimpleNamespace(
            settings=self.settings, database=self.database, tracking=self.tracking, jobs=jobs
        )
        app = application.build_app(services)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(app, loop="uvloop", http="httptools", log_level="warning", lifespan="off")
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True
        )
        self.http = httpx.Client(base_url=self.url, timeout=30)

    def start(self) -> TrackingServer:
        self._thread.start()
        with httpx.Client(transport=httpx.HTTPTransport(retries=5)) as client:
            client.get(self.url + "/health").raise_for_status()
        return self

    def close(self) -> None:
        self.http.close()
        self._server.should_exit = True
        self._thread.join(20)
        self.database.close()

    def post(
        self, path: str, body: Any = None, *, raw: bytes | None = None, **options: Any
    ) -> httpx.Response:
        """POST below MLflow's prefix."""
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}
        content = raw if raw is not None else json.dumps(body).encode()
        return self.http.post(API + path, content=content, headers=headers, **options)

    def get(self, path: str, **query: Any) -> httpx.Response:
        """GET below MLflow's prefix."""
        return self.http.get(API + path, params=query)

    def new_run(self, experiment_id: str = "0", **fields: Any) -> str:
        """Create a run and return its id."""
        answer = self.post("runs/create", {"experiment_id": experiment_id, **fields})
        assert answer.status_code == 200, answer.text
        run_id: str = answer.json()["run"]["info"]["run_id"]
        return run_id

    def new_experiment(self, name: str) -> str:
        """Create an experiment and return its id."""
        answer = self.post("experiments/create", {"name": name})
        assert answer.status_code == 200, answer.text
        identity: str = answer.json()["experiment_id"]
        return identity


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackingServer]:
    """One tracking server per test module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(application, "_ROUTES", (mlflow, pages))
        server = TrackingServer(tmp_path_factory.mktemp("tracking")).start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def client(api: TrackingServer) -> Iterator[Any]:
    """The official client, talking to `api`."""
    import mlflow

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", api.url)
        patch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        mlflow.set_tracking_uri(api.url)
        yield mlflow.MlflowClient(api.url)
        mlflow.set_tracking_uri(None)
