"""Measures Ray on this machine the way test/bench/cluster measures det-deploy, one line a figure.

Needs test/bench/peers/install.sh. Jobs are what compares with a task of det-deploy: a program that
a scheduler starts, with an exit status and a log. Functions are Ray's own short tasks, which run
inside processes that are there already; a function that starts a program stands between.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import ray
from ray.job_submission import JobStatus, JobSubmissionClient

JOBS = int(os.environ.get("JOBS", "20"))
FUNCTIONS = int(os.environ.get("FUNCTIONS", "2000"))
SENDERS = 16
ENDED = {JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED}


def line(what: str, figure: str) -> None:
    print(f"{what:<46} {figure}", flush=True)


def measure_jobs(url: str) -> None:
    client = JobSubmissionClient(url)
    begin = time.monotonic()
    with ThreadPoolExecutor(SENDERS) as pool:
        ids = list(pool.map(lambda _: client.submit_job(entrypoint="true"), range(JOBS)))
    accepted = time.monotonic() - begin
    for job in ids:
        while client.get_job_status(job) not in ENDED:
            time.sleep(0.05)
    ended = time.monotonic() - begin
    line(f"ray, {JOBS} jobs: accepted, ended", f"{JOBS / accepted:.1f}/s, {JOBS / ended:.1f}/s")


@ray.remote(num_cpus=1)
def nothing() -> int:
    return 0


@ray.remote(num_cpus=1)
def program() -> int:
    return subprocess.run(["/bin/true"], check=False).returncode


def measure_functions(what: str, function) -> None:
    ray.get([function.remote() for _ in range(100)])
    begin = time.monotonic()
    ray.get([function.remote() for _ in range(FUNCTIONS)])
    line(f"ray, {FUNCTIONS} functions that {what}", f"{FUNCTIONS / (time.monotonic() - begin):.0f}/s")


def main() -> None:
    context = ray.init(num_cpus=2, dashboard_host="127.0.0.1", dashboard_port=18265, log_to_driver=False, logging_level="ERROR")
    try:
        measure_jobs("http://" + context.dashboard_url)
        measure_functions("return", nothing)
        measure_functions("start /bin/true", program)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
