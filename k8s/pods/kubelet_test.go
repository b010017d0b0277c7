package pods_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

// program is the behavior of a pod on a simulated node: the name of its task, as JSON.
type program struct {
	// Lines are printed, one after each Every, before it ends with Exit. Forever keeps it running.
	Lines   int           `json:"lines"`
	Every   time.Duration `json:"every"`
	Exit    int32         `json:"exit"`
	Forever bool          `json:"forever"`
	// Stuck is the reason for which it never starts.
	Stuck string `json:"stuck"`
	// Late is the delay until the node notices the pod.
	Late time.Duration `json:"late"`
	// Held makes the node ignore the pod until the test lets pods begin.
	Held bool `json:"held"`
	// Deaf makes the node ignore the deletion of the pod.
	Deaf bool `json:"deaf"`
}

func (p program) String() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// line returns a line of a program's output.
func line(pod string, i int) string { return fmt.Sprintf("line %d of %s", i, pod) }

// kubelets simulates nodes whose pods run as their program describes: everything except the
// machines is real.
type kubelets struct {
	client kubernetes.Interface
	port   int
	// label is the label of the nodes and the prefix of their names.
	label string

	mu    sync.Mutex // guards what follows
	names []string
	pods  map[types.UID]*played
	begun bool
	// deaf are the allocations whose programs ignore SIGTERM. finished has the exit codes of
	// allocations or single pods whose programs end.
	deaf     map[string]bool
	finished map[string]int32
}

// ignoreTerm makes the programs of an allocation ignore SIGTERM.
func (k *kubelets) ignoreTerm(id rm.AllocationID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deaf[string(id)] = true
}

// finish ends the programs of an allocation, including future ones.
func (k *kubelets) finish(id rm.AllocationID, code int32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finished[string(id)] = code
}

// finishPod ends the program of one pod.
func (k *kubelets) finishPod(name string, code int32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finished[name] = code
}

// begin starts the held pods.
func (k *kubelets) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun = true
}

// played is a simulated pod.
type played struct {
	name    string
	program program
	started time.Time
	// ended is the time of its end, or zero.
	ended time.Time
}

// printed returns the number of printed lines.
func (p *played) printed(now time.Time) int {
	if !p.ended.IsZero() {
		now = p.ended
	}
	if p.program.Every == 0 {
		return p.program.Lines
	}
	return min(p.program.Lines, int(now.Sub(p.started)/p.program.Every))
}

func (p *played) at(i int) time.Time {
	return p.started.Add(time.Duration(i+1) * p.program.Every)
}

// nodesKey is the label by which a test's tasks select its nodes, and the taint that repels other
// pods.
const nodesKey = "tests/nodes"

// node returns the name of the nth node of the test, counted from 1.
func (m *master) node(n int) string { return nodeName(m.nodes, n) }

func nodeName(label string, n int) string { return fmt.Sprintf("%s-node-%d", label, n) }

// newKubelets adds nodes of 8 GPUs for the master's tasks.
func (m *master) newKubelets(count int) *kubelets {
	m.t.Helper()
	k := newKubelets(m.t, m.c, m.nodes)
	for n := range count {
		k.addNode(m.t, n+1, "8", "")
	}
	return k
}

// newKubelets prepares nodes with a label, which simulate pods until the test ends.
func newKubelets(t *testing.T, c *kubetest.Cluster, label string) *kubelets {
	t.Helper()
	k := &kubelets{client: c.Client(), label: label, pods: make(map[types.UID]*played), deaf: make(map[string]bool), finished: make(map[string]int32)}
	k.serve(t, filepath.Join(filepath.Dir(c.Kubeconfig), "pki"))
	ctx, stop := context.WithCancel(t.Context())
	f := informers.NewSharedInformerFactoryWithOptions(k.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = "determined"
	}))
	pods := f.Core().V1().Pods().Informer()
	var wg sync.WaitGroup
	t.Cleanup(func() { stop(); wg.Wait(); f.Shutdown() })
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{}); err != nil {
		t.Fatal(err)
	}
	f.Start(ctx.Done())
	wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		beat := time.Time{}
		for ctx.Err() == nil {
			names := k.allNames()
			if time.Since(beat) > 10*time.Second {
				beat = time.Now()
				for _, name := range names {
					k.renew(ctx, name)
				}
			}
			for _, o := range pods.GetStore().List() {
				if pod, is := o.(*corev1.Pod); is && slices.Contains(names, pod.Spec.NodeName) {
					k.play(ctx, pod)
				}
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return k
}

// serve serves the logs of pods, like a kubelet.
func (k *kubelets) serve(t *testing.T, pki string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "kubelet-serving.crt"), filepath.Join(pki, "kubelet-serving.key"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k.port = l.Addr().(*net.TCPAddr).Port
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.logs)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.ServeTLS(l, "", ""); err != http.ErrServerClosed {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { s.Close(); <-done }) //nolint:errcheck // the server is closed
}

