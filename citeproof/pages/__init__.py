"""HTML pages: templates that escape their values, with style and script."""
