"""The only code, besides lab, that holds raw baskets: it turns them into reports."""
