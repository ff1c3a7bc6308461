"""Variables that give a process another wall clock (libfaketime); its monotonic clock stays right."""
import ctypes
import os


class MovedClock:
    """libfaketime makes its shared memory itself, unless it is named to it: then it leaves the environment as it is. Swift finds a program's
    arguments beside the original environment, so a process whose environment was changed before it starts has none."""

    def __init__(self, library):
        self.library = library
        name = f"/coach-chaos-{os.getpid()}"
        self.semaphore, self.memory = f"{name}-lock", f"{name}-time"
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.sem_open.restype = ctypes.c_void_p

    def open(self):
        if not self.libc.sem_open(self.semaphore.encode(), os.O_CREAT, ctypes.c_uint(0o600), ctypes.c_uint(1)):
            raise OSError(ctypes.get_errno(), "sem_open")
        with open(f"/dev/shm{self.memory}", "wb") as memory:
            memory.write(bytes(4096))

    def environment(self, offset):
        """`offset` as libfaketime takes it: "+1h"."""
        return {
            "LD_PRELOAD": self.library, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_SHARED": f"{self.semaphore} {self.memory}"}

    def close(self):
        self.libc.sem_unlink(self.semaphore.encode())
        if os.path.exists(f"/dev/shm{self.memory}"):
            os.unlink(f"/dev/shm{self.memory}")
