"""The memory forecast: it refuses in words and numbers what would not fit."""

import pytest

import mercer
from mercer._source.memory import count_allowed_bytes, readable, require_memory
from mercer.errors import MemoryForecastError, ParameterError


def test_a_forecast_above_the_limit_raises_with_both_numbers_and_the_cure():
    with mercer.config_context(max_memory="1 GiB"):
        require_memory("Ridge", 2**30, "a matrix", "use another solver")
        with pytest.raises(MemoryError) as caught:
            require_memory("Ridge", 3 * 2**30, "the 20000 x 20000 Gram matrix", "use solver='lsqr'")
    assert str(caught.value) == (
        "Ridge: the 20000 x 20000 Gram matrix needs 3 GiB (3221225472 bytes) and 1 GiB (1073741824 bytes) are allowed; "
        "use solver='lsqr', or raise the limit with mercer.set_config(max_memory=...)."
    )
    assert isinstance(caught.value, MemoryForecastError)


def test_without_a_setting_the_machine_sets_the_limit():
    assert 2**20 < count_allowed_bytes() < 2**50
    with pytest.raises(MemoryError):
        require_memory("Ridge", 1e18, "a matrix", "buy a bigger machine")


@pytest.mark.parametrize(("text", "n_bytes"), [("2 GiB", 2**31), ("1.5KB", 1500), (1e6, 10**6), ("77", 77)])
def test_limits_are_read_as_people_write_them(text, n_bytes):
    with mercer.config_context(max_memory=text):
        assert mercer.get_config()["max_memory"] == n_bytes
    assert mercer.get_config()["max_memory"] is None


@pytest.mark.parametrize("value", ["much", -1, 0, "GiB", [1]])
def test_limits_that_make_no_sense_are_refused(value):
    with pytest.raises(ParameterError, match="max_memory must be a positive number of bytes or text like '2 GiB'"):
        mercer.set_config(max_memory=value)


def test_unknown_settings_are_refused_with_the_list_of_known_ones():
    with pytest.raises(ParameterError, match="the settings are max_memory, max_unpacked, on_interrupt; got 'colour'"):
        mercer.set_config(colour="red")
    with pytest.raises(ParameterError, match="on_interrupt must be 'raise' or 'keep'; got 'ignore'"):
        mercer.set_config(on_interrupt="ignore")


def test_sizes_are_written_for_people():
    assert [readable(size) for size in (12, 2048, 3.5 * 2**30)] == ["12 bytes", "2 KiB", "3.5 GiB"]
