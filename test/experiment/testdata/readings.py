# Reads the log of a trial once for each line of stdin, which has the arguments as JSON.
import json
import sys

from determined.common.experimental.trial import LogLevel
from determined.experimental import client

trial = client.get_trial(int(sys.argv[1]))
for line in sys.stdin:
    options = json.loads(line)
    if "min_level" in options:
        options["min_level"] = LogLevel[options["min_level"]]
    print(json.dumps("".join(trial.iter_logs(**options))))
