"""The environments of `make matrix`."""

from tools.matrix.environments import list_environments, read_lower_bounds


def test_lower_bounds_become_pins_of_the_oldest_versions():
    text = '[project]\ndependencies = ["numpy>=2.1", "scikit-learn>=1.9"]'
    assert read_lower_bounds(text) == ("numpy==2.1.*", "scikit-learn==1.9.*")


def test_every_interpreter_and_every_condition_has_one_environment():
    environments = list_environments(["/opt/python3.99"])
    names = [environment.name for environment in environments]
    assert len(set(names)) == len(names)
    assert {"python3.99", "oldest dependencies", "sigint ignored", "read-only checkout"} <= set(names)
    (oldest,) = (environment for environment in environments if environment.name == "oldest dependencies")
    assert any(pin.startswith("numpy==") for pin in oldest.pins)
