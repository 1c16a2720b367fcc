"""Methods that take columns into use one by one: least angle regression and orthogonal matching pursuit."""
