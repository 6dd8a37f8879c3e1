"""OpenSpiel games; importing the package registers them."""
