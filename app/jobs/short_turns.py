"""Short turns on a processor, for processes that compute beside somebody who waits for the disk.

The kernel lets who runs end its turn before it lets in who wakes. A commit ends in a thread of the kernel's own, which
so waits for whole turns of a process that computes, however little that one weighs. With short turns it waits no longer
than one of these.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

TURN = 100_000  # nanoseconds, the shortest that the kernel grants
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}  # numbers of the system call
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")  # size, policy, flags, nice, priority, runtime, deadline, period


def take_short_turns() -> bool:
    """Ask for short turns for the thread that calls, which keeps its class and how nice it is; whether it may be heard.

    Kernels before 6.12 take the wish and do nothing about it, and the idle class has no turns of its own.

    Source: Linux, `kernel/sched/syscalls.c` (`__setparam_fair`), Documentation/scheduler/sched-eevdf.rst.
    """
    number = SCHED_SETATTR.get(platform.machine())
    if number is None or platform.system() != "Linux" or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    wish = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, 0, os.nice(0), 0, TURN, 0, 0)
    return bool(ctypes.CDLL(None).syscall(number, 0, ctypes.c_char_p(wish), 0) == 0)
