"""Reports metrics as the harness does and reads them as the SDK does: metrics.py MASTER PASSWORD CONFIG."""
import math
import sys

from determined.common.api import bindings as b
from determined.experimental import client

master, password, config = sys.argv[1:]
client.login(master, "admin", password)
s = client._determined._session
e = b.post_CreateExperiment(s, body=b.v1CreateExperimentRequest(config=config, activate=True)).experiment
t = b.get_GetExperimentTrials(s, experimentId=e.id).trials[0]


def report(group, steps, values, batches=None, at=None):
    m = b.v1Metrics(avgMetrics=values, batchMetrics=batches)
    m = b.v1TrialMetrics(metrics=m, trialId=t.id, trialRunId=1, stepsCompleted=steps, reportTime=at)
    b.post_ReportTrialMetrics(s, body=b.v1ReportTrialMetricsRequest(metrics=m, group=group), metrics_trialId=t.id)


for _ in range(2):  # an answer that is lost makes the harness send again
    for step in range(10, 101, 10):
        values = {"loss": 1 / step if step != 50 else math.nan, "up": math.inf, "list": [1, 2]}
        report("training", step, values, batches=[{"loss": 2.0}])
        report("validation", step, values)
        report("mine", step, values)
    report("cpu", None, {"agent": {"cpu_util_simple": 1.0}}, at="2026-01-02T03:04:05.123456+00:00")
report("validation", 10, {"accuracy": 0.5})

trial = client.get_trial(t.id)
for group, n in (("training", 10), ("validation", 10), ("mine", 10), ("cpu", 1), ("none", 0)):
    got = list(trial.iter_metrics(group))
    assert len(got) == n, (group, got)
first = next(iter(trial.iter_metrics("training")))
assert first.steps_completed == 10 and first.metrics["loss"] == 0.1 and first.batch_metrics == [{"loss": 2}], first
validations = list(client.stream_trials_validation_metrics([t.id]))
assert validations[4].metrics["loss"] == "NaN" and validations[0].metrics["accuracy"] == 0.5, validations
loss = trial.summary_metrics["validation_metrics"]["loss"]
assert loss["count"] == 10 and loss["last"] == 0.01 and loss["max"] == 0.1 and loss["min"] == 0.01 and loss["sum"] == "NaN", loss


def one(stream):
    return next(iter(stream)).to_json()


of = {"experimentId": e.id, "metricName": "loss", "group": "validation", "periodSeconds": 1}
assert one(b.get_MetricBatches(s, **of))["batches"] == list(range(10, 101, 10))
names = one(b.get_ExpMetricNames(s, ids=[e.id], periodSeconds=1))
assert names["searcherMetrics"] == ["loss"] and "accuracy" in names["validationMetrics"], names
assert one(b.get_TrialsSnapshot(s, batchesProcessed=20, **of))["trials"][0]["metric"] == 0.05
assert len(one(b.get_TrialsSample(s, maxDatapoints=5, **of))["trials"][0]["data"]) == 5
curves = b.get_CompareTrials(s, trialIds=[t.id], metricIds=["validation.loss", "mine.loss"]).trials[0].metrics
assert [c.group for c in curves] == ["mine", "validation"] and len(curves[1].data) == 10, curves
history = b.get_GetExperimentValidationHistory(s, experimentId=e.id).validationHistory
assert len(history) == 9 and history[-1].searcherMetric == 0.01, history
work = b.get_GetTrialWorkloads(s, trialId=t.id, includeBatchMetrics=True)
assert work.pagination.total == 20 and work.workloads[0].training.metrics.batchMetrics, work
many = {"n%d" % i: 1 for i in range(1001)}
for refused, values in (("cannot be changed to", {"loss": 7}), ("4 MiB", {"text": "x" * (5 << 20)}), ("1000 names", many)):
    try:
        report("validation", 10, values)
    except Exception as err:
        assert refused in str(err), err
    else:
        raise AssertionError(refused + ": is taken")
