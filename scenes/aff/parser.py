"""The state of a file that is read, AFF or NFF, and the blocks of commands that it is made of.

Braces scope transforms only. The current material is one for all files: it leaks out of braces and out of includes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from scenes.aff.expansion import Expansion
from scenes.aff.lexer import Cursor, Words, quote, shown, split_words
from scenes.aff.mirrors import mirror_share
from scenes.document import Document, Origin, Part, part_of
from scenes.errors import SceneFileError
from scenes.files.source_file import MAX_INCLUDES, MAX_TRIANGLES, MAX_WORDS_AGAIN, OUTSIDE, is_file, may_be_read
from scenes.meshes.curves import Curve
from scenes.model import Material, Mesh
from scenes.motion.transforms import WORLD, Transform
from scenes.pictures.texture_file import read_texture

#: Where BART has its textures: in a folder beside that of the scene.
TEXTURES = Path("..") / "TextureFiles"
MAX_NESTING = 100
START_MATERIAL = Material(name="before the first f or fm", kind="nff")

#: Reads the operands of one command.
Command = Callable[["AffParser", Cursor], None]


class AffParser:
    """Reads files into a `Document`. Holds what one command leaves for the next.

    path: of the scene.
    commands: what each word does that begins a command; it reads the operands that follow.
    """

    def __init__(self, path: Path, commands: Mapping[bytes, Command]) -> None:
        self.document = Document()
        self.folder = path.parent
        self.square_picture = path.suffix.lower() == ".nff"
        self.material = START_MATERIAL
        self.detail_level = 0
        self.transform = WORLD
        self.open_files: list[Path] = []
        self._commands = commands
        self._lexed: dict[Path, Words] = {}
        self._material_ids: dict[Material, int] = {}
        self._texture_ids: dict[str, int] = {}
        self._triangles = 0

    def read_file(self, path: Path) -> None:
        """All commands of a file, and of those that it includes."""
        self.open_files.append(path)
        self.read_block(Cursor(self.words(path)))
        self.open_files.pop()

    def words(self, path: Path) -> Words:
        """Returns the words of a file, which is split once."""
        if path not in self._lexed:
            self._lexed[path] = split_words(path)
        return self._lexed[path]

    def check_size(self, path: Path) -> None:
        """Raises SceneFileError where files are included very often, or very many words again and again."""

        def find(name: str) -> Words | None:
            path = self.folder / name
            return self.words(path) if is_file(path) and may_be_read(path) else None

        size = Expansion(find).size_of(self.words(path))
        if size.files > MAX_INCLUDES:
            raise SceneFileError(path, None, f"files are included {size.files} times, at most {MAX_INCLUDES} are read")
        if size.again > MAX_WORDS_AGAIN:
            message = f"{size.again} words are included again and again, at most {MAX_WORDS_AGAIN} are read"
            raise SceneFileError(path, None, message)

    def read_block(self, cursor: Cursor, opened: int | None = None) -> None:
        """Commands to the end of the file, or to the brace that closes the block which the word `opened` opens."""
        while not cursor.at_end:
            word = cursor.take("a command")
            if word[:1] in (b"#", b"%"):
                cursor.skip_line()
            elif word == b"}" and opened is not None:
                return
            else:
                self._command(word, cursor)(self, cursor)
        if opened is not None:
            raise cursor.error("this '{' is never closed by a '}'", opened)

    def _command(self, word: bytes, cursor: Cursor) -> Command:
        """Returns what a word does. Raises SceneFileError where it is no command."""
        if word not in self._commands:
            names = " ".join(name.decode() for name in self._commands if name != b"}")
            raise cursor.error(f"expected a command, got {quote(word)}; there are: {names}", cursor.position - 1)
        return self._commands[word]

    def read_subtree(self, cursor: Cursor, transform: Transform) -> None:
        """A block in braces under a transform."""
        cursor.keyword(b"{")
        if transform.depth > MAX_NESTING:
            raise cursor.error(f"transforms are nested deeper than {MAX_NESTING}", cursor.position - 1)
        outer, self.transform = self.transform, transform
        self.read_block(cursor, cursor.position - 1)
        self.transform = outer

    def material_id(self, texture: int = -1) -> int:
        """Index of the current material with a texture (an index, or -1)."""
        key = replace(self.material, name="", texture=texture)
        if key not in self._material_ids:
            self._material_ids[key] = len(self.document.materials)
            share = mirror_share(key, is_textured=texture >= 0) if any(key.specular) else None
            self.document.materials.append(replace(key, name=self.material.name, mirror_share=share))
        return self._material_ids[key]

    def texture_id(self, cursor: Cursor) -> int:
        """Index of the texture whose file name is the next word."""
        name = cursor.name("the file name of a texture")
        if name not in self._texture_ids:
            texture = read_texture(self.find_texture(cursor, name), ("PPM",))
            self._texture_ids[name] = self.document.add_texture(texture)
        return self._texture_ids[name]

    def find_texture(self, cursor: Cursor, name: str) -> Path:
        """Where a texture lies: in ../TextureFiles beside the folder of the scene, or in that folder."""
        places = [self.folder / TEXTURES, self.folder]
        for place in places:
            if is_file(place / name):
                if not may_be_read(place / name):
                    raise cursor.error(f"{shown(name)} {OUTSIDE}", cursor.position - 1)
                return place / name
        looked = " and ".join(str(place) for place in places)
        raise cursor.error(f"no texture {shown(name)} in {looked}", cursor.position - 1)

    def add(self, part: Part, triangles: int) -> None:
        """Takes in a piece of geometry of so many triangles."""
        self._triangles += triangles
        if self._triangles > MAX_TRIANGLES:
            raise SceneFileError(
                part.origin.path, part.origin.line, f"over {MAX_TRIANGLES} triangles, with all includes"
            )
        self.document.parts.append(part)

    def add_mesh(self, mesh: Mesh, origin: Origin, loose: bool = False) -> None:
        """Takes in a mesh under the current transform."""
        self.add(Part(mesh, self.transform, origin, loose=loose), len(mesh.triangles))

    def add_curve(self, curve: Curve, origin: Origin) -> None:
        """Takes in a round shape under the current transform."""
        self.add(replace(part_of(curve, self.transform, origin), loose=True), len(curve.coarse.triangles))
