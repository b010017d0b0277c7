package k8s

import (
	"context"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/explain"
)

// diagnosePod returns the reasons why a pod of the cluster is not ready. It is empty without
// permission to read them.
func (t place) diagnosePod(ctx context.Context, selector string) explain.Verdict {
	s, err := explain.Look(ctx, explain.Of{Client: t.API, Namespace: t.Namespace, Selector: selector})
	if err != nil {
		return explain.Verdict{}
	}
	return explain.Judge(s, time.Now())
}

// diagnoseErrand returns the reasons why an errand has not completed: from its Job, its pods, and
// claims that they wait for. It ignores failed errands that are kept for inspection. succeeded
// reports whether its pod has succeeded.
func (t place) diagnoseErrand(ctx context.Context, job string) (v explain.Verdict, succeeded bool) {
	selector := clusterLabel + "=" + t.Cluster + "," + component + " in (" + componentUpgrade + "," + componentBackup + ")"
	s, err := explain.Look(ctx, explain.Of{Client: t.API, Namespace: t.Namespace, Selector: selector})
	if err != nil {
		return explain.Verdict{}, false
	}
	s.Jobs = slices.DeleteFunc(s.Jobs, func(j batchv1.Job) bool { return j.Name != job })
	s.Pods = slices.DeleteFunc(s.Pods, func(p corev1.Pod) bool { return p.Labels[batchv1.JobNameLabel] != job })
	v = explain.Judge(s, time.Now())
	v.Progress = nil // its being incomplete is not worth reporting
	return v, slices.ContainsFunc(s.Pods, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
}

// Ill describes the parts of the cluster that are not ready, one sentence each, with the last log
// line of their programs.
func (t *Target) Ill(ctx context.Context) ([]string, error) {
	s, err := explain.Look(ctx, explain.Of{Client: t.API, Namespace: t.Namespace, Selector: t.newPlace().standingSelector()})
	if err != nil {
		return nil, err
	}
	v := explain.Judge(s, time.Now())
	out := v.Progress
	for _, one := range v.Troubles {
		out = append(out, withLastLogLine(one))
	}
	return out, nil
}

// progressLine returns the progress while waiting: the parts that are not ready, and the most
// serious problem.
func progressLine(v explain.Verdict) string {
	parts := v.Progress
	if len(v.Troubles) > 0 {
		parts = append(parts, troubleLine(v.Troubles[0]))
	}
	return strings.Join(parts, "; ")
}

// troubleLine returns a problem as one line.
func troubleLine(t explain.Trouble) string {
	s := t.Object + ": " + t.What
	if t.Event != "" {
		s += " (" + strings.ReplaceAll(t.Event, "\n", " ") + ")"
	}
	return s
}

// withLastLogLine returns a problem as one line, with the last log line of its program.
func withLastLogLine(t explain.Trouble) string {
	if n := len(t.LogTail); n > 0 {
		return troubleLine(t) + "; last log line: " + t.LogTail[n-1]
	}
	return troubleLine(t)
}

// isLasting reports whether the most serious problem needs intervention.
func isLasting(v explain.Verdict) bool { return len(v.Troubles) > 0 && v.Troubles[0].Lasting }

// lastLogLines returns the end of the logs of a Job's pods, and other problems that they met.
func (t place) lastLogLines(ctx context.Context, job string) string {
	var b strings.Builder
	for _, one := range t.diagnosePod(ctx, "job-name="+job).Troubles {
		b.WriteString("\n" + one.String())
	}
	if b.Len() > 0 {
		return b.String()
	}
	pods, err := t.listPods(ctx, "job-name="+job)
	if err != nil || len(pods) == 0 {
		return ""
	}
	tail := LogQuery{Tail: errandTail}
	_ = t.readLog(ctx, pods[0], tail, nil, func(l LogLine) { b.WriteString("\n  log: " + l.Text) }) // a missing log does not matter
	return b.String()
}

func isDenied(err error) bool { return cloud.KindOf(err) == cloud.Denied }
