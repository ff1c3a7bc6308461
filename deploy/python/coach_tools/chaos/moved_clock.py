"""Environment variables that move the wall clock of a process (libfaketime). Its monotonic clock is not changed."""
import ctypes
import os


class MovedClock:
    """The shared memory of libfaketime. Without a name for it libfaketime creates its own and changes the environment; Swift then does not find
    the program's arguments, which it reads beside the original environment."""

    def __init__(self, library):
        self.library = library
        name = f"/coach-chaos-{os.getpid()}"
        self.semaphore, self.memory = f"{name}-lock", f"{name}-time"
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.sem_open.restype = ctypes.c_void_p

    def open(self):
        """Creates the semaphore and the shared memory."""
        if not self.libc.sem_open(self.semaphore.encode(), os.O_CREAT, ctypes.c_uint(0o600), ctypes.c_uint(1)):
            raise OSError(ctypes.get_errno(), "sem_open")
        with open(f"/dev/shm{self.memory}", "wb") as memory:
            memory.write(bytes(4096))

    def environment(self, offset):
        """The variables for a process whose clock is moved by `offset`, in libfaketime's form: "+1h"."""
        return {
            "LD_PRELOAD": self.library, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_SHARED": f"{self.semaphore} {self.memory}"}

    def close(self):
        """Removes the semaphore and the shared memory."""
        self.libc.sem_unlink(self.semaphore.encode())
        if os.path.exists(f"/dev/shm{self.memory}"):
            os.unlink(f"/dev/shm{self.memory}")
