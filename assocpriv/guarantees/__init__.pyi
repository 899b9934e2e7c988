# fmt: off
# isort: off

from .amplification import (
    PosteriorRange as PosteriorRange, amplification_from_epsilon as amplification_from_epsilon, compose as compose,
    epsilon_from_amplification as epsilon_from_amplification, highest_posterior as highest_posterior,
    information_limit as information_limit,
    largest_rise as largest_rise, lowest_posterior as lowest_posterior, posterior_curve as posterior_curve,
)
from .entropy import SystemEntropy as SystemEntropy
from .shuffle_model import CentralGuarantee as CentralGuarantee
