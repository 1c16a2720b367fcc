"""Numbers as people write them, with currencies, units, per cent and separators of thousands."""

from mercer._source.table.numerals import FORMS, Numeral, read_numeral, split_numeral

__all__ = ["FORMS", "Numeral", "read_numeral", "split_numeral"]
