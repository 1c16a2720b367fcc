"""Tests of scikit-learn's that take ten seconds with mercer's classes, and what else proves the same: pattern -> test.

They fit by SAG and SAGA for up to 20 000 passes over a few dozen rows. `make test-all` runs them.
"""

SLOW: dict[str, str] = {
    "test_logistic::test_logistic_regression_solvers_multiclass?False?": "the same test with an intercept",
    # Given weights are tried with three classes, balanced ones with two.
    "test_logistic::test_logistic_regressioncv_class_weights?*-weight-weight0?": "the cases of the other two pairs",
    "test_logistic::test_logistic_regressioncv_class_weights?*-balanced-weight1?": "the cases of the other two pairs",
}
