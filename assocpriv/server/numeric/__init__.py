"""Tables at the server: distributions, smoothing, trees."""
