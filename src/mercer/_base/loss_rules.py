"""What the parameter `loss` of an estimator may be: the name of a loss that fits can minimise, or a loss itself."""

from mercer._base.parameter import Choice, Instance
from mercer._objective import Loss, list_losses

ANY_NAMES = tuple(list_losses())
ANY_LOSSES = Choice(*ANY_NAMES) | Instance(Loss)
NUMBER_LOSSES = Choice(*list_losses("numbers")) | Instance(Loss)
