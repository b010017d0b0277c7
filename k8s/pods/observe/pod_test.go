package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func waitsFor(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
	}}
}

func runs(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func ended(name string, t corev1.ContainerStateTerminated) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &t}}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	done := ended(podspec.InitContainer, corev1.ContainerStateTerminated{Reason: "Completed"})
	for name, c := range map[string]struct {
		status corev1.PodStatus
		node   string
		want   Container
	}{
		"no node yet": {want: Container{State: apiv1.Container_STATE_ASSIGNED}},
		"the node has not begun": {
			node: "n1", status: corev1.PodStatus{Phase: corev1.PodPending},
			want: Container{State: apiv1.Container_STATE_PULLING},
		},
		"the files are being prepared": {
			node: "n1", status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{runs(podspec.InitContainer)}},
			want: Container{State: apiv1.Container_STATE_STARTING},
		},
		"the image is not there": {
			node: "n1", status: corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{done},
				ContainerStatuses:     []corev1.ContainerStatus{waitsFor(podspec.MainContainer, "ImagePullBackOff", "Back-off pulling image")},
			},
			want: Container{State: apiv1.Container_STATE_STARTING, Stuck: "ImagePullBackOff: Back-off pulling image"},
		},
		"the image can never be there": {
			node: "n1", status: corev1.PodStatus{
				ContainerStatuses: []corev1.ContainerStatus{waitsFor(podspec.MainContainer, "InvalidImageName", "")},
			},
			want: Container{State: apiv1.Container_STATE_PULLING, Stuck: "InvalidImageName", Hopeless: true},
		},
		"creating a container is no trouble": {
			node: "n1", status: corev1.PodStatus{
				ContainerStatuses: []corev1.ContainerStatus{waitsFor(podspec.MainContainer, "PodInitializing", "")},
			},
			want: Container{State: apiv1.Container_STATE_PULLING},
		},
		"it runs and has an address": {
			node: "n1", status: corev1.PodStatus{PodIP: "10.0.0.7", ContainerStatuses: []corev1.ContainerStatus{runs(podspec.MainContainer)}},
			want: Container{
				State: apiv1.Container_STATE_RUNNING, Started: true, Host: "10.0.0.7", Addresses: []*apiv1.Address{
					{ContainerIp: "10.0.0.7", ContainerPort: 8888, HostIp: "10.0.0.7", HostPort: 8888},
				},
			},
		},
		"it ended with a code": {
			node: "n1", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				ended(podspec.MainContainer, corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}),
			}},
			want: Container{
				State: apiv1.Container_STATE_TERMINATED, Started: true,
				Exit: &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: 3},
			},
		},
		"a signal ended it": {
			node: "n1", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				ended(podspec.MainContainer, corev1.ContainerStateTerminated{Signal: 9}),
			}},
			want: Container{
				State: apiv1.Container_STATE_TERMINATED, Started: true,
				Exit: &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: 137},
			},
		},
		"it used too much memory": {
			node: "n1", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				ended(podspec.MainContainer, corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}),
			}},
			want: Container{
				State: apiv1.Container_STATE_TERMINATED, Started: true, Exit: &agentv1.Exit{
					Kind: agentv1.Exit_KIND_EXITED, Code: 137, Message: "it used more memory than its limit, and was killed (OOMKilled)",
				},
			},
		},
		"its program is not there": {
			node: "n1", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				ended(podspec.MainContainer, corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "exec: \"nope\": not found"}),
			}},
			want: Container{State: apiv1.Container_STATE_TERMINATED, Exit: &agentv1.Exit{
				Kind: agentv1.Exit_KIND_NOT_STARTED, Message: "exec: \"nope\": not found",
			}},
		},
		"its node does not know it any more": {
			node: "n1", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				ended(podspec.MainContainer, corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}),
			}},
			want: Container{
				State: apiv1.Container_STATE_TERMINATED, Started: true, Lost: true, Exit: &agentv1.Exit{
					Kind: agentv1.Exit_KIND_LOST, Message: "its node does not know the container any more",
				},
			},
		},
		"its files could not be prepared": {
			node: "n1", status: corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{
				ended(podspec.InitContainer, corev1.ContainerStateTerminated{ExitCode: 1}),
			}},
			want: Container{State: apiv1.Container_STATE_TERMINATED, FailedInit: podspec.InitContainer, Exit: &agentv1.Exit{
				Kind:    agentv1.Exit_KIND_NOT_STARTED,
				Message: "the task's files could not be prepared: determined-init-container ended with code 1",
			}},
		},
		"its files took too much memory": {
			node: "n1", status: corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{
				ended(podspec.InitContainer, corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}),
			}},
			want: Container{State: apiv1.Container_STATE_TERMINATED, FailedInit: podspec.InitContainer, Exit: &agentv1.Exit{
				Kind: agentv1.Exit_KIND_NOT_STARTED,
				Message: "the task's files could not be prepared: determined-init-container ended with code 137: " +
					"it used more memory than its limit, and was killed (OOMKilled)",
			}},
		},
		"an init container of the pod spec failed": {
			node: "n1", status: corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{
				done, ended("fetch-data", corev1.ContainerStateTerminated{ExitCode: 2}),
			}},
			want: Container{State: apiv1.Container_STATE_TERMINATED, FailedInit: "fetch-data", Exit: &agentv1.Exit{
				Kind: agentv1.Exit_KIND_NOT_STARTED, Message: "its pod could not be prepared: fetch-data ended with code 2",
			}},
		},
		"its node was started again while the files were prepared": {
			node: "n1", status: corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{
				ended(podspec.InitContainer, corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}),
			}},
			want: Container{State: apiv1.Container_STATE_TERMINATED, Lost: true, Exit: &agentv1.Exit{
				Kind: agentv1.Exit_KIND_LOST, Message: "its pod failed: Kubernetes gives no reason",
			}},
		},
		"it was evicted": {
			node: "n1", status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."},
			want: Container{State: apiv1.Container_STATE_TERMINATED, Lost: true, Exit: &agentv1.Exit{
				Kind: agentv1.Exit_KIND_LOST, Message: "its pod was ended by node n1: The node was low on resource: memory.",
			}},
		},
		"it was drained with its node": {
			node: "n1", status: corev1.PodStatus{
				Conditions: []corev1.PodCondition{{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
				}},
				ContainerStatuses: []corev1.ContainerStatus{ended(podspec.MainContainer, corev1.ContainerStateTerminated{ExitCode: 143, Reason: "Error"})},
			},
			want: Container{State: apiv1.Container_STATE_TERMINATED, Started: true, Lost: true, Exit: &agentv1.Exit{
				Kind: agentv1.Exit_KIND_LOST, Message: "its pod on node n1 was disrupted: Eviction API: evicting",
			}},
		},
		"it ended well while it was drained": {
			node: "n1", status: corev1.PodStatus{
				Conditions:        []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
				ContainerStatuses: []corev1.ContainerStatus{ended(podspec.MainContainer, corev1.ContainerStateTerminated{})},
			},
			want: Container{
				State: apiv1.Container_STATE_TERMINATED, Started: true, Exit: &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED},
			},
		},
		"it succeeded and nobody says more": {
			node: "n1", status: corev1.PodStatus{Phase: corev1.PodSucceeded},
			want: Container{State: apiv1.Container_STATE_TERMINATED, Exit: &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{Status: c.status}
			pod.Spec.NodeName = c.node
			pod.Spec.Containers = []corev1.Container{{Name: podspec.MainContainer, Ports: []corev1.ContainerPort{{ContainerPort: 8888}}}}
			got := Pod(pod)
			if c.want.Addresses == nil {
				got.Addresses = nil
			}
			if d := cmp.Diff(got, c.want, cmp.AllowUnexported(Container{}), protocmp.Transform()); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

func TestPodThatNoSchedulerHasSeen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		spec   corev1.PodSpec
		reason string
		want   bool
	}{
		{"a new one", corev1.PodSpec{}, "", true},
		{"one with a gate", corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: podspec.Gate}}}, corev1.PodReasonSchedulingGated, false},
		{"one whose gate was removed", corev1.PodSpec{}, corev1.PodReasonSchedulingGated, true},
		{"one without a node for it", corev1.PodSpec{}, corev1.PodReasonUnschedulable, false},
		{"one on a node", corev1.PodSpec{NodeName: "n1"}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{Spec: tt.spec}
			if tt.reason != "" {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: tt.reason}}
			}
			if got := Unseen(pod); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	by := metav1.NewTime(asked.Add(30 * time.Second))
	deleted := metav1.ObjectMeta{DeletionTimestamp: &by, DeletionGracePeriodSeconds: new(int64(30))}
	for name, c := range map[string]struct {
		meta  metav1.ObjectMeta
		ended time.Time
		want  bool
	}{
		"no one has deleted its pod":     {metav1.ObjectMeta{}, asked, false},
		"it ended before":                {deleted, asked.Add(-time.Second), false},
		"it ended upon that":             {deleted, asked, true},
		"it ended during the time left":  {deleted, asked.Add(9 * time.Second), true},
		"no one knows when it has ended": {deleted, time.Time{}, false},
	} {
		status := ended(podspec.MainContainer, corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(c.ended)})
		pod := &corev1.Pod{ObjectMeta: c.meta, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}}
		if got := Pod(pod).Stopped; got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
