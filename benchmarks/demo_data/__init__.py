"""Writers of the demo data of each plugin, in the layout of the official files; `make_demo_data.py` packs it."""
