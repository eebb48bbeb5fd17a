"""How kernels become machine code: what they are made of is optimized once, not for each use again.

Numba treats each function as one that Python might call. It optimizes it together with all functions that it
calls, makes machine code of them, and does all of that again for each function that calls this one. What our
kernels are made of is never called from Python, and is of two kinds (`dispatch`):

- a *part* stays as it was written (`_Part`) until the kernels and routines that use it take it in;
- a *routine* is optimized and made machine code once (`_Routine`), and all kernels call that code. The file
  of a kernel on disk has a copy of it, which is loaded unless another kernel has loaded it before.

Four more things save time. Steps are left out: Numba looks for references that need not be counted, but
kernels count none; it optimizes each function before the whole; and it looks for kinds of Python code that
kernels do not use (`_NOT_USED`). A memory (`_Types`): Numba tries up to a hundred descriptions to find out
that the sum of two integers is an integer, thousands of times. And meanwhile nobody looks for garbage among
the many objects that describe a kernel (`_garbage_stays`). Altogether the first calls with three kinds of
losses took 7 instead of 16 s. Nothing else changes.

It needs private names of Numba. With a version that lacks one, as 0.61 does, kernels are compiled as any
other function.
"""

import gc
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import codegen, compiler, compiler_machinery, typed_passes, types
from numba.core.registry import cpu_target
from numba.core.typing import context as typing_context

_Library: Any = codegen.JITCodeLibrary
_Context: Any = typing_context.Context
_Compiler: Any = compiler.CompilerBase
_Step: Any = compiler_machinery.LoweringPass
_Steps: Any = compiler_machinery.PassManager
_numba: Any = compiler.DefaultPassBuilder
_register: Any = compiler_machinery.register_pass


class _Code(_Library):  # type: ignore[misc]
    """The code of a function with the parts that it calls; of routines it has only the names."""

    _linking_libraries: list[Any]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.routines: dict[_Routine, None] = {}  # a set that keeps its order

    def finalize(self) -> None:
        """Put the code together."""
        libraries = self._linking_libraries
        # Each routine after those that it calls itself: code is complete when it is loaded.
        for library in libraries:
            self.routines |= getattr(library, "routines", {})
            if isinstance(library, _Routine):
                self.routines[library] = None
        self._linking_libraries = [one for one in libraries if one not in self.routines]
        super().finalize()

    def _optimize_functions(self, module: Any) -> None:
        """Only the whole is optimized."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        for routine in self.routines:
            with suppress(NameError):  # called by another routine only
                self._final_module.get_function(routine.function).name = routine.symbol
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)

    def _verify_declare_only_symbols(self) -> None:
        """Names of functions without their code are those of routines."""


class _Part(_Code):
    """The code of a part, not optimized."""

    def _optimize_final_module(self) -> None:
        """Only the whole is optimized."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _Routine(_Code):
    """The code of a routine."""

    function = ""
    """Numba's name of it, which another process may give to another function."""

    def _optimize_final_module(self) -> None:
        self.symbol = f"{self.function}.{uuid.uuid4().hex}"
        self._final_module.get_function(self.function).name = self.symbol
        super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        _loaded[self.symbol] = self


class _Whole(_Code):
    """The code of a kernel."""

    def serialize_using_object_code(self) -> Any:
        """What is kept on disk: the code, and that of all routines."""
        routines = [(routine.symbol, routine._get_compiled_object()) for routine in self.routines]
        return (*super().serialize_using_object_code(), routines)


_loaded: dict[str, Any] = {}
"""The routines of this process: their machine code, which is never removed, must not be loaded twice."""


def load_routines(saved: Any) -> Any:
    """Load the routines of a kernel that was kept on disk; return what Numba needs to load the kernel."""
    (*whole, routines), *rest = saved
    for symbol, code in routines:
        if symbol not in _loaded:
            library = cpu_target.target_context.codegen().create_library(symbol)
            library.enable_object_caching()
            library._set_compiled_object(code)
            library._finalize_final_module()
            _loaded[symbol] = library
    return tuple(whole), *rest


@_register(mutates_CFG=False, analysis_only=False)
class _LetKernelsCall(_Step):  # type: ignore[misc]
    """What Numba does after it has made machine code of a function, for one that has none, or none yet."""

    _name = "let_kernels_call"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Register the function, under an object that only serves as its key."""
        part = state.cr.fndesc
        state.library.function = part.llvm_func_name
        key = _dynfunc.make_function(
            part.lookup_module(), part.qualname, "", 0, state.cr.env, (state.library,)
        )
        state.targetctx.insert_user_function(key, part, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class _Types(_Context):  # type: ignore[misc]
    """What Numba knows about types, with a memory for what functions and operators make of them."""

    found: dict[Any, Any] = {}  # noqa: RUF012 - shared by all kernels, which have the same options

    def __init__(self, context: Any) -> None:
        self.__dict__ = context.__dict__  # all else is Numba's own, and stays up to date

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a function for arguments of some types."""
        known: Any = func if isinstance(func, types.Type) else self._lookup_global(func)
        if kws or not hasattr(known, "_impl_keys"):
            return super().resolve_function_type(func, args, kws)
        if (known, args) not in self.found:
            signature = super().resolve_function_type(known, args, kws)
            if signature is None:
                return None
            self.found[known, args] = signature, known._impl_keys[signature.args]
        signature, key = self.found[known, args]
        # What implements it, for the steps that follow: code compiled with other options has its own.
        known._impl_keys[signature.args] = key
        return signature


@contextmanager
def _garbage_stays() -> Iterator[None]:
    """Inside, Python does not look for garbage. One thread compiles at a time: Numba sees to that."""
    if not gc.isenabled():  # a part of the kernel that is being compiled, or the user's own wish
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


_NOT_USED = {"inline_closure_likes", "inline_overloads", "nopython_rewrites"}
"""Steps for functions inside functions, functions that ask to be inlined, and sums of whole arrays."""


class _WholeCompiler(_Compiler):  # type: ignore[misc]
    """The steps in which Numba compiles a function, with our own kind of library."""

    library: Any = _Whole

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        with _garbage_stays():
            return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        """The steps, in order."""
        state = self.state
        state.typingctx = _Types(state.typingctx)
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        lowering = _numba.define_nopython_lowering_pipeline(state)
        if self.library is not _Whole:
            state.flags.no_compile = True
            lowering.add_pass_after(_LetKernelsCall, typed_passes.NativeLowering)
        whole = _Steps("kernel")
        for some in (
            _numba.define_untyped_pipeline(state),
            _numba.define_typed_pipeline(state),
            lowering,
        ):
            whole.passes.extend(some.passes)
        # The functions of a user's own model may use what ours do not.
        if state.func_id.modname.startswith(__package__):
            whole.passes = [step for step in whole.passes if step[0].name() not in _NOT_USED]
        whole.finalize()
        return [whole]


class _PartCompiler(_WholeCompiler):
    """The same for a part."""

    library = _Part


class _RoutineCompiler(_WholeCompiler):
    """The same for a routine."""

    library = _Routine


_COMPLETE = hasattr(codegen.JITCPUCodegen, "_pass_builder")
PART: dict[str, Any] = {"pipeline_class": _PartCompiler} if _COMPLETE else {}
ROUTINE: dict[str, Any] = {"pipeline_class": _RoutineCompiler} if _COMPLETE else {}
WHOLE: dict[str, Any] = {"pipeline_class": _WholeCompiler} if _COMPLETE else {}
"""Options of `njit`, for a part, a routine and a kernel."""
