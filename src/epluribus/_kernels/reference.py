"""States passed to compiled functions by their address.

A state is a NamedTuple of arrays. Numba passes such a tuple by value: each call copies the descriptors of all
arrays, some two hundred numbers, and each access to one field reads them all. Compilers remove nearly all of
that, but it takes them most of their time. With `by_reference` the descriptors are written to memory once,
when Python calls a kernel; from there on the state is one address, and an access reads one field. To Python,
and to kernels that are not compiled, the class stays what it is: a NamedTuple.
"""

import hashlib
from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

State = TypeVar("State", bound=type)
_build: Any = cgutils
_native: Any = NativeValue
_ADDRESS: Any = ir.IntType(8).as_pointer()
_structs: dict[Any, Any] = {}


class Reference(types.Type):
    """Numba's type of a state that is passed by its address."""

    def __init__(self, instance_class: Any, fields: tuple[Any, ...]) -> None:
        self.instance_class, self.fields = instance_class, fields
        # Names of types become part of the names of compiled functions: a short one saves time.
        digest = hashlib.sha256(repr(fields).encode()).hexdigest()[:12]
        super().__init__(name=f"{instance_class.__name__}_{digest}")

    @property
    def key(self) -> Any:
        """What makes two types equal."""
        return self.instance_class, self.fields

    def position(self, name: str) -> int:
        """The place of a field, -1 if there is none with that name."""
        names = self.instance_class._fields
        return names.index(name) if name in names else -1


def by_reference(state: State) -> State:
    """Decorate a NamedTuple whose objects are passed by their address; kernels cannot make new ones."""

    @typeof_impl.register(state)
    def find(value: Any, context: Any) -> Reference:
        return Reference(state, tuple(typeof_impl(field, context) for field in value))

    return state


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    """The address of a struct with the fields.

    It does not say what it points to: a type with all fields would be written out, and read again, wherever a
    state is mentioned, and that would take most of the time of compilation.
    """

    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, _ADDRESS)  # type: ignore[no-untyped-call]


def _struct(context: Any, kind: Reference) -> Any:
    """The struct of a state, and where its fields begin in it, in bytes."""
    if kind not in _structs:
        fields = [context.get_value_type(field) for field in kind.fields]
        offsets, end = [], 0
        for field in fields:
            alignment = context.get_abi_alignment(field)
            begin = -(-end // alignment) * alignment
            offsets.append(begin)
            end = begin + context.get_abi_sizeof(field)
        _structs[kind] = ir.LiteralStructType(fields), offsets
    return _structs[kind]


def _at(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    """A pointer to the value of some type at an offset from an address."""
    moved = builder.gep(address, [ir.Constant(ir.IntType(64), offset)], inbounds=True)
    return builder.bitcast(moved, kind.as_pointer())


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    """The types of the fields."""

    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:  # type: ignore[override]
        """The type of a field, None if there is none with that name."""
        position = kind.position(name)
        return kind.fields[position] if position >= 0 else None


def _load(builder: Any, pointer: Any, kind: Any) -> Any:
    """Read a value, number by number, as one that never changes.

    Else the compiler would have to read it again after every write to any array.
    """
    if not isinstance(kind, ir.Aggregate):
        value = builder.load(pointer)
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value
    whole = ir.Constant(kind, ir.Undefined)
    for position, part in enumerate(kind.elements):
        at = _build.gep_inbounds(builder, pointer, 0, position)
        whole = builder.insert_value(whole, _load(builder, at, part), position)
    return whole


def _load_array(context: Any, builder: Any, address: Any, offset: int, kind: Any) -> Any:
    """Read what is needed of the description of a contiguous array: its address and its shape.

    Its size and strides follow from these, and kernels without counted references need no more. Fewer
    instructions make compilation faster.
    """
    struct = context.get_value_type(kind)
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    # In Numba's order: meminfo, parent, nitems, itemsize, data, shape, strides; 8 bytes each.
    fixed = [ir.Constant(field, ir.Undefined) for field in struct.elements]
    fixed[3] = ir.Constant(struct.elements[3], itemsize)
    if kind.ndim == 1:
        fixed[6] = ir.Constant(struct.elements[6], [ir.Constant(ir.IntType(64), itemsize)])
    whole = ir.Constant(struct, fixed)
    for position in (4, 5) if kind.ndim == 1 else (2, 4, 5, 6):
        # Shape and strides have a number for each dimension.
        begin = offset + 8 * (position if position < 6 else 5 + kind.ndim)
        field = struct.elements[position]
        value = _load(builder, _at(builder, address, begin, field), field)
        whole = builder.insert_value(whole, value, position)
        if position == 5 and kind.ndim == 1:  # the number of items
            whole = builder.insert_value(whole, builder.extract_value(value, 0), 2)
    return whole


@lower_getattr_generic(Reference)  # type: ignore[no-untyped-call]
def _read(context: Any, builder: Any, kind: Reference, value: Any, name: str) -> Any:
    """Read one field."""
    position = kind.position(name)
    own = kind.fields[position]
    struct, offsets = _struct(context, kind)
    if isinstance(own, types.Array) and own.layout == "C" and not context.enable_nrt:
        field = _load_array(context, builder, value, offsets[position], own)
    else:
        part = struct.elements[position]
        field = _load(builder, _at(builder, value, offsets[position], part), part)
    return impl_ret_borrowed(context, builder, own, field)  # type: ignore[no-untyped-call]


@unbox(Reference)  # type: ignore[no-untyped-call]
def _unbox(kind: Reference, state: Any, c: Any) -> NativeValue:
    """Write the fields to the stack of the function that Python calls: they last as long as the call."""
    # Nothing may be inlined into this function: here the fields are written, elsewhere they never change.
    c.builder.function.attributes.add("noinline")
    c.builder.function.attributes.add("optnone")
    struct, offsets = _struct(c.context, kind)
    address = c.builder.bitcast(_build.alloca_once(c.builder, struct), _ADDRESS)
    counted = c.context.enable_nrt  # whether references to arrays are counted
    adapt = c.pyapi.nrt_adapt_ndarray_from_python if counted else c.pyapi.numba_array_adaptor
    failed, cleanups = _build.false_bit, []
    for position, field in enumerate(kind.fields):
        item = c.pyapi.tuple_getitem(state, position)
        target = _at(c.builder, address, offsets[position], struct.elements[position])
        if isinstance(field, types.Array):
            # Straight into place: most fields are arrays, and Numba's own way is several times as long. The
            # type comes from the array itself, so its items need not be checked.
            status = adapt(item, c.builder.bitcast(target, c.pyapi.voidptr))
            failed = c.builder.or_(failed, _build.is_not_null(c.builder, status))
        else:
            native = c.unbox(field, item)
            c.builder.store(native.value, target)
            failed = c.builder.or_(failed, native.is_error)
            if native.cleanup is not None:
                cleanups.append(native.cleanup)
    with c.builder.if_then(failed, likely=False):
        c.pyapi.err_set_string("PyExc_TypeError", f"'{kind.name}' cannot be read.")

    def cleanup() -> None:
        for clean in cleanups:
            clean()
        # To Numba the state is one address: it does not see the references that were taken above.
        if counted:
            for position, field in enumerate(kind.fields):
                value = c.builder.load(
                    _at(c.builder, address, offsets[position], struct.elements[position])
                )
                c.context.nrt.decref(c.builder, field, value)

    return _native(address, cleanup=cleanup, is_error=failed)
