"""What embeds and counts: weights as verified data, the static and the deep tier, tokenizers."""
