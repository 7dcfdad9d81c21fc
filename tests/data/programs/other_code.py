from tracecore.compilation.cached import inlined

SHIFT = 1.0


@inlined
def doubled(x):
    return 2 * x


@inlined
def unused(x):
    return 3 * x