func (k *kubelets) logs(w http.ResponseWriter, q *http.Request) {
	since, _ := time.Parse(time.RFC3339, q.URL.Query().Get("sinceTime"))
	follow := q.URL.Query().Get("follow") == "true"
	name, sent := q.PathValue("pod"), 0
	for {
		p, n := k.find(name)
		if p == nil {
			http.Error(w, "no such pod", http.StatusNotFound)
			return
		}
		for ; sent < n; sent++ {
			if at := p.at(sent); !at.Before(since) {
				fmt.Fprintf(w, "%s %s\n", at.Format(time.RFC3339Nano), line(name, sent))
			}
		}
		http.NewResponseController(w).Flush() //nolint:errcheck // the client may disconnect
		if !follow || !p.ended.IsZero() {
			return
		}
		select {
		case <-q.Context().Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// find returns a copy of a simulated pod and the number of its printed lines.
func (k *kubelets) find(name string) (*played, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		if p.name == name {
			seen := *p
			return &seen, seen.printed(time.Now())
		}
	}
	return nil, 0
}

func (k *kubelets) allNames() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.names)
}

// addNode adds the nth node with a number of GPUs and the pool in the label pool.
func (k *kubelets) addNode(t *testing.T, nth int, gpus, pool string) {
	t.Helper()
	name := nodeName(k.label, nth)
	k.mu.Lock()
	k.names = append(k.names, name)
	k.mu.Unlock()
	has := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse(gpus),
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"kubernetes.io/hostname": name, "nvidia.com/gpu.product": "PLAY-GPU", "pool": pool, nodesKey: k.label,
	}}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: nodesKey, Value: k.label, Effect: corev1.TaintEffectNoSchedule}}}}
	made, err := k.client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer stop()
		if t.Failed() {
			n, err := k.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			t.Logf("node %s: taints %v, conditions %v, has %v, %v", name, n.Spec.Taints, n.Status.Conditions, n.Status.Allocatable, err)
		}
		if err := k.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	made.ResourceVersion = "" // controllers may have changed the new node
	now := metav1.Now()
	made.Status = corev1.NodeStatus{
		Capacity: has, Allocatable: has, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(k.port)}},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Plays", LastHeartbeatTime: now, LastTransitionTime: now,
		}},
	}
	if _, err := k.client.CoreV1().Nodes().UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// dies sets a node to not ready.
func (k *kubelets) dies(t *testing.T, name string) {
	t.Helper()
	patch := `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Dies"}]}}`
	_, err := k.client.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
}

// renew renews the lease of a node.
func (k *kubelets) renew(ctx context.Context, name string) {
	leases := k.client.CoordinationV1().Leases("kube-node-lease")
	now, seconds := metav1.NowMicro(), int32(40)
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	if have, err := leases.Get(ctx, name, metav1.GetOptions{}); err == nil {
		have.Spec = l.Spec
		leases.Update(ctx, have, metav1.UpdateOptions{}) //nolint:errcheck // the next update retries
		return
	}
	leases.Create(ctx, l, metav1.CreateOptions{}) //nolint:errcheck // the next update retries
}

// play updates the status of a pod to the state of its program.
func (k *kubelets) play(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	p := k.pods[pod.UID]
	if p == nil {
		p = &played{name: pod.Name, started: time.Now()}
		if err := json.Unmarshal([]byte(pod.Annotations["det-deploy.dev/name"]), &p.program); err != nil {
			p.program = program{Stuck: "CreateContainerConfigError"}
		}
		k.pods[pod.UID] = p
	}
	now := time.Now()
	unseen := now.Sub(p.started) < p.program.Late || p.program.Held && !k.begun
	if unseen && pod.DeletionTimestamp == nil {
		k.mu.Unlock()
		return
	}
	done := p.program.Stuck == "" && !p.program.Forever && !now.Before(p.at(p.program.Lines))
	code, finished := k.finished[pod.Labels["determined"]]
	if !finished {
		code, finished = k.finished[pod.Name]
	}
	if finished {
		done, p.program.Exit = true, code
	}
	killed := pod.DeletionTimestamp != nil && !p.program.Deaf && (!k.deaf[pod.Labels["determined"]] || now.After(pod.DeletionTimestamp.Time))
	if p.ended.IsZero() && (done || killed) {
		p.ended = now
	}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.started)}}
	phase := corev1.PodRunning
	switch {
	case done:
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: p.program.Exit}}
		phase = corev1.PodSucceeded
		if p.program.Exit != 0 {
			phase = corev1.PodFailed
		}
	case killed:
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 143, Reason: "Error"}}
		phase = corev1.PodFailed
	case p.program.Stuck != "":
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: p.program.Stuck, Message: "as the test says"}}
		phase = corev1.PodPending
	}
	k.mu.Unlock()
	if pod.Status.Phase != phase || len(pod.Status.ContainerStatuses) == 0 {
		k.report(ctx, pod, phase, state)
	}
	if (killed || done && pod.DeletionTimestamp != nil) && pod.Status.Phase == phase {
		now := int64(0)
		k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{ //nolint:errcheck // it is tried again
			GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	}
}

func (k *kubelets) report(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	k.mu.Lock()
	started := metav1.NewTime(k.pods[pod.UID].started)
	k.mu.Unlock()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": corev1.PodStatus{
			Phase: phase, StartTime: &started, PodIP: "127.0.0.1", PodIPs: []corev1.PodIP{{IP: "127.0.0.1"}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "determined-container", State: state, Image: "x", ImageID: "x"}},
		},
	})
	if err == nil {
		k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status") //nolint:errcheck // it is tried again
	}
}
