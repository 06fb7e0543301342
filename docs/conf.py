"""How the documentation site is built: see CONTRIBUTING.md."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import pairgossip

project = "pairgossip"
author = "The pairgossip developers"
project_copyright = author
version = release = pairgossip.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "mathml",
    "docstrings",
    "registries",
    "pace",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "py:obj"
highlight_language = "text"
nitpicky = True
# What other projects document: the site does not ask the network where.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(numpy|np|scipy|pandas|pd|xarray|matplotlib|networkx|nx|sklearn|collections|datetime|pathlib|enum|abc"
        r"|typing|NDArray|ArrayLike|Axes|Figure|Generator|Path|Any|Self|Callable|Sequence|Mapping|Iterable"
        r"|optional|self|fractions|Fraction|BoolArray|FloatArray|IntArray|PairArray|PairFunction|Scale"
        r"|csr_array|(laws\.)?LawLike|NamedOrGiven|os)\b.*",
    ),
    # What is not public, and how Sphinx calls the aliases below.
    (
        r"py:.*",
        r"(pairgossip\.(engine|algorithms|graphs\.orders|kernels\.(pairs|problem)|privacy\.estimation"
        r"|results\.(joining|provenance)|sketches\.(bins|moments|smooth)|counts|rows|summaries|errors\.Notice"
        r"|curves\.scores|survival\.(bounds|life_table|curve\.Points)"
        r"|kernels\.kernel\.Factory|losses\.(margins\.(Pieces|Strip)|learning\.PairwiseLearning))\b.*"
        r"|pairgossip_paper\.framework\.figures\b.*|Ends|Setup|Snapshot|Sites|Law|NodeTest|Sampling"
        r"|PairwiseLearning|Fingerprint|SeedSequence|TypeAliasForwardRef"
        r"|pairgossip\.study\..*|Entry|QuestionStatus|Result)",
    ),
]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
# The gallery's settings name a class, which cannot be written to the cache; and the type `bytes` in
# a signature is not one of the properties of that name.
suppress_warnings = ["config.cache", "ref.python"]

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
# A name of the package is documented once, at the place where users import it from.
autosummary_context = {"top_level": pairgossip.__all__}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
autodoc_type_aliases = {
    name: name for name in ("FloatArray", "IntArray", "PairArray", "PairFunction", "Scale")
}
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "reference_url": {"pairgossip": None},
    "doc_module": ("pairgossip",),
    "backreferences_dir": "generated/backreferences",
    "inspect_global_variables": False,
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "abort_on_example_error": False,
    "image_srcset": ["2x"],
}

# What can be typed has a button that copies it; what is printed has none.
copybutton_selector = ", ".join(
    f"div.highlight-{kind} pre" for kind in ("python", "sh", "shell", "toml")
)

html_theme = "pydata_sphinx_theme"
html_title = "pairgossip"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {
    "index": [],
    "faq": [],
    "comparison": [],
    "theory": [],
    "errata": [],
    "reproduce": [],
}
html_theme_options = {
    "navigation_with_keys": False,
    "header_links_before_dropdown": 9,  # all of them
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "errata": []},
}
