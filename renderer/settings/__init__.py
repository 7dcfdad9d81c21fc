"""This package says what a user may choose: each setting once, with its unit, its bounds, its effect and its default.

In: `scenes.keys`, the kinds of values; this package imports no compiler and no NumPy. Out: `picture.Settings`, which a
call in Python takes as keywords, and `measurement.Measurement`, what commands that measure have in common. The command
line makes its options from the fields of both (`renderer.commands.arguments.add_settings`). `picture.RenderSettings` is
what is resolved of the settings for whoever makes passes; tasks of loops take their fields from there by their names.
`settings_file` reads options from a file of TOML.
"""
