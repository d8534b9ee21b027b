"""One module a family of formats, each with ``looks_like`` and ``read``; `secom_core.readers.registry` lists them."""
