# SPDX-License-Identifier: GPL-2.0
"""Syntax trees of C, by tree-sitter: its library and its grammar of C, both Debian's.

The grammar (tree-sitter-c-src) comes as a C file, which is compiled once, to GRAMMAR or
a temporary file. There is no package of Python bindings, so ctypes calls the library.
"""

import ctypes
import glob
import os
import subprocess
import tempfile

SOURCES = "/usr/src/tree-sitter/c/*/parser/src"
LIBRARY = "libtree-sitter.so.0"


class _Node(ctypes.Structure):  # TSNode of tree_sitter/api.h
    _fields_ = [("context", ctypes.c_uint32 * 4), ("id", ctypes.c_void_p),
                ("tree", ctypes.c_void_p)]


class Node:
    """A node: its type, its bytes in the text, the field of its parent that it is."""
    __slots__ = ("type", "start", "end", "field", "named", "missing", "children", "parent")

    def __init__(self, kind, start, end, field, named, missing, parent):
        self.type, self.start, self.end, self.field = kind, start, end, field
        self.named, self.missing, self.parent = named, missing, parent
        self.children = []

    def child(self, field):
        """The child that is this field, or None."""
        for child in self.children:
            if child.field == field:
                return child
        return None

    def walk(self):
        """The node and all below it, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.walk()

    def above(self, kind):
        """The next node of a type that this one is in, or None."""
        node = self.parent
        while node and node.type != kind:
            node = node.parent
        return node


def _grammar(path):
    sources = sorted(glob.glob(os.environ.get("TREE_SITTER_C", SOURCES)))
    if not sources:
        raise SystemExit(f"no grammar of C in {SOURCES}: package tree-sitter-c-src")
    source = sources[-1]
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as scratch:
            made = os.path.join(scratch, "grammar.so")
            subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-I", source, "-o", made,
                            os.path.join(source, "parser.c")], check=True)
            os.replace(made, path)
    return ctypes.CDLL(path)


class Parser:
    """Makes trees of texts."""

    def __init__(self, grammar):
        lib = ctypes.CDLL(os.environ.get("TREE_SITTER_LIBRARY", LIBRARY))
        for name, result, arguments in (
                ("parser_new", ctypes.c_void_p, []),
                ("parser_set_language", ctypes.c_bool, [ctypes.c_void_p] * 2),
                ("parser_parse_string", ctypes.c_void_p,
                 [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32]),
                ("tree_root_node", _Node, [ctypes.c_void_p]),
                ("tree_delete", None, [ctypes.c_void_p]),
                ("node_type", ctypes.c_char_p, [_Node]),
                ("node_start_byte", ctypes.c_uint32, [_Node]),
                ("node_end_byte", ctypes.c_uint32, [_Node]),
                ("node_is_named", ctypes.c_bool, [_Node]),
                ("node_is_missing", ctypes.c_bool, [_Node]),
                ("node_child_count", ctypes.c_uint32, [_Node]),
                ("node_child", _Node, [_Node, ctypes.c_uint32]),
                ("node_field_name_for_child", ctypes.c_char_p, [_Node, ctypes.c_uint32])):
            function = getattr(lib, "ts_" + name)
            function.restype, function.argtypes = result, arguments
        language = _grammar(grammar).tree_sitter_c
        language.restype = ctypes.c_void_p
        self.lib, self.parser = lib, lib.ts_parser_new()
        if not lib.ts_parser_set_language(self.parser, language()):
            raise SystemExit("the grammar of C does not fit the library")

    def _copy(self, raw, field, parent):
        lib = self.lib
        node = Node(lib.ts_node_type(raw).decode(), lib.ts_node_start_byte(raw),
                    lib.ts_node_end_byte(raw), field, lib.ts_node_is_named(raw),
                    lib.ts_node_is_missing(raw), parent)
        for index in range(lib.ts_node_child_count(raw)):
            name = lib.ts_node_field_name_for_child(raw, index)
            node.children.append(self._copy(lib.ts_node_child(raw, index),
                                            name.decode() if name else "", node))
        return node

    def parse(self, text):
        """The tree of a text of bytes."""
        tree = self.lib.ts_parser_parse_string(self.parser, None, text, len(text))
        root = self._copy(self.lib.ts_tree_root_node(tree), "", None)
        self.lib.ts_tree_delete(tree)
        return root
