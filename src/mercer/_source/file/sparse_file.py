"""Sparse rows in the .npz files of ``scipy.sparse.save_npz``, read from front to back.

The stored values and their columns are two members of a zip archive; both are read in step, a block of rows at a time.
Only the pointers that say where each row begins are held whole: 4 or 8 bytes a row.
"""

import os
import zipfile
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import csr_array

from mercer._source.block import rows_per_sparse_block
from mercer._source.file.block_cutting import Piece
from mercer._source.file.piece_rule import PieceRule
from mercer._source.file.row_values import open_row_values
from mercer._source.file.sequential import SequentialSource
from mercer._source.file.unpacking import check_archive
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.errors import DataError


class SparseFile(SequentialSource):
    """Rows of a CSR matrix in a .npz file, compressed or not, in the blocks that the matrix would have in memory."""

    place = "file"
    is_sparse = True

    def __init__(
        self,
        path: Any,
        y: Any = None,
        weight: Any = None,
        *,
        subject: str,
        targets: str | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__()
        self.path = os.fspath(path)
        self.subject = subject
        self.threads = threads
        self.description = f"the sparse file {self.path}"
        n_rows, self.n_features = self._read_layout()
        self.targets = None if targets is None else open_row_values(y, "y", subject)
        self.weights = open_row_values(weight, "sample_weight", subject)
        for beside in (self.targets, self.weights):
            if beside is not None:
                beside.check_length(n_rows, self.description)
        self._known["n_rows"] = n_rows
        self.rule = PieceRule(subject, self.description, targets)
        # A piece without rows fixes the types of rows, targets and weights before the first block is read.
        self.rule.read(0, csr_array((0, self.n_features), dtype=self.stored), *self._beside(0, 0))
        self.dtype, self.target_shape = self.rule.dtype, self.rule.target_shape
        self.has_weight = self.rule.has_weight
        self.block_rows = rows_per_sparse_block(n_rows, int(self.pointers[-1]), self.n_features)

    def _read_layout(self) -> tuple[int, int]:
        """Read the shape, the row pointers and the type of the values from the small members of the archive."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                cure = "Raise the limit with mercer.set_config(max_unpacked=...)"
                check_archive(f"{self.subject}: {self.path}", archive, os.path.getsize(self.path), None, cure)
            with np.load(self.path, allow_pickle=False) as members:
                if not {"format", "shape", "data", "indices", "indptr"} <= {*members.files}:
                    self._refuse_format(members)
                if (kind := str(members["format"].item(), "ascii")) != "csr":
                    self._refuse(f"must hold CSR rows; got {kind}. Convert with .tocsr() and save it again")
                n_rows, n_features = (int(size) for size in members["shape"])
                # The row pointers are the only array of the file that is held whole: they tell where each block begins.
                require_memory(self.subject, 8.0 * n_rows, "the row pointers", "split the file")
                self.pointers = members["indptr"]
            with zipfile.ZipFile(self.path) as archive, archive.open("data.npy") as member:
                self.stored = _header(member)[1]
        except (OSError, zipfile.BadZipFile, ValueError, EOFError) as error:
            if isinstance(error, DataError):
                raise
            self._refuse(f"cannot be read ({error}); write it again with scipy.sparse.save_npz")
        if n_rows == 0:
            self._refuse("has no rows; got 0 sample(s), at least 1 is required")
        if len(self.pointers) != n_rows + 1 or self.pointers[0] != 0 or (np.diff(self.pointers) < 0).any():
            self._refuse("has row pointers that do not rise; write it again with scipy.sparse.save_npz")
        return n_rows, n_features

    def _refuse_format(self, members: Any) -> NoReturn:
        if "format" in members.files:
            kind = str(members["format"].item(), "ascii")
            self._refuse(f"must hold CSR rows; got {kind}. Convert with .tocsr() and save it again")
        self._refuse(
            f"holds no sparse matrix but the arrays {', '.join(members.files) or '(none)'}; save dense rows as .npy"
        )

    def _beside(self, start: int, stop: int) -> tuple[Array, Array]:
        y = None if self.targets is None else self.targets.read(start, stop)
        return y, None if self.weights is None else self.weights.read(start, stop)

    def pieces(self) -> Iterator[Piece]:
        n_rows, rows = len(self.pointers) - 1, self.block_rows
        with (
            zipfile.ZipFile(self.path) as archive,
            # Both members are read forwards at the same time, so that compressed ones are unpacked only once.
            archive.open("data.npy") as data,
            archive.open("indices.npy") as indices,
        ):
            kinds = _header(data)[1], _header(indices)[1]
            for number, start in enumerate(range(0, n_rows, rows)):
                stop = min(start + rows, n_rows)
                first, last = int(self.pointers[start]), int(self.pointers[stop])
                values, columns = (
                    self._values(member, last - first, kind, number)
                    for member, kind in zip((data, indices), kinds, strict=True)
                )
                self._check_columns(columns, number)
                # Pointers of a block begin at zero.
                pointers = self.pointers[start : stop + 1] - self.pointers[start]
                X = csr_array((values, columns, pointers), shape=(stop - start, self.n_features))
                yield self.rule.read(number, X, *self._beside(start, stop))

    def _values(self, member: Any, count: int, kind: Any, number: int) -> Array:
        size = count * kind.itemsize
        try:
            raw = member.read(size)
        except (OSError, zipfile.BadZipFile, EOFError, ValueError) as error:
            self._refuse(f"cannot be read in block {number} ({error}); write it again")
        # A read may return fewer bytes only at the end of the member.
        if len(raw) < size:
            self._refuse(f"ended in block {number}; it was cut short, or shrank while it was read")
        return np.frombuffer(raw, dtype=kind)

    def _check_columns(self, columns: Array, number: int) -> None:
        # Compiled code trusts these numbers.
        if columns.dtype.kind != "i" or (len(columns) and not 0 <= columns.min() <= columns.max() < self.n_features):
            self._refuse(f"has column numbers outside 0 to {self.n_features - 1} in block {number}; write it again")

    def fingerprint(self) -> dict[str, Any]:
        status = os.stat(self.path)
        return {
            "shape": [self.known_rows, self.n_features],
            "dtype": str(self.stored),
            # Size and time stand for a checksum, which would read the whole file.
            "data": [os.path.basename(self.path), status.st_size, status.st_mtime_ns],
        }

    def _refuse(self, sentence: str) -> NoReturn:
        raise DataError(f"{self.subject}: {self.description} {sentence}.")


def _header(member: Any) -> tuple[tuple[int, ...], Any]:
    """Read the shape and the type of an array in an archive; its values follow."""
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(member)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    return shape, dtype
