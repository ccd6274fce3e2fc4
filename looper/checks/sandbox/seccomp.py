"""The system call filter of both strong rungs, as a classic BPF program (`man 2 seccomp`, `man 7 bpf`).

It closes what namespaces leave open: memory that no process maps (`memfd_create`, System V segments), socket families
without a namespace (AF_VSOCK, AF_ALG), keyrings, and kernel interfaces that a check never needs.
"""

import errno
import platform
import struct

_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# name: (x86_64, aarch64), from the kernel's system call tables; -1 where there is none
_REFUSED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "open_tree": (428, 428),
    "move_mount": (429, 429), "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),
    "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "syslog": (103, 116), "acct": (163, 89),
    "quotactl": (179, 60), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "iopl": (172, -1), "ioperm": (173, -1), "modify_ldt": (154, -1),
    "personality": (135, 92), "fanotify_init": (300, 262), "lookup_dcookie": (212, 18), "vhangup": (153, 58),
    "nfsservctl": (180, 42), "move_pages": (279, 239), "migrate_pages": (256, 238),
}  # fmt: skip
# What namespaces would have kept inside: sending to a socket of the host, signalling its processes.
_OUTWARD = {
    "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
    "sendmsg": (46, 211), "sendmmsg": (307, 269), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "inotify_add_watch": (254, 27),
    # Landlock does not see changes of mode, owner, time and attributes.
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, -1),
    "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54), "utime": (132, -1), "utimes": (235, -1),
    "utimensat": (280, 88), "futimesat": (261, -1), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip
_SIGNALS = {"kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131)}
_CALL = {"socket": (41, 198), "ioctl": (16, 29), "clone": (56, 220), "clone3": (435, 435), "sendto": (44, 206),
         "prlimit64": (302, 261), "fcntl": (72, 25)}  # fmt: skip
_LOCAL_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: each has its own world in a network namespace."""
_TERMINAL_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI types into a terminal, TIOCLINUX pastes into a console."""
_OWNER_REQUESTS = (0x8901, 0x8902)
"""FIOSETOWN and SIOCSPGRP, like fcntl's F_SETOWN and F_SETOWN_EX, direct a signal at any process."""
_OWNER_COMMANDS = (8, 15)
_NEW_NAMESPACES = 0x7E020000
"""Every CLONE_NEW flag of `clone`."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

Line = tuple[int, int, int, int]


def seccomp_program(alone: bool, signals: bool = True, machine: str | None = None) -> bytes | None:
    """The filter as an array of `struct sock_filter`; None for a processor whose call numbers are not listed here.

    `alone`: there is no namespace around the program, so sockets of every family and queued signals are refused too;
    without `signals` it can send none at all, for kernels whose Landlock cannot confine them.
    """
    machine = machine or platform.machine()
    if machine not in _ARCH:
        return None
    column = list(_ARCH).index(machine)
    lines: list[Line] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, 0x40000000),  # the x32 twin of every call
        (_RETURN, 0, 0, _KILL),
    ]
    refused = _REFUSED | (_OUTWARD if alone else {}) | ({} if signals else _SIGNALS)
    for numbers in refused.values():
        if numbers[column] >= 0:
            lines += [(_EQUAL, 0, 1, numbers[column]), _error(errno.EPERM)]
    for name, check in _argument_checks(alone).items():
        lines += [(_EQUAL, 0, len(check), _CALL[name][column]), *check]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _argument_checks(alone: bool) -> dict[str, list[Line]]:
    """What to do on a call whose arguments decide; every list ends with a return."""
    checks = {
        "socket": [_error(errno.EPERM)] if alone else _only(_LOCAL_FAMILIES),
        "ioctl": _none_of(1, _TERMINAL_REQUESTS + (_OWNER_REQUESTS if alone else ())),
        "clone": [_argument(0), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), _error(errno.EPERM), (_RETURN, 0, 0, _ALLOW)],
        # Its flags are behind a pointer; without it the C library uses clone.
        "clone3": [_error(errno.ENOSYS)],
    }
    if alone:
        checks["fcntl"] = _none_of(1, _OWNER_COMMANDS)
        checks["prlimit64"] = [_argument(0), (_EQUAL, 1, 0, 0), _error(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]
        # A socket pair can still send to an address.
        checks["sendto"] = [
            _argument(4),
            (_EQUAL, 0, 2, 0),
            (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * 4 + 4),
            (_EQUAL, 1, 0, 0),
            _error(errno.EPERM),
            (_RETURN, 0, 0, _ALLOW),
        ]
    return checks


def _only(values: tuple[int, ...]) -> list[Line]:
    matches = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(0), *matches, _error(errno.EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW)]


def _none_of(argument: int, values: tuple[int, ...]) -> list[Line]:
    matches = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(argument), *matches, (_RETURN, 0, 0, _ALLOW), _error(errno.EPERM)]


def _argument(index: int) -> Line:
    """Loads the low half of an argument; both processors are little-endian."""
    return (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * index)


def _error(number: int) -> Line:
    return (_RETURN, 0, 0, _ERRNO | number)
