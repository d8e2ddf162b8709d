"""What holds for all tests."""

import signal

# A job in the background of a script is started with Ctrl-C ignored, and so would be the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
