"""Linear-Gaussian state-space models: Kalman filter and smoother, forecasts, and learning by EM."""
