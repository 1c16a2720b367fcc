"""The page of stored attributes is made from the declarations."""

from tools.stored_table import PAGE, make_page


def test_the_page_of_stored_attributes_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == make_page(), "run: python -m tools.stored_table"
