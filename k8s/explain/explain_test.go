package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/explain"
)

var made = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "lab", CreationTimestamp: metav1.NewTime(made)}
}

func podWith(statuses ...corev1.ContainerStatus) corev1.Pod {
	p := corev1.Pod{ObjectMeta: meta("master"), Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: statuses}}
	for _, s := range statuses {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: s.Name, Image: s.Image})
	}
	return p
}

func waits(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: "main", Image: "registry.example/det-deploy:1",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}

func crashed(code int32, reason string, restarts int32) corev1.ContainerStatus {
	c := waits("CrashLoopBackOff", "back-off 40s restarting failed container")
	c.RestartCount = restarts
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}
	return c
}

func event(kind, name, reason, message string) corev1.Event {
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name}, Reason: reason, Message: message,
		Type: corev1.EventTypeWarning, LastTimestamp: metav1.NewTime(made.Add(time.Second)),
	}
}

// later is an event about the master's pod after the others.
func later(reason string) corev1.Event {
	e := event("Pod", "master", reason, "")
	e.LastTimestamp = metav1.NewTime(made.Add(2 * time.Second))
	return e
}

func unschedulable() corev1.Pod {
	p := podWith()
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available",
	}}
	return p
}

func pvc(phase corev1.PersistentVolumeClaimPhase, class *string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{ObjectMeta: meta("db"), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: class}, Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
}

