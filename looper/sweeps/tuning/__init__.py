"""A search over settings: what is searched (`tune`), and Optuna's study of it (`study`)."""
