"""Documents: the files of a shared folder, made from values alone: the study, its scores as metadata, the README."""
