"""What every linear predictor shares: predictions, class labels, scores, the names of losses and penalties."""
