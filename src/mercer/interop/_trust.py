"""The types of mercer that files of skops hold."""

from typing import Any


def list_trusted_types(model: Any) -> list[str]:
    """Return mercer's own types inside a model, as ``skops.io.load`` takes them for ``trusted``.

    skops refuses every type that it does not know; those of mercer hold arrays and settings, and reading them runs no
    code of the file. Types of other packages are left out: read their names before you trust them. mlflow, which keeps
    models by skops, takes the list for ``skops_trusted_types``.

    Parameters
    ----------
    model : estimator
        A fitted model, or a pipeline with models inside.

    Returns
    -------
    names : list of str

    Examples
    --------
    With skops installed::

        skops.io.dump(model, "model.skops")
        model = skops.io.load("model.skops", trusted=mercer.interop.list_trusted_types(model))
    """
    import skops.io

    names = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    return [name for name in names if name.split(".")[0] == "mercer"]
