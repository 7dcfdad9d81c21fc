import scenes
from scenes.errors import SceneFileError


def read(path):
    name = path.read_text().strip()
    if not name:
        raise SceneFileError(path, 1, "expected the name of a scene")
    return scenes.load(name)


scenes.register_reader(".link", read)
