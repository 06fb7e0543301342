"""Pictures as data: lines, areas and dots with their axes, drawn as SVG or with matplotlib."""
