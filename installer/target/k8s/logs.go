package k8s

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
)

// LogQuery selects log lines.
type LogQuery struct {
	// Component is master or database.
	Component string
	// Since is the start time. Tail is the maximum number of existing lines, or zero for all.
	Since time.Time
	Tail  int64
	// Previous selects the container before the last restart.
	Previous bool
	// Follow waits for more lines, and continues with the next pod when one ends.
	Follow bool
}

// LogLine is one line of a log.
type LogLine struct {
	Time time.Time `json:"time"`
	Pod  string    `json:"pod"`
	Text string    `json:"text"`
}

// longestLine is the maximum length of a line; the container runtime splits longer ones.
const longestLine = 1 << 20

// Logs calls show with the log lines of the cluster's own pods, oldest first.
func (t *Target) Logs(ctx context.Context, q LogQuery, show func(LogLine)) error {
	seen := map[string]time.Time{}
	for {
		pods, err := t.newPlace().listPods(ctx, t.newPlace().ownSelector()+","+component+"="+q.Component)
		if err != nil {
			return err
		}
		if len(pods) == 0 && !q.Follow {
			return &cloud.Error{
				Kind: cloud.NotFound, Op: "read the log of the " + q.Component, Err: errors.New("it has no pod"),
				Fix: "run `det-deploy k8s status --cluster-id " + t.Cluster + "` to see why",
			}
		}
		for _, p := range pods {
			if err := t.newPlace().readLog(ctx, p, q, seen, show); err != nil {
				return err
			}
		}
		if !q.Follow {
			return nil
		}
		if err := t.newWaiter().pauseBriefly(ctx); err != nil {
			return nil //nolint:nilerr // the end of ctx is not an error
		}
	}
}

// readLog calls show with the new lines of one pod.
func (t place) readLog(ctx context.Context, p corev1.Pod, q LogQuery, seen map[string]time.Time, show func(LogLine)) error {
	if p.Status.Phase == corev1.PodPending {
		return nil // the log is empty
	}
	o := &corev1.PodLogOptions{Container: logContainer(p), Timestamps: true, Follow: q.Follow, Previous: q.Previous}
	last, again := seen[p.Name]
	switch {
	case again:
		since := metav1.NewTime(last)
		o.SinceTime = &since
	case !q.Since.IsZero():
		since := metav1.NewTime(q.Since)
		o.SinceTime = &since
	}
	if q.Tail > 0 && !again {
		o.TailLines = &q.Tail
	}
	stream, err := t.API.CoreV1().Pods(t.Namespace).GetLogs(p.Name, o).Stream(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) && q.Follow {
		return nil // the pod is gone or has not started
	}
	if err != nil {
		return t.explainError("get", "pods/log", p.Name, err)
	}
	defer func() { _ = stream.Close() }() // read to the end
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		l := lineOf(p.Name, lines.Text())
		if again && !l.Time.After(last) {
			continue
		}
		if seen != nil {
			seen[p.Name] = l.Time
		}
		show(l)
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read the log of pod %s: %w", p.Name, err)
	}
	return nil
}

// logContainer returns the container whose log to read: the first, which is the main one.
func logContainer(p corev1.Pod) string {
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

func lineOf(pod, text string) LogLine {
	stamp, rest, _ := strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return LogLine{Pod: pod, Text: text}
	}
	return LogLine{at.UTC(), pod, rest}
}
