import os
import signal
import sys

from renderer import cli
from renderer.run.resuming import checkpoints

write = checkpoints.write


def write_and_die(*arguments):
    write(*arguments)
    os.kill(os.getpid(), number)


cli.main(["render", *sys.argv[2:], "--driver", "photon", "--passes", "1"])  # what this has loaded the children have
for pair in sys.argv[1].split():
    driver, name = pair.split(":")
    number = getattr(signal, name)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        checkpoints.write = write_and_die
        os._exit(cli.main(["render", *sys.argv[2:], "--driver", driver, "-o", f"{name}.png", "--checkpoint", "0"]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
