"""Parts of pictures; `statefactory.pictures` has the pictures themselves."""
