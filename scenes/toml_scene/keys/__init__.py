"""This package lists the keys of a scene file, a module for each subject: name, kind of value with its unit, meaning,
example, and default. From these tables come the checks, the error messages and the manual."""
