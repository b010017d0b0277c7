# Prints once, and ends with the code that the file says as soon as there is one.
import os
import pathlib
import sys
import time

print("run", os.environ["DET_TRIAL_RUN_ID"], "is here")
code = pathlib.Path(sys.argv[1])
while not code.exists():
    time.sleep(0.05)
sys.exit(int(code.read_text()))
