"""Knowledge of words: search terms, word families, times, languages, the thesaurus, classifiers."""
