class Module:
    def __init__(self, **parts):
        self.parts = parts

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, part in self.parts.items():
            yield from part.named_modules(prefix + "." + name if prefix else name)

    def _call(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    __call__ = _call
