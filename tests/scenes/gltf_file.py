"""Small glTF files, written by code."""

import base64
import io
import json
from pathlib import Path

import numpy as np
from PIL import Image

KINDS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
TRIANGLE = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
CORNERS = [[0, 0], [1, 0], [0, 1]]


def notes_of(document):
    return "\n".join(document.notes.lines)


class GltfBuilder:
    """A header and its buffer. Methods return the index of what they add."""

    def __init__(self):
        self.data = bytearray()
        self.header = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": []}]}

    def add(self, kind, **values):
        """Adds an item to a list of the header."""
        rows = self.header.setdefault(kind, [])
        rows.append(values)  # type: ignore[attr-defined]
        return len(rows) - 1  # type: ignore[arg-type]

    def view(self, data, **others):
        start = len(self.data)
        self.data += bytes(data) + bytes(-len(data) % 4)
        return self.add("bufferViews", buffer=0, byteOffset=start, byteLength=len(data), **others)

    def accessor(self, values, kind="f4", **others):
        """Adds an accessor of numbers, (n,) or (n, k)."""
        array = np.array(values, dtype="<" + kind)
        rows = array.reshape(len(array), -1)
        type_name = TYPES[rows.shape[1]]
        return self.add(
            "accessors",
            bufferView=self.view(array.tobytes()),
            count=len(array),
            type=type_name,
            componentType=KINDS[kind],
            **others,
        )

    def primitive(self, attributes=None, indices=None, **others):
        """A primitive, one triangle unless attributes say otherwise: arrays, or numbers of accessors."""
        given = {"POSITION": TRIANGLE} | (attributes or {})
        made = {name: value if isinstance(value, int) else self.accessor(value) for name, value in given.items()}
        made = {"attributes": made, **others}
        return made if indices is None else made | {"indices": self.accessor(indices, "u2")}

    def mesh(self, *primitives, **others):
        return self.add("meshes", primitives=list(primitives or (self.primitive(),)), **others)

    def node(self, root=True, **values):
        """Adds a node, to the scene if it is in no other."""
        index = self.add("nodes", **values)
        if root:
            self.header["scenes"][0]["nodes"].append(index)  # type: ignore[index]
        return index

    def picture(self, pixels, sampler=None, **others):
        """Adds a texture of pixels (h, w, 3 or 4) uint8."""
        file = io.BytesIO()
        Image.fromarray(np.array(pixels, np.uint8)).save(file, "PNG")
        image = self.add("images", bufferView=self.view(file.getvalue()), mimeType="image/png")
        asked = {} if sampler is None else {"sampler": self.add("samplers", **sampler)}
        return self.add("textures", source=image, **asked, **others)

    def animate(self, node, path, times, values, interpolation="LINEAR", animation=None):
        """Adds a curve to an animation, a new one unless it is given."""
        number = self.add("animations", samplers=[], channels=[]) if animation is None else animation
        own = self.header["animations"][number]  # type: ignore[index]
        own["samplers"].append(
            {"input": self.accessor(times), "output": self.accessor(values), "interpolation": interpolation}
        )
        own["channels"].append({"sampler": len(own["samplers"]) - 1, "target": {"node": node, "path": path}})
        return number

    def write(self, path: Path) -> Path:
        """Writes the file, with its buffer inside."""
        if path.suffix == ".glb":
            text = json.dumps(self.header | {"buffers": [{"byteLength": len(self.data)}]}).encode()
            text += b" " * (-len(text) % 4)
            body = len(text).to_bytes(4, "little") + b"JSON" + text
            body += len(self.data).to_bytes(4, "little") + b"BIN\0" + bytes(self.data)
            path.write_bytes(b"glTF\2\0\0\0" + (12 + len(body)).to_bytes(4, "little") + body)
        else:
            uri = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
            buffers = self.header.get("buffers", [{"byteLength": len(self.data), "uri": uri}])
            path.write_text(json.dumps(self.header | {"buffers": buffers}))
        return path
