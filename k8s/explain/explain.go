// Package explain reports why objects of a release on Kubernetes are not ready: the object, its
// latest event, the last lines of its log, and a suggested fix.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Trouble describes one object that is not ready.
type Trouble struct {
	// Object is like "pod determined-master-deployment-lab-5d-x".
	Object string `json:"object"`
	// What describes the problem, as a sentence without a full stop.
	What string `json:"what"`
	// Event is the reason and message of an event: "FailedScheduling: 0/3 nodes are …".
	Event string `json:"event,omitempty"`
	// LogTail is the end of the log of an exited container.
	LogTail []string `json:"log_tail,omitempty"`
	// Fix is a remedy, or "" if waiting may help.
	Fix string `json:"fix,omitempty"`
	// Lasting is true if waiting does not help.
	Lasting bool `json:"lasting"`
}

// String formats the trouble on several lines.
func (t Trouble) String() string {
	var b strings.Builder
	b.WriteString(t.Object + ": " + t.What)
	if t.Event != "" {
		b.WriteString("\n  event: " + t.Event)
	}
	for _, l := range t.LogTail {
		b.WriteString("\n  log: " + l)
	}
	return b.String()
}

// Seen is a snapshot of a release.
type Seen struct {
	Deployments []appsv1.Deployment
	ReplicaSets []appsv1.ReplicaSet
	Jobs        []batchv1.Job
	Pods        []corev1.Pod
	Claims      []corev1.PersistentVolumeClaim
	Services    []corev1.Service
	// Events are the events of the namespace.
	Events []corev1.Event
	// Logs are the last lines of exited containers, keyed by "pod/container".
	Logs map[string][]string
	// Classes maps the StorageClasses to whether they bind on first use. It is nil if the user may
	// not list them.
	Classes map[string]bool
	// DefaultClass is the default StorageClass. It is empty if there is none or Classes is nil.
	DefaultClass string
}

// Verdict is the result of Judge.
type Verdict struct {
	// Ready is true if everything is ready.
	Ready bool
	// Progress contains a line per object that is not ready: "deployment x: 0 of 1 ready".
	Progress []string
	// Troubles are the causes, lasting ones first.
	Troubles []Trouble
	// Notes are informational.
	Notes []string
}

// Judge returns the verdict on a snapshot. It is deterministic and makes no calls.
func Judge(s Seen, now time.Time) Verdict {
	var v Verdict
	for _, d := range s.Deployments {
		v.addDeployment(d)
	}
	for _, j := range s.Jobs {
		v.addJob(j, s.Events)
	}
	for _, rs := range s.ReplicaSets {
		v.addReplicaSet(rs, s.Events)
	}
	for _, p := range s.Pods {
		if isSuperseded(p, s) {
			continue
		}
		v.Troubles = append(v.Troubles, explainPod(p, s, now)...)
	}
	for _, c := range s.Claims {
		if t, bad := explainClaim(c, s); bad {
			v.Troubles = append(v.Troubles, t)
		}
	}
	for _, svc := range s.Services {
		if n := balancerNote(svc); n != "" {
			v.Notes = append(v.Notes, n)
		}
	}
	slices.SortStableFunc(v.Troubles, func(a, b Trouble) int {
		return cmp.Or(orderOf(b)-orderOf(a), strings.Compare(a.Object, b.Object), strings.Compare(a.What, b.What))
	})
	v.Ready = len(v.Progress) == 0
	return v
}

// orderOf sorts lasting troubles first.
func orderOf(t Trouble) int {
	if t.Lasting {
		return 1
	}
	return 0
}

func (v *Verdict) addDeployment(d appsv1.Deployment) {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	st := d.Status
	if st.ObservedGeneration >= d.Generation && st.UpdatedReplicas == want && st.ReadyReplicas == want && st.Replicas == want {
		return
	}
	v.Progress = append(v.Progress, fmt.Sprintf("deployment %s: %d of %d ready", d.Name, min(st.ReadyReplicas, st.UpdatedReplicas), want))
}

func (v *Verdict) addJob(j batchv1.Job, events []corev1.Event) {
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return
		case batchv1.JobFailed:
			v.Progress = append(v.Progress, "job "+j.Name+": failed")
			v.Troubles = append(v.Troubles, Trouble{
				Object: "job " + j.Name, What: "it failed: " + cmp.Or(c.Message, c.Reason), Lasting: true,
				Fix: "see `kubectl logs -n " + j.Namespace + " job/" + j.Name + "`",
			})
			return
		default:
		}
	}
	v.Progress = append(v.Progress, "job "+j.Name+": not complete")
	if t, bad := refusedPods("job "+j.Name, j.Namespace, "Job", j.Name, events); bad && j.Status.Active == 0 {
		v.Troubles = append(v.Troubles, t)
	}
}

// addReplicaSet explains a ReplicaSet whose pods are rejected.
func (v *Verdict) addReplicaSet(rs appsv1.ReplicaSet, events []corev1.Event) {
	if rs.Spec.Replicas == nil || rs.Status.Replicas >= *rs.Spec.Replicas {
		return
	}
	if t, bad := refusedPods("replicaset "+rs.Name, rs.Namespace, "ReplicaSet", rs.Name, events); bad {
		v.Troubles = append(v.Troubles, t)
	}
}

// isSuperseded reports whether a pod is being deleted, or belongs to an old revision of its
// Deployment.
func isSuperseded(p corev1.Pod, s Seen) bool {
	if p.DeletionTimestamp != nil {
		return true
	}
	for _, o := range p.OwnerReferences {
		if o.Kind != "ReplicaSet" {
			continue
		}
		for _, rs := range s.ReplicaSets {
			if rs.Name == o.Name && rs.Spec.Replicas != nil && *rs.Spec.Replicas == 0 {
				return true
			}
		}
	}
	return false
}

// eventOf returns the text of the latest event about an object with one of reasons, or "". Without
// reasons it considers all warnings.
func eventOf(events []corev1.Event, kind, name string, reasons ...string) string {
	e := latestEvent(events, kind, name, reasons...)
	if e == nil {
		return ""
	}
	return eventText(e)
}

func eventText(e *corev1.Event) string { return e.Reason + ": " + strings.TrimSpace(e.Message) }

// latestEvent returns that event, or nil.
func latestEvent(events []corev1.Event, kind, name string, reasons ...string) *corev1.Event {
	var best *corev1.Event
	for i := range events {
		e := &events[i]
		if e.InvolvedObject.Kind != kind || e.InvolvedObject.Name != name {
			continue
		}
		if len(reasons) == 0 && e.Type != corev1.EventTypeWarning {
			continue
		}
		if len(reasons) > 0 && !slices.Contains(reasons, e.Reason) {
			continue
		}
		if best == nil || !eventTime(e).Before(eventTime(best)) {
			best = e
		}
	}
	return best
}

// eventTime returns the last time at which an event was observed. Events record it in one of two
// forms.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
