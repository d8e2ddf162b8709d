"""Compression of domains and evidence. The name `compress` is that of the public function, which a package would hide."""
