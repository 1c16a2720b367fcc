"""A study: from a table to an honest model. What it finds is a :class:`~mercer.app.study.record.Record`."""