func TestTroublesAreExplained(t *testing.T) {
	t.Parallel()
	one, none, fast := int32(1), "", "fast"
	terminating := unschedulable()
	terminating.DeletionTimestamp = &metav1.Time{Time: made}
	gated := unschedulable()
	gated.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated
	mounts := podWith(waits("ContainerCreating", ""))
	placed := podWith(waits("ContainerCreating", ""))
	placed.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(made.Add(100 * time.Second))}}
	unready := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	using := podWith()
	using.Spec.NodeName = "n1"
	using.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "db"}}}}
	for _, tc := range []struct {
		name    string
		seen    explain.Seen
		after   time.Duration
		what    string // part of the only trouble's sentence; empty means no trouble
		event   string
		fix     string
		lasting bool
	}{
		{name: "nothing"},
		{
			"an image that is not there", explain.Seen{
				Pods:   []corev1.Pod{podWith(waits("ImagePullBackOff", "Back-off"))},
				Events: []corev1.Event{event("Pod", "master", "Failed", "not found"), event("Pod", "other", "Failed", "no")},
			}, time.Second, "image registry.example/det-deploy:1 cannot be pulled", "Failed: not found", "imagePullSecretName", true,
		},
		{
			"an image that is not there for long",
			explain.Seen{Pods: []corev1.Pod{podWith(waits("ErrImagePull", "x"))}},
			time.Hour, "cannot be pulled", "ErrImagePull: x", "imageRegistry", true,
		},
		{
			"an image name that is none",
			explain.Seen{Pods: []corev1.Pod{podWith(waits("InvalidImageName", "x"))}},
			0, "invalid image name", "InvalidImageName", "REGISTRY/NAME:TAG", true,
		},
		{
			"a Secret that is about to be made",
			explain.Seen{Pods: []corev1.Pod{podWith(waits("CreateContainerConfigError", `secret "determined-secrets-lab" not found`))}},
			time.Hour, `secret "determined-secrets-lab" not found`, "CreateContainerConfigError", "the init container of the master's pod creates it", false,
		},
		{
			"a Secret that nobody makes",
			explain.Seen{Pods: []corev1.Pod{podWith(waits("CreateContainerConfigError", `secret "db" not found`))}},
			time.Second, `secret "db" not found`, "CreateContainerConfigError", "create the Secret with the referenced key in namespace lab", false,
		},
		{
			"a Secret that is not made",
			explain.Seen{Pods: []corev1.Pod{podWith(waits("CreateContainerConfigError", `couldn't find key password in Secret lab/db`))}},
			time.Hour, "couldn't find key password", "", "with the referenced key", true,
		},
		{
			"a program that ended once", explain.Seen{
				Pods: []corev1.Pod{podWith(crashed(1, "Error", 1))}, Logs: map[string][]string{"master/main": {"error: no database"}},
			}, 0, "container main exited with code 1", "", "kubectl logs -n lab master -c main --previous", false,
		},
		{
			"a program that ends each time", explain.Seen{
				Pods: []corev1.Pod{podWith(crashed(2, "Error", 5))}, Events: []corev1.Event{event("Pod", "master", "BackOff", "Back-off restarting")},
			}, 0, "exited with code 2, 5 times", "BackOff", "--previous", true,
		},
		{
			"a program without memory",
			explain.Seen{Pods: []corev1.Pod{podWith(crashed(137, "OOMKilled", 5))}},
			0, "killed: out of memory", "", "memory limit", true,
		},
		{
			"no node has the GPUs", explain.Seen{
				Pods: []corev1.Pod{unschedulable()}, Events: []corev1.Event{event("Pod", "master", "FailedScheduling", "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")},
			}, 0, "unschedulable", "2 Insufficient nvidia.com/gpu", "maxSlotsPerPod", false,
		},
		{
			"no node is without a taint", explain.Seen{
				Pods: []corev1.Pod{unschedulable()}, Events: []corev1.Event{event("Pod", "master", "FailedScheduling", "0/2 nodes are available: 2 node(s) had untolerated taint {a: b}.")},
			}, time.Hour, "unschedulable", "taint", "toleration", true,
		},
		{"a pod that is gated on purpose", explain.Seen{Pods: []corev1.Pod{gated}}, time.Hour, "", "", "", false},
		{"a pod that is on its way out", explain.Seen{Pods: []corev1.Pod{terminating}}, time.Hour, "", "", "", false},
		{
			"a volume that cannot be mounted", explain.Seen{
				Pods: []corev1.Pod{mounts}, Events: []corev1.Event{event("Pod", "master", "FailedMount", `secret "tls" not found`)},
			}, 0, "containers cannot be created", `secret "tls" not found`, "create the missing object", false,
		},
		{
			"a volume that nobody makes", explain.Seen{
				Pods: []corev1.Pod{mounts}, Events: []corev1.Event{event("Pod", "master", "FailedMount", `secret "tls" not found`)},
			}, 2 * time.Minute, "containers cannot be created", `secret "tls" not found`, "create the missing object", true,
		},
		{
			"a volume that failed long ago", explain.Seen{
				Pods: []corev1.Pod{mounts}, Events: []corev1.Event{event("Pod", "master", "FailedMount", `secret "tls" not found`)},
			}, time.Hour, "containers cannot be created", `secret "tls" not found`, "create the missing object", false,
		},
		{
			"a long pull after a volume that failed", explain.Seen{Pods: []corev1.Pod{mounts}, Events: []corev1.Event{
				event("Pod", "master", "FailedMount", `driver name ebs.csi.aws.com not found in the list of registered CSI drivers`), later("Pulling"),
			}}, 2 * time.Minute, "", "", "", false,
		},
		{
			"a volume that fails after another was attached", explain.Seen{Pods: []corev1.Pod{mounts}, Events: []corev1.Event{
				event("Pod", "master", "SuccessfulAttachVolume", ""), event("Pod", "master", "FailedMount", `secret "tls" not found`),
			}}, 2 * time.Minute, "containers cannot be created", `secret "tls" not found`, "create the missing object", true,
		},
		{
			"a node that has just come", explain.Seen{Pods: []corev1.Pod{placed}, Events: []corev1.Event{
				event("Pod", "master", "FailedMount", `driver name ebs.csi.aws.com not found in the list of registered CSI drivers`),
			}}, 2 * time.Minute, "containers cannot be created", "driver name", "create the missing object", false,
		},
		{
			"a probe that fails", explain.Seen{
				Pods: []corev1.Pod{podWith(unready)}, Events: []corev1.Event{event("Pod", "master", "Unhealthy", "Readiness probe failed: 503")},
				Logs: map[string][]string{"master/main": {"restoring"}},
			}, 0, "fails its probe", "Readiness probe failed: 503", "kubectl logs", false,
		},
		{"a program that is starting", explain.Seen{Pods: []corev1.Pod{podWith(unready)}}, 0, "", "", "", false},
		{
			"no room in the quota", explain.Seen{
				ReplicaSets: []appsv1.ReplicaSet{{ObjectMeta: meta("rs"), Spec: appsv1.ReplicaSetSpec{Replicas: &one}}},
				Events:      []corev1.Event{event("ReplicaSet", "rs", "FailedCreate", "exceeded quota: q")},
			}, 0, "ResourceQuota", "exceeded quota: q", "kubectl describe quota -n lab", true,
		},
		{
			"a Job against Pod Security", explain.Seen{
				Jobs:   []batchv1.Job{{ObjectMeta: meta("backup")}},
				Events: []corev1.Event{event("Job", "backup", "FailedCreate", `violates PodSecurity "restricted"`)},
			}, 0, "Pod Security", "violates", "pod-security.kubernetes.io/enforce", true,
		},
		{"a claim that is bound", explain.Seen{Claims: []corev1.PersistentVolumeClaim{pvc(corev1.ClaimBound, nil)}}, 0, "", "", "", false},
		{
			"a claim without a class",
			explain.Seen{Claims: []corev1.PersistentVolumeClaim{pvc(corev1.ClaimPending, nil)}, Classes: map[string]bool{"fast": true}},
			0, "no default", "", "storageClassName", true,
		},
		{
			"a claim that wants no class",
			explain.Seen{Claims: []corev1.PersistentVolumeClaim{pvc(corev1.ClaimPending, &none)}, Classes: map[string]bool{"fast": true}, DefaultClass: "fast"},
			0, "no StorageClass", "", "storageClassName", true,
		},
		{
			"a claim of a class that is not there",
			explain.Seen{Claims: []corev1.PersistentVolumeClaim{pvc(corev1.ClaimPending, &fast)}, Classes: map[string]bool{"slow": false}, DefaultClass: "slow"},
			0, "StorageClass fast does not exist", "", "kubectl get storageclass", true,
		},
		{
			"a claim that waits for its first pod",
			explain.Seen{Claims: []corev1.PersistentVolumeClaim{pvc(corev1.ClaimPending, &fast)}, Classes: map[string]bool{"fast": true}},
			0, "", "", "", false,
		},
		{
			"a claim whose pod has a node", explain.Seen{
				Claims: []corev1.PersistentVolumeClaim{pvc(corev1.ClaimPending, &fast)}, Classes: map[string]bool{"fast": true}, Pods: []corev1.Pod{using},
			}, 0, "not bound yet", "", "storage driver of class fast", false,
		},
		{
			"a volume that cannot be made", explain.Seen{
				Claims: []corev1.PersistentVolumeClaim{pvc(corev1.ClaimPending, &fast)}, Classes: map[string]bool{"fast": false},
				Events: []corev1.Event{event("PersistentVolumeClaim", "db", "ProvisioningFailed", "no room")},
			}, 0, "cannot be provisioned", "no room", "storageClassName", false,
		},
		{"a volume that is gone", explain.Seen{Claims: []corev1.PersistentVolumeClaim{pvc(corev1.ClaimLost, &fast)}}, 0, "is gone", "", "det-deploy master restore", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := explain.Judge(tc.seen, made.Add(tc.after)).Troubles
			if tc.what == "" {
				if len(got) > 0 {
					t.Fatalf("got %+v, want no trouble", got)
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("got %+v, want one trouble", got)
			}
			g := got[0]
			if !strings.Contains(g.What, tc.what) || !strings.Contains(g.Event, tc.event) || !strings.Contains(g.Fix, tc.fix) || g.Lasting != tc.lasting || g.Fix == "" {
				t.Errorf("got %+v", g)
			}
			if len(tc.seen.Logs) > 0 && len(g.LogTail) == 0 {
				t.Error("got no log")
			}
		})
	}
}

