"""Contracts of the import linter that the general ones cannot express."""

from typing import Any

from importlinter import Contract, ContractCheck, output


class PrivateModulesContract(Contract):  # type: ignore[misc]
    """Keep private modules private: a family imports only public names of another family.

    In ``mercer.tree._rules``, ``tree`` is the family, and ``_rules`` is private to it because of the underscore. The
    folders of the concepts (``mercer._base``, ``mercer._solver``...) belong to all families.
    """

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """Return whether no family imports a private module of another, and the imports that do."""
        broken = [
            (importer, imported)
            for importer in sorted(graph.modules)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if is_private_to_another(importer, imported)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each import that breaks the contract, with the cure."""
        for importer, imported in check.metadata["broken"]:
            output.print_error(f"{importer} imports {imported}, which is private to its family.", bold=False)
        output.print_error(
            "Import a public name, or move what is shared into a concept (_base, _solver...).", bold=False
        )


def is_private_to_another(importer: str, imported: str) -> bool:
    """Return whether a module is private to a family that the importing module is not part of."""
    family, *rest = imported.split(".")[1:] or [""]
    same_family = importer.split(".")[1:2] == [family]
    return not family.startswith("_") and not same_family and any(part.startswith("_") for part in rest)
