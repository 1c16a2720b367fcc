"""The predictions of a study as an ASGI application, for uvicorn or any other server that speaks the protocol.

    MERCER_MODEL=report uvicorn mercer.serve:app

``make_app`` makes one from Python. ``mercer serve`` runs the same application on a small server of its own.
"""

import os
from typing import Any

# `app` is made from the environment when a server asks for it: no name that every program can import.
__all__ = ["make_app"]


def make_app(model: str, *, most_rows: int = 10_000, most_bytes: int = 10_000_000) -> Any:
    """Return the application that predicts and explains rows with the model of a run.

    Parameters
    ----------
    model : str
        Folder that ``mercer run`` wrote, or its ``model.mercer``.
    most_rows : int, default=10000
        Most rows of one request.
    most_bytes : int, default=10000000
        Largest body of a request.

    Returns
    -------
    application
        An ASGI application: GET ``/health``, ``/schema`` and ``/metrics``, POST ``/predict`` and ``/explain``.
    """
    from mercer.app.deploy.application import Application
    from mercer.app.deploy.service import Service
    from mercer.app.schema import find_record, load_model
    from mercer.errors import DataError

    loaded, schema = load_model(model)
    try:
        record = find_record(model)
    except DataError:
        record = None  # a model file alone predicts too, without intervals
    return Application(Service(loaded, schema, record, most_rows), most_bytes)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mercer.errors import ParameterError

    model = os.environ.get("MERCER_MODEL")
    if not model:
        raise ParameterError(
            "mercer.serve: app needs the environment variable MERCER_MODEL; it is not set. Set it to the folder that "
            "`mercer run` wrote, or call mercer.serve.make_app."
        )
    globals()["app"] = make_app(model)
    return globals()["app"]