// The kubelet repeats that the pull failed; the registry's message is kept.
func TestRegistryErrorIsQuoted(t *testing.T) {
	t.Parallel()
	at := func(message string, after time.Duration) corev1.Event {
		e := event("Pod", "master", "Failed", message)
		e.LastTimestamp = metav1.NewTime(made.Add(after))
		return e
	}
	repeats := []corev1.Event{at("Error: ErrImagePull", time.Second), at("Error: ImagePullBackOff", 2*time.Second)}
	for _, tc := range []struct {
		name, words string
		status      corev1.ContainerStatus
		lasting     bool
	}{
		{"a tag that is not there", `Failed to pull image "a:9": rpc error: code = NotFound desc = a:9: not found`, waits("ImagePullBackOff", "Back-off"), true},
		{"a registry that cannot be reached", `Failed to pull image "a:9": dial tcp: i/o timeout`, waits("ImagePullBackOff", "Back-off"), false},
		{"words in the status only", "", waits("ErrImagePull", "manifest unknown"), true},
	} {
		events := repeats
		if tc.words != "" {
			events = append([]corev1.Event{at(tc.words, 0)}, repeats...)
		}
		v := explain.Judge(explain.Seen{Pods: []corev1.Pod{podWith(tc.status)}, Events: events}, made.Add(time.Second))
		want := tc.words
		if want == "" {
			want = tc.status.State.Waiting.Message
		}
		if len(v.Troubles) != 1 || !strings.Contains(v.Troubles[0].Event, want) || v.Troubles[0].Lasting != tc.lasting {
			t.Errorf("%s: got %+v, want %q, lasting %t", tc.name, v.Troubles, want, tc.lasting)
		}
	}
}

func TestEverythingIsUpWhenTheLatestRevisionIs(t *testing.T) {
	t.Parallel()
	two := int32(2)
	d := appsv1.Deployment{ObjectMeta: meta("master"), Spec: appsv1.DeploymentSpec{Replicas: &two}}
	d.Generation = 3
	for _, tc := range []struct {
		name string
		st   appsv1.DeploymentStatus
		want []string
	}{
		{"up", appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2}, nil},
		{"not looked at yet", appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2}, []string{"deployment master: 2 of 2 ready"}},
		{"half", appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1}, []string{"deployment master: 1 of 2 ready"}},
		{"only the old ones", appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 0, ReadyReplicas: 2}, []string{"deployment master: 0 of 2 ready"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := d
			d.Status = tc.st
			got := explain.Judge(explain.Seen{Deployments: []appsv1.Deployment{d}}, made)
			if diff := cmp.Diff(got.Progress, tc.want); diff != "" || got.Ready != (tc.want == nil) {
				t.Errorf("got ready %t, and -, want +:\n%s", got.Ready, diff)
			}
		})
	}
}

func TestLoadBalancerWithoutAddressIsNote(t *testing.T) {
	t.Parallel()
	svc := corev1.Service{ObjectMeta: meta("front"), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 8080, NodePort: 30123}},
	}}
	got := explain.Judge(explain.Seen{Services: []corev1.Service{svc}}, made)
	if !got.Ready || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "30123") || !strings.Contains(got.Notes[0], "port-forward -n lab service/front 8080") {
		t.Errorf("got %+v, want a note", got)
	}
}
