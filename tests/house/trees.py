"""The nodes of parsed modules, walked through once for all tests that look at them."""

import ast
from functools import cache


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Every node of a module, as `ast.walk` gives them."""
    return tuple(ast.walk(tree))
