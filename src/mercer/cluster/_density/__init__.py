"""Clusters as dense regions: DBSCAN, HDBSCAN, DENCLUE, and the searches for neighbours that they need."""
