"""What is done with a model after its study: predictions with intervals, export, a service, a watch over new rows."""
