"""The stages that make the tiny vision-language model of this package."""
