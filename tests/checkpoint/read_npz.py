#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints every array of an .npz, a line each: name, type, shape, values. By numpy where it is installed, otherwise by
the standard library, which reads zip files and whose parser understands the head of an array."""

import ast
import struct
import sys
import zipfile

try:
    import numpy
except ImportError:
    numpy = None


def arrays(path):
    with zipfile.ZipFile(path) as archive:
        bad = archive.testzip()  # reads all of it and compares checksums
        if bad is not None:
            raise ValueError(f"{bad} is damaged")
        names = archive.namelist()
        if numpy is not None:
            with numpy.load(path) as loaded:
                for name in names:
                    array = loaded[name.removesuffix(".npy")]
                    yield name, array.dtype.str, array.shape, array.ravel().tolist()
            return
        for name in names:
            data = archive.read(name)
            assert data[:8] == b"\x93NUMPY\x01\x00", name
            (length,) = struct.unpack("<H", data[8:10])
            assert (10 + length) % 64 == 0 and data[9 + length : 10 + length] == b"\n", name
            head = ast.literal_eval(data[10 : 10 + length].decode())
            values = struct.iter_unpack({"<f4": "<f", "<u8": "<Q"}[head["descr"]], data[10 + length :])
            assert head["fortran_order"] is False
            yield name, head["descr"], head["shape"], [value for (value,) in values]


for name, kind, shape, values in arrays(sys.argv[1]):
    count = 1
    for size in shape:
        count *= size
    assert count == len(values), f"{name}: {shape} and {len(values)} values"
    print(name.removesuffix(".npy"), kind, "x".join(map(str, shape)), *[f"{value:g}" for value in values])
