package k8s_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

// Tags and names of images with which a master does not become ready.
const (
	// missingTag is not in the registry.
	missingTag = "9.9.9"
	// brokenTag runs errands, but its master exits.
	brokenTag = "6.6.6"
	// missingName is not the name of an image.
	missingName = "typo"
	// refusedName is a clusterName that every image rejects, like a newer master may reject values
	// that the installer's rules allow.
	refusedName = "refused"
)

// notFound returns the error of a registry for a missing image.
func notFound(image string) string {
	return fmt.Sprintf(`Failed to pull image %[1]q: rpc error: code = NotFound desc = failed to resolve reference %[1]q: not found`, image)
}

// playing creates a node for the stage's pods whose kubelet is simulated: everything except the
// machine is real.
func playing(s *stage) {
	s.t.Helper()
	node := "node-" + s.namespace
	ctx := s.t.Context()
	_, err := s.api.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"stage": s.namespace, corev1.LabelHostname: node}},
		// It runs the pods of one stage only: those of others must not be scheduled here.
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "stage", Value: s.namespace, Effect: corev1.TaintEffectNoSchedule}}},
	}, metav1.CreateOptions{})
	must(s.t, err)
	s.t.Cleanup(func() { s.kubectl("delete", "node", node, "--wait=false") })
	s.values["master"] = tree{"nodeSelector": tree{"stage": s.namespace}, "tolerations": []any{tree{"operator": "Exists"}}}
	var running sync.WaitGroup
	s.t.Cleanup(running.Wait)
	running.Go(func() { s.playPods(ctx, node) })
}

// playPods simulates each pod when it changes, and once a second those that did not succeed, until
// the test ends. It uses a watch: polling twenty times a second in each of the parallel stages took
// most of two cores.
func (s *stage) playPods(ctx context.Context, node string) {
	news := make(chan struct{}, 1)
	tell := func() {
		select {
		case news <- struct{}{}:
		default: // a pass is pending already
		}
	}
	f := informers.NewSharedInformerFactoryWithOptions(s.api, 0, informers.WithNamespace(s.namespace))
	defer f.Shutdown()
	_, err := f.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
	})
	if err != nil {
		s.t.Error(err)
		return
	}
	f.Start(ctx.Done())
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for ctx.Err() == nil {
		s.heartbeat(ctx, node)
		s.play(ctx)
		select {
		case <-ctx.Done():
		case <-news:
		case <-again.C:
		}
	}
}

// heartbeat keeps the node ready and large.
func (s *stage) heartbeat(ctx context.Context, name string) {
	n, err := s.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil || len(n.Status.Conditions) > 0 && time.Since(n.Status.Conditions[0].LastHeartbeatTime.Time) < 5*time.Second {
		return
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Test", LastHeartbeatTime: metav1.Now()}}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi"), "pods": resource.MustParse("100")}
	n.Status.Capacity = n.Status.Allocatable
	_, _ = s.api.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{}) // the next heartbeat retries
}

// play acts like a kubelet for each pod, depending on the tag of its image.
func (s *stage) play(ctx context.Context) {
	list, err := s.api.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, p := range list.Items {
		if p.Spec.NodeName != "node-"+s.namespace {
			continue
		}
		if p.DeletionTimestamp != nil {
			_ = s.api.CoreV1().Pods(s.namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}) // it is deleted, or the next pass deletes it
			continue
		}
		was := p.Status.DeepCopy()
		s.run(ctx, &p)
		if p.Status.Phase != was.Phase || len(was.ContainerStatuses) == 0 {
			_, _ = s.api.CoreV1().Pods(s.namespace).UpdateStatus(ctx, &p, metav1.UpdateOptions{}) // the next pass retries
		}
	}
}

func (s *stage) run(ctx context.Context, p *corev1.Pod) {
	c := p.Spec.Containers[0]
	errand := p.Labels["job-name"] != ""
	status := corev1.ContainerStatus{Name: c.Name, Image: c.Image}
	mounted, refused := s.readValues(ctx, p)
	if errand && !mounted {
		return // its Secrets are created after the Job: the next pass checks again
	}
	switch name, tag, _ := strings.Cut(c.Image, ":"); {
	case tag == missingTag, name == missingName:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}
		p.Status.Phase = corev1.PodPending
		s.say(ctx, p, notFound(c.Image))
	case errand && refused:
		status.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2}
		p.Status.Phase = corev1.PodFailed
	case errand:
		status.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed"}
		p.Status.Phase = corev1.PodSucceeded
	case tag == brokenTag:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
		status.RestartCount = 5
		p.Status.Phase = corev1.PodRunning
	default:
		status.Ready, status.State.Running = true, &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
		p.Status.Phase = corev1.PodRunning
		for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
}

// readValues reports whether all Secrets that a pod mounts exist, and whether one of them has
// rejected values.
func (s *stage) readValues(ctx context.Context, p *corev1.Pod) (mounted, refused bool) {
	for _, v := range p.Spec.Volumes {
		if v.Secret == nil || v.Secret.Optional != nil && *v.Secret.Optional {
			continue
		}
		values, err := s.api.CoreV1().Secrets(s.namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return false, false
		}
		refused = refused || strings.Contains(string(values.Data["values.yaml"]), refusedName)
	}
	return true, refused
}

// say creates the events that a kubelet creates about a pod.
func (s *stage) say(ctx context.Context, p *corev1.Pod, words string) {
	for i, message := range []string{words, "Error: ErrImagePull", "Error: ImagePullBackOff"} {
		at := metav1.NewTime(time.Now().Add(time.Duration(i) * time.Second))
		_, err := s.api.CoreV1().Events(s.namespace).Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", p.Name, i), Namespace: s.namespace},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: s.namespace, Name: p.Name, UID: p.UID},
			Reason:         "Failed", Type: corev1.EventTypeWarning, Message: message, FirstTimestamp: at, LastTimestamp: at, Count: 1,
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return // the next pass retries
		}
	}
}

// with returns the stage's values and one more.
func (s *stage) with(key string, value any) chart.Values {
	out := maps.Clone(s.values)
	out[key] = value
	return out
}

// tagged sets the tag of the master's image.
func (s *stage) tagged(tag string) { s.values = s.with("image", tree{"tag": tag}) }
