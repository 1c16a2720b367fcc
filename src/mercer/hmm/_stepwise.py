"""Stepwise EM: training on batches of sequences, one after the other.

The M step is a function of expected counts alone. So they are averaged over the batches, per step, with weights that
forget the first batches, whose counts were taken under poor parameters (Cappe and Moulines, 2009):

    S_t = (1 - g_t) S_(t-1) + g_t s_t,   g_t = t^-0.6,   s_t = expected counts of batch t / its number of steps.

The M step takes S_t times the number of steps so far, so that priors count as they do in ``fit``.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sklearn.utils.metaestimators import available_if

from mercer._base import fitting, seed_sequence
from mercer._plain import plain
from mercer._solver.expectation_maximisation import CollapseError
from mercer._solver.relay import answer_requests
from mercer._solver.restarts import child_seed
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, integers, part
from mercer.errors import DataError
from mercer.hmm._fitting import ChainFitting
from mercer.hmm._passes import ChainSums
from mercer.hmm._starts import check_probabilities
from mercer.hmm._topology import make_mask
from mercer.hmm._training import ChainParameters, ChainTraining, find_dead

# The share of batch t is t to minus this power: above one half, so that noise averages out, and below one, so that the
# first parameters are forgotten (Cappe and Moulines, 2009).
_FORGETTING = 0.6


@plain
@dataclass(frozen=True, eq=False)
class ChainBatches:
    """What is kept of the batches: average counts per step, about the means of the fitted emission; steps so far."""

    average: ChainSums
    weight: float


def _check_learns_in_parts(model: Any) -> bool:
    """Return whether counts say all that the M step needs; raise with the cure if it needs the rows."""
    if not model._learns_in_parts:
        name = type(model).__name__
        raise AttributeError(
            f"{name}: partial_fit needs densities that are functions of sums. Call fit with all sequences."
        )
    return True


class StepwiseFitting(ChainFitting):
    """What adds ``partial_fit`` to the fitting of hidden Markov models."""

    _learns_in_parts: ClassVar[bool] = True

    _stored: ClassVar[dict[str, Stored]] = {
        "_batches": part("ChainBatches"),
        "n_batches_seen_": integers(low=0),
    }

    @available_if(_check_learns_in_parts)
    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, lengths: Any = None, *, sequence_weight: Any = None, groups: Any = None
    ) -> Any:
        """Take one step of stepwise EM with `X` as the batch.

        The expected counts of the batch are averaged with those of the batches before, per step; the t-th batch counts
        t^-0.6 (Cappe and Moulines, 2009). The first batch finds first parameters as ``fit`` does, or goes on from those
        of an earlier ``fit``, whose rows are forgotten. A sequence must not be cut in two by batches. Give batches of
        some hundred steps or more; pass over them several times where they are few.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), a list of such arrays, a file, or an array on a device
            Whole sequences, one after the other.
        y : ignored
            Except that integers which sum to the number of rows are read as `lengths`.
        lengths : array-like of int, default=None
        sequence_weight : array-like of shape (n_sequences,), default=None
        groups : array-like of shape (n_steps,) or str, default=None

        Returns
        -------
        self
            With the batches so far in ``n_batches_seen_``.
        """
        begun = "n_features_in_" in vars(self) and "transmat_" in vars(self)
        source, plan = self._open_sequences(X, y, lengths, groups, sequence_weight, reset=not begun)
        self._check_letters()
        training = self._prepare_training(plan, source)
        number = int(vars(self).get("n_batches_seen_", 0)) + 1
        dtype = to_numpy(self.transmat_).dtype if begun else source.host_dtype
        try:
            before = self._earlier() if begun else self._find_start(training, source)
            expected = training.expectation(before).answer(source)
            batches = self._blend_batches(expected, plan.total_weight, number)
            # The average per step times all steps so far, so that priors count as in one fit.
            sums = batches.average.scale(batches.weight)
            parameters = training.maximisation(sums, before)
        except CollapseError as error:
            raise DataError(
                f"{type(self).__name__}: component {error.component} collapsed at batch {number}. {error.cure}"
            ) from error
        finally:
            source.release()
        for name, value in self._attributes(parameters, dtype).items():
            setattr(self, name, value)
        # Moments are kept about the means as they are stored, which may be rounded to float32.
        moved = batches.average.emission.recentre(before.emission, self._emission())
        self._batches = ChainBatches(replace(batches.average, emission=moved), batches.weight)
        self.n_batches_seen_, self.dead_states_ = number, find_dead(sums)
        return self

    def _blend_batches(self, expected: ChainSums, weight: float, number: int) -> ChainBatches:
        """Return the counts of all batches, this one included."""
        average, earlier = expected.scale(1.0 / weight), vars(self).get("_batches")
        if earlier is None:
            return ChainBatches(average, weight)
        share = number**-_FORGETTING
        return ChainBatches(earlier.average.scale(1.0 - share) + average.scale(share), earlier.weight + weight)

    def _earlier(self) -> ChainParameters:
        """Return the fitted parameters to go on from."""
        k, subject = self.n_components, type(self).__name__
        initial = check_probabilities(subject, "startprob_", to_numpy(self.startprob_), (k,))
        transition = check_probabilities(subject, "transmat_", to_numpy(self.transmat_), (k, k))
        return ChainParameters(initial, transition, self._emission())

    def _find_start(self, training: ChainTraining, source: Source) -> ChainParameters:
        """Return first parameters, from the first batch."""
        mask = make_mask(type(self).__name__, self.topology, self.n_components)
        # The seed of the first run of ``fit``.
        seed = child_seed(seed_sequence(self.random_state).generate_state(8), 0)
        return answer_requests(self._start(source, mask, training, seed), source)
