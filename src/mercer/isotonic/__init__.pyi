# Written by `python -m tools.make_stubs` from the table in mercer.isotonic.
from mercer.isotonic._isotonic import IsotonicRegression as IsotonicRegression
from sklearn.isotonic import check_increasing as check_increasing
from sklearn.isotonic import isotonic_regression as isotonic_regression
