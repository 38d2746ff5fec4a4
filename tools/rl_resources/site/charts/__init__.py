"""The pictures: what the points of `answer.points` look like, as SVG that a style sheet colours."""
