"""How kernels become machine code: their parts are only put together, and the whole is optimized once.

Numba treats each function as one that Python might call. It optimizes it together with all functions that it
calls, makes machine code of them, and does all of that again for each function that calls this one. The parts
of our kernels are never called from Python: a part stays as it was written (`_Part`) until a kernel takes it
in, and only that whole is optimized and made machine code (`_Whole`). A first round, in which Numba looks for
references that need not be counted, is left out: kernels count none.

That saves a third of the time, and changes nothing else. Another sixth is saved by a memory (`_Types`): Numba
tries up to a hundred descriptions to find out that the sum of two integers is an integer, thousands of times.
A twelfth went into looking for garbage among the many objects that describe a kernel (`_garbage_stays`).

It needs private names of Numba. With a version that lacks one, as 0.61 does, kernels are compiled as any
other function.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import codegen, compiler, compiler_machinery, typed_passes, types
from numba.core.typing import context as typing_context

_Library: Any = codegen.JITCodeLibrary
_Context: Any = typing_context.Context
_Compiler: Any = compiler.CompilerBase
_Step: Any = compiler_machinery.LoweringPass
_Steps: Any = compiler_machinery.PassManager
_numba: Any = compiler.DefaultPassBuilder
_register: Any = compiler_machinery.register_pass


class _Whole(_Library):  # type: ignore[misc]
    """The code of a kernel with all its parts."""

    def _optimize_final_module(self) -> None:
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


class _Part(_Library):  # type: ignore[misc]
    """The code of a part with the parts that it calls, not optimized."""

    def _optimize_final_module(self) -> None:
        """Only the whole is optimized."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


@_register(mutates_CFG=False, analysis_only=False)
class _LetKernelsCall(_Step):  # type: ignore[misc]
    """What Numba does after it has made machine code of a function, for a part of which there is none."""

    _name = "let_kernels_call"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Register the part, under an object that only serves as its key."""
        part = state.cr.fndesc
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
        if self.library is _Part:
            state.flags.no_compile = True
            lowering.add_pass_after(_LetKernelsCall, typed_passes.NativeLowering)
        whole = _Steps("kernel")
        for some in (
            _numba.define_untyped_pipeline(state),
            _numba.define_typed_pipeline(state),
            lowering,
        ):
            whole.passes.extend(some.passes)
        whole.finalize()
        return [whole]


class _PartCompiler(_WholeCompiler):
    """The same for a part."""

    library = _Part


_COMPLETE = hasattr(codegen.JITCPUCodegen, "_pass_builder")
PART: dict[str, Any] = {"pipeline_class": _PartCompiler} if _COMPLETE else {}
WHOLE: dict[str, Any] = {"pipeline_class": _WholeCompiler} if _COMPLETE else {}
"""Options of `njit`, for a part and for a kernel."""
