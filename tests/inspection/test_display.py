"""The base of displays: where they draw, what their class methods take, and how they are shown."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import inspection
from mercer.errors import DataError
from mercer.inspection import BullseyeDisplay, Display, LossDisplay, MarginDisplay, SpinDisplay
from mercer.objectives import Hinge, Poisson

CLASSES = {name: getattr(inspection, name) for name in inspection.__all__ if name.endswith("Display")}


@pytest.fixture(autouse=True)
def figures():
    yield
    plt.close("all")


def test_every_display_is_drawn_by_the_base():
    others = {name for name, one in CLASSES.items() if not issubclass(one, Display)}
    assert others - {"PartialDependenceDisplay", "DecisionBoundaryDisplay"} == {"TreeDisplay"}  # a text of SVG


def test_class_methods_that_draw_take_axes_and_describe_them():
    for name, one in CLASSES.items():
        for method in vars(one):
            if method.startswith("from_") and issubclass(one, Display):
                bound = getattr(one, method)
                assert "ax" in inspect.signature(bound).parameters or name == "NetworkDisplay", f"{name}.{method}"
                assert bound.__doc__, f"{name}.{method}"


def test_a_new_figure_keeps_labels_apart_and_given_axes_are_used():
    display = MarginDisplay({5: [0.1, 0.5]}).plot()
    assert display.figure_.get_layout_engine() is not None
    own = plt.figure().subplots()
    assert MarginDisplay({5: [0.1, 0.5]}).plot(ax=own).ax_ is own


def test_panels_take_one_axes_each_and_keep_the_shape_of_their_grid():
    axes = plt.figure().subplots(2, 2)
    display = BullseyeDisplay(random_state=0).plot(ax=axes)
    assert display.axes_.shape == (2, 2)
    assert all(one is other for one, other in zip(display.axes_.flat, axes.flat, strict=True))
    single = plt.figure().subplots()
    assert SpinDisplay(np.ones((1, 4))).plot(ax=single).axes_[0] is single


def test_arguments_of_a_class_method_go_to_the_display_and_the_rest_to_matplotlib():
    display = LossDisplay.from_losses([Hinge()], [-1.0, 0.0, 2.0], bits=True, linewidth=3.0)
    assert display.bits
    assert display.lines_[0].get_linewidth() == 3.0
    with pytest.raises(AttributeError, match="colour"):
        LossDisplay.from_losses([Hinge()], colour="red")


def test_a_display_says_what_it_holds_and_not_where_it_is_in_memory():
    display = LossDisplay([Hinge()])
    assert repr(display) == "LossDisplay(losses=(Hinge(n_classes=2),), bits=False, x=array of shape (601,))"
    display.plot()
    assert "0x" not in repr(display) + display._repr_html_()
    assert "<th>kind_</th><td>&#x27;labels&#x27;</td>" in display._repr_html_()


def test_a_loss_that_is_no_function_of_the_residual_is_refused():
    with pytest.raises(DataError, match="the residual alone; got Poisson"):
        LossDisplay([Poisson()])
