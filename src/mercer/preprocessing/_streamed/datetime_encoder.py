"""Dates as linear and cyclic parts, in any place."""

from typing import Any

import numpy as np

from mercer._base.parameter import Boolean, Choice, Nothing, parameter
from mercer._types import Array
from mercer.preprocessing._columns import Columns, open_columns
from mercer.preprocessing._streamed.table_columns import ColumnsEncoder

# Parts of a date, and how many values each takes before it begins again; years do not.
_PARTS = {"year": None, "month": 12, "day": 31, "hour": 24, "minute": 60, "second": 60}
_DAY = 86_400


class DatetimeEncoder(ColumnsEncoder):
    r"""Turn dates into numbers: year, month, day, hour..., the seconds since 1970, and positions on cycles.

    A part that takes p values and begins again, such as the hour with p = 24, is a position on a circle with
    ``periodic_encoding="circular"``:

    .. math:: \left(\sin \frac{2 \pi v}{p},\ \cos \frac{2 \pi v}{p}\right),

    where v counts from zero, so that December is as near to January as to November.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        Number and names of the columns.

    See Also
    --------
    TableEncoder : Does so for the dates of a whole table, beside its other columns.

    Notes
    -----
    Columns of dates, and of texts that NumPy reads as dates (``2024-03-01``, ``2024-03-01T12:30``); times with a zone
    become those of UTC. A missing date gives NaN. Nothing is learnt from the rows. Rows: frames and arrays, files,
    streams that can be read again, Dask dataframes.

    Examples
    --------
    >>> import pandas
    >>> from mercer.preprocessing import DatetimeEncoder
    >>> sold = pandas.DataFrame({"sold": pandas.to_datetime(["2024-03-01 12:00", "2024-12-31 18:00"])})
    >>> encoder = DatetimeEncoder(add_weekday=True, add_total_seconds=False).fit(sold)
    >>> encoder.get_feature_names_out().tolist()
    ['sold_year', 'sold_month', 'sold_day', 'sold_hour', 'sold_weekday']
    >>> encoder.transform(sold)[0].tolist()
    [2024.0, 3.0, 1.0, 12.0, 5.0]
    """

    resolution: str | None = parameter(
        Choice(*_PARTS) | Nothing(),
        default="hour",
        kw_only=False,
        doc="The finest part: ``hour`` gives year, month, day and hour; None gives no parts.",
    )
    add_weekday: bool = parameter(Boolean(), default=False, doc="Whether the day of the week is added, Monday is 1.")
    add_total_seconds: bool = parameter(Boolean(), default=True, doc="Whether the seconds since 1970 are added.")
    add_day_of_year: bool = parameter(Boolean(), default=False, doc="Whether the day of the year is added, from 1 on.")
    periodic_encoding: str | None = parameter(
        Choice("circular") | Nothing(),
        default=None,
        doc="``'circular'`` gives sine and cosine for each part that begins again; None gives its number.",
    )

    def _open_rows(self, X: Any, reset: bool) -> Columns:
        return open_columns(self, X, reset)

    def _choose_parts(self) -> dict[str, int | None]:
        """Return the parts that are asked for, and how many values each takes."""
        names = list(_PARTS)
        kept = names[: 0 if self.resolution is None else names.index(self.resolution) + 1]
        parts = {name: _PARTS[name] for name in kept}
        if self.add_total_seconds:
            parts["total_seconds"] = None
        if self.add_weekday:
            parts["weekday"] = 7
        if self.add_day_of_year:
            parts["day_of_year"] = 366
        return parts

    def _list_parts(self) -> list[str]:
        names: list[str] = []
        for name, period in self._choose_parts().items():
            circle = period is not None and self.periodic_encoding == "circular"
            names += [f"{name}_sin", f"{name}_cos"] if circle else [name]
        return names

    def _encode_rows(self, columns: Columns) -> Array:
        made = [self._encode_dates(columns.seconds(index)) for index in range(len(columns.names))]
        return np.concatenate(made, axis=1)

    def _encode_dates(self, seconds: Array) -> Array:
        """Return the parts of dates in seconds since 1970; NaN gives NaN."""
        missing = np.isnan(seconds)
        whole = np.where(missing, 0.0, seconds).astype(np.int64)
        moments = whole.astype("datetime64[s]")
        months, days = moments.astype("datetime64[M]"), moments.astype("datetime64[D]")
        years, clock = moments.astype("datetime64[Y]"), whole % _DAY
        values = {
            "year": lambda: years.astype(np.int64) + 1970,
            "month": lambda: months.astype(np.int64) % 12 + 1,
            "day": lambda: (days - months).astype(np.int64) + 1,
            "hour": lambda: clock // 3600,
            "minute": lambda: clock // 60 % 60,
            "second": lambda: clock % 60,
            "total_seconds": lambda: seconds,
            # The first of January 1970 was a Thursday.
            "weekday": lambda: (days.astype(np.int64) + 3) % 7 + 1,
            "day_of_year": lambda: (days - years).astype(np.int64) + 1,
        }
        made: list[Array] = []
        for name, period in self._choose_parts().items():
            part = values[name]().astype(np.float64)
            if period is None or self.periodic_encoding is None:
                made.append(part)
                continue
            # Hours, minutes and seconds count from zero, the others from one.
            angle = 2 * np.pi * (part - (name not in ("hour", "minute", "second"))) / period
            made += [np.sin(angle), np.cos(angle)]
        out = np.stack(made, axis=1) if made else np.empty((len(seconds), 0))
        out[missing] = np.nan
        return out
