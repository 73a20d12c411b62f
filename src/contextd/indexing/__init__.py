"""Update the store from the sources: documents that are new, changed or gone."""
