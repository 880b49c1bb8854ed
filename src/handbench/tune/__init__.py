"""Turn question tables into a better model."""
