"""Whether sup-t bands cover a whole regression curve as often as they say."""
