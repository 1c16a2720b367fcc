"""What the parameter `loss` of an estimator may be: the name of a loss that fits can minimise, or a loss itself."""

from mercer._base.parameter import Choice, Instance
from mercer._objective import Loss, list_losses

NUMBER_LOSSES = Choice(*list_losses("numbers")) | Instance(Loss)
