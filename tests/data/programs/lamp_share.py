import numpy as np

import renderer
from renderer.errors import UsageError

chosen = {"size": (8, 6), "passes": 1, "device": "cpu", "threads": 1, "quiet": True}
shares = (None, 1.0, 0.25, 0.0)
np.savez("lamps.npz", *(renderer.render("lamp.toml", driver="whitted", lamp_share=x, **chosen).image for x in shares))
try:
    renderer.render("lamp.toml", driver="ao", lamp_share=0.25, **chosen)
except UsageError as error:
    print(error)
