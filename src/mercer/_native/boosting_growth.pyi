from typing import Any

from numpy import ndarray

class Ground:
    def __init__(
        self,
        rows: tuple[ndarray, ...],
        rules: tuple[ndarray, ...],
        room: tuple[ndarray, ...],
        asked: tuple[ndarray, ...],
        piece: ndarray,
        control: ndarray,
        shift: int,
        unit: int,
    ) -> None: ...
    def hold(
        self,
        spans: ndarray,
        numbers: ndarray,
        tables: ndarray,
        walks: ndarray,
        histograms: ndarray,
    ) -> None: ...
    def aim(self, gradients: ndarray, scores: ndarray, y: ndarray, weight: ndarray, losses: ndarray) -> None: ...
    def draw(self, drawn: ndarray, seed: int, share: float) -> None: ...
    def value(self, values: ndarray) -> None: ...
    def call(self) -> None: ...
    def help(self, member: int) -> Any: ...
    def dismiss(self) -> None: ...
    def advance(self, patience: int) -> int: ...
