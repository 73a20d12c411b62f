"""From sources to the store: what is new, changed or gone."""
