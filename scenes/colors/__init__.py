"""This package makes colours: of spectra, of sRGB, and textures of single colours."""
