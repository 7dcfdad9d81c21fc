import json

import called

from tracecore.compilation.unit_calls import need

called.third.need = "thirds"
try:
    called.whole(12.0, False)
except RuntimeError as error:
    told = str(error)
before = called.third.has_any_code()
need("thirds")
print(json.dumps([told, before, called.third.has_any_code(), called.whole(12.0, False)]))
