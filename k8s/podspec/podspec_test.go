package podspec_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/golden"
)

const (
	allocation = rm.AllocationID("6f1c2d0e-53a4-4c80-9b38-6f6f2b1f0d61.1")
	passwd     = "lea:x:1000:1000::/run/determined/workdir:/bin/sh\n"
)

func template() podspec.Template {
	return podspec.Template{
		Cluster: "lab", ClusterID: "cluster-1", MasterID: "master-1", Namespace: "default",
		Image:    "registry.test/det-deploy:1",
		Master:   podspec.Master{Scheme: "http", Host: "determined-master-service-lab.default.svc.cluster.local", Port: 8080},
		SlotType: podspec.CUDA, MaxSlotsPerPod: 8,
	}
}

// specFor returns the spec of one rank, like master/task/spec.
func specFor(rank int) *agentv1.Spec {
	id := string(podspec.ContainerID(allocation, rank))
	dir := func(path string, mode uint32) *apiv1.File { return &apiv1.File{Path: path, Type: '5', Mode: mode} }
	return &agentv1.Spec{
		TaskType: "COMMAND", Image: "registry.test/task:1",
		Entrypoint: []string{"/bin/sh", "-c", "echo $HOME $(hostname) $$"},
		Environment: []string{
			"DET_TASK_ID=6f1c2d0e-53a4-4c80-9b38-6f6f2b1f0d61", "DET_SESSION_TOKEN=session-secret",
			"DET_RESOURCES_ID=" + id, "MINE=a $(b)",
		},
		WorkDir: "/run/determined/workdir", NetworkMode: "bridge", ShmSize: 4 << 30,
		User:         &agentv1.User{Name: "root", Group: "root"},
		SessionToken: "session-secret",
		Files: []*apiv1.File{
			dir("/run/determined", 0o700), dir("/run/determined/info", 0o755), dir("/run/determined/workdir", 0o700),
		},
	}
}

// request returns a task with a number of slots; edit changes the spec of every rank.
func request(slots int, t podspec.Template, edit ...func(*agentv1.Spec)) podspec.Request {
	r := podspec.Request{
		Request: rm.Request{
			Allocation: allocation, Task: "6f1c2d0e-53a4-4c80-9b38-6f6f2b1f0d61", Job: "6f1c2d0e-53a4-4c80-9b38-6f6f2b1f0d61",
			Name: "Command (merry-green-fox)", Username: "léa@example.com", Workspace: rm.Uncategorized, Pool: "default", Slots: slots,
			Submitted: time.Unix(1_700_000_000, 0),
		},
		Template: t, Attempt: 1,
	}
	pods, _, err := podspec.Pods(r.Request, t)
	if err != nil {
		pods = 1
	}
	for rank := range pods {
		s := specFor(rank)
		for _, e := range edit {
			e(s)
		}
		r.Specs = append(r.Specs, s)
	}
	return r
}

type row struct {
	name string
	of   podspec.Request
}

func rows() []row {
	changed := func(edit func(*podspec.Template)) podspec.Template {
		t := template()
		edit(&t)
		return t
	}
	tls := changed(func(t *podspec.Template) {
		t.Master = podspec.Master{Scheme: "https", Host: "10.0.0.1", Port: 8443, CA: []byte("PEM"), CertName: "det.example"}
	})
	cpu := changed(func(t *podspec.Template) { t.SlotType, t.SlotCPU = podspec.CPU, 1.5 })
	rocm := changed(func(t *podspec.Template) { t.SlotType = podspec.ROCm })
	group := changed(func(t *podspec.Template) { t.Scheduler, t.PullSecrets = podspec.Coscheduler, []string{"regcred"} })
	pool := changed(func(t *podspec.Template) {
		t.GPUPodSpec = []byte(`{"metadata":{"labels":{"team":"a","site":"x"}},"spec":{"nodeSelector":{"gpu":"a100"},
			"tolerations":[{"key":"dedicated","operator":"Exists"}],
			"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
				{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]},{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}]}}},
			"containers":[{"name":"determined-container","resources":{"requests":{"memory":"1Gi","cpu":"2"},"limits":{"memory":"2Gi"}},
				"volumeMounts":[{"name":"data","mountPath":"/data"}],"env":[{"name":"MINE","value":"pool"},{"name":"POOL","value":"pool"}]}],
			"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data"}}],"serviceAccountName":"trainer"}}`)
	})
	merged := request(1, pool)
	merged.PodSpec = []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"team":"b"}},"spec":{"nodeSelector":{"disk":"ssd"},
		"priorityClassName":"high","securityContext":{"fsGroup":2000},
		"containers":[{"name":"sidecar","image":"registry.test/sidecar:1"},
			{"name":"determined-container","resources":{"requests":{"memory":"4Gi"},"limits":{"memory":"4Gi"}}}]}}`)
	merged.ExcludedAgents = []rm.AgentID{"node-7"}
	return []row{
		{"gang", request(32, template())},
		{"zero_slots", request(0, template())},
		{"cpu_slots", request(2, cpu)},
		{"rocm", request(4, rocm)},
		{"merged", merged},
		{"coscheduler", request(16, group)},
		{"tls_context", request(1, tls, func(s *agentv1.Spec) { s.Context = true })},
		{"account_and_hook", request(0, template(), func(s *agentv1.Spec) {
			s.User = &agentv1.User{Name: "lea", Uid: 1000, Group: "lea", Gid: 1000}
			s.Files = append(s.Files,
				&apiv1.File{Path: "/run/determined/etc", Type: '5', Mode: 0o755},
				&apiv1.File{Path: "/run/determined/etc/passwd", Type: '0', Mode: 0o644, Content: []byte(passwd)})
			s.StartupHook = "export HOOK=1"
		})},
		{"elsewhere", request(0, template(), func(s *agentv1.Spec) {
			s.WorkDir, s.Context = "/home/lea/work", true
			s.Files = append(s.Files,
				&apiv1.File{Path: "/opt/determined/wheels", Type: '5', Mode: 0o755},
				&apiv1.File{Path: "/opt/determined/wheels/a.whl", Type: '0', Mode: 0o644, Content: []byte("wheel")},
				&apiv1.File{Path: "/etc/ssh/ssh_config", Type: '0', Mode: 0o644, Content: []byte("config")})
		})},
		{"machine", request(0, template(), func(s *agentv1.Spec) {
			s.NetworkMode, s.ForcePullImage = "host", true
			s.Mounts = []*agentv1.Mount{
				{HostPath: "/data", ContainerPath: "/data", ReadOnly: true, Propagation: "rprivate"},
				{HostPath: "/mnt", ContainerPath: "/run/determined/workdir/mnt", Propagation: "rslave"},
			}
			s.AddCapabilities, s.DropCapabilities = []string{"CAP_SYS_PTRACE", "ipc_lock"}, []string{"ALL"}
			s.Ports = []*agentv1.Port{{Name: "web", Port: 8888}, {Name: "Not_a name", Port: 9999}}
			s.RegistryAuth = &agentv1.RegistryAuth{Username: "u", Password: "registry-secret"}
		})},
		{"storage", request(0, template(), func(s *agentv1.Spec) {
			const mine, other = "/srv/checkpoints/experiment-3-1f3a90cc", "/srv/checkpoints/experiment-2-77aa0e12"
			s.Mounts = []*agentv1.Mount{
				{HostPath: mine, ContainerPath: "/determined_shared_fs/experiment-3-1f3a90cc", Storage: "/srv/checkpoints", Propagation: "rprivate"},
				{HostPath: other + "/u", ContainerPath: "/determined_shared_fs/experiment-3-1f3a90cc/u", Storage: other, ReadOnly: true, Propagation: "rprivate"},
			}
		})},
		{"claim", func() podspec.Request {
			r := request(0, template(), func(s *agentv1.Spec) {
				mine, other := policy.ClaimDirectory("trials")+"/experiment-3-1f3a90cc", policy.ClaimDirectory("trials")+"/experiment-2-77aa0e12"
				s.Mounts = []*agentv1.Mount{
					{HostPath: mine, ContainerPath: "/determined_shared_fs/experiment-3-1f3a90cc", Storage: policy.ClaimDirectory("trials"), Propagation: "rprivate"},
					{HostPath: other + "/u", ContainerPath: "/determined_shared_fs/experiment-3-1f3a90cc/u", Storage: other, ReadOnly: true, Propagation: "rprivate"},
				}
			})
			r.Template.CheckpointClaim = "trials"
			return r
		}()},
		{"devices", func() podspec.Request {
			r := request(0, template(), func(s *agentv1.Spec) {
				s.Devices = []*agentv1.HostDevice{{HostPath: "/dev/infiniband", Mode: "mrw"}}
				s.Mounts = []*agentv1.Mount{{HostPath: "/mnt", ContainerPath: "/mnt", Propagation: "rshared"}}
				s.ShmSize = 0
			})
			r.PodSpec = []byte(`{"spec":{"containers":[{"name":"determined-container","securityContext":{"privileged":true}}]}}`)
			return r
		}()},
	}
}

func TestBuildGolden(t *testing.T) {
	t.Parallel()
	for _, row := range rows() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o, err := podspec.Build(row.of)
			if err != nil {
				t.Fatal(err)
			}
			got := render(t, o)
			file := filepath.Join("testdata", row.name+".golden")
			golden.Compare(t, file, got)
		})
	}
}

// A linked account has no home in most images, and Python buffers its output: pods have a home and
// PYTHONUNBUFFERED unless the pod spec or the task sets them.
func TestHomeAndPythonBufferDefaults(t *testing.T) {
	t.Parallel()
	linked := func(s *agentv1.Spec) { s.User = &agentv1.User{Name: "lea", Uid: 1000, Group: "lea", Gid: 1000} }
	asks := func(s *agentv1.Spec) { s.Environment = append(s.Environment, "HOME=/home/lea", "PYTHONUNBUFFERED=0") }
	pool := template()
	pool.CPUPodSpec = []byte(`{"spec":{"containers":[{"name":"determined-container","env":[{"name":"HOME","value":"/of/pool"},{"name":"PYTHONUNBUFFERED","value":""}]}]}}`)
	for name, c := range map[string]struct {
		of           podspec.Request
		home, python string
	}{
		"root":             {request(0, template()), "none", "1"},
		"linked":           {request(0, template(), linked), "/run/determined/workdir", "1"},
		"of the pod spec":  {request(0, pool, linked), "/of/pool", ""},
		"the task's":       {request(0, template(), linked, asks), "secret", "secret"},
		"the task's first": {request(0, pool, linked, asks), "secret", "secret"},
	} {
		o, err := podspec.Build(c.of)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{"HOME": "none"}
		for _, e := range o.Job.Spec.Template.Spec.Containers[0].Env {
			if got[e.Name] = e.Value; e.ValueFrom != nil {
				got[e.Name] = "secret"
			}
		}
		if got["HOME"] != c.home || got["PYTHONUNBUFFERED"] != c.python {
			t.Errorf("%s: got HOME %q and PYTHONUNBUFFERED %q, want %q and %q", name, got["HOME"], got["PYTHONUNBUFFERED"], c.home, c.python)
		}
	}
}

func TestNoSecretIsInAPodSpec(t *testing.T) {
	t.Parallel()
	for _, row := range rows() {
		o, err := podspec.Build(row.of)
		if err != nil {
			t.Fatal(err)
		}
		job, err := yaml.Marshal(o.Job)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"session-secret", "registry-secret"} {
			if bytes.Contains(job, []byte(secret)) {
				t.Errorf("%s: the Job has %q in it", row.name, secret)
			}
		}
	}
}

func TestBuildTwiceIsTheSame(t *testing.T) {
	t.Parallel()
	for i, row := range rows() {
		one, err := podspec.Build(row.of)
		if err != nil {
			t.Fatal(err)
		}
		two, err := podspec.Build(rows()[i].of)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
	}
}

// render formats the objects for the golden file: Secrets as text, the archive as a list.
func render(t *testing.T, o podspec.Objects) string {
	t.Helper()
	job, err := yaml.Marshal(o.Job)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(job)
	for _, s := range o.Secrets {
		data := s.Data
		s = s.DeepCopy()
		s.Data, s.StringData = nil, map[string]string{}
		for k, v := range data {
			s.StringData[k] = string(v)
			if k == "files.tar.gz" {
				s.StringData[k] = listing(t, v)
			}
		}
		text, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	if podspec.ServiceOf(o.Job) != nil {
		text, err := yaml.Marshal(podspec.ServiceOf(o.Job))
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.String()
}

func listing(t *testing.T, data []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%c %04o %d:%d %s %q\n", h.Typeflag, h.Mode, h.Uid, h.Gid, h.Name, content)
	}
}

func TestContainerID(t *testing.T) {
	t.Parallel()
	a, b := podspec.ContainerID(allocation, 0), podspec.ContainerID(allocation, 10)
	if !strings.HasSuffix(string(b), "-10") || a[:36] != b[:36] || len(a) != 38 {
		t.Errorf("got %s and %s, want one UUID and the ranks", a, b)
	}
	if other := podspec.ContainerID("x.2", 0); other == a {
		t.Errorf("got %s for two allocations", a)
	}
}

func TestJobName(t *testing.T) {
	t.Parallel()
	long := rm.AllocationID("1234567." + string(allocation))
	names := []string{
		podspec.JobName(allocation, 1), podspec.JobName(allocation, 12), podspec.JobName(long, 1), podspec.JobName(long, 2),
	}
	for _, n := range names {
		if len(n)+len("-9999") > 63 {
			t.Errorf("%s is too long for the host names of its pods", n)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != 4 {
		t.Errorf("got %q, want four names", names)
	}
}

// With slotResource, a slot is that resource of a node, and a task may use nodes with the usual taint of GPUs.
func TestSlotOfExtendedResource(t *testing.T) {
	t.Parallel()
	r := request(2, template())
	r.Template.SlotResource = "nvidia.com/mig-1g.10gb"
	o, err := podspec.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	s := o.Job.Spec.Template.Spec
	limits := s.Containers[0].Resources.Limits
	if got := limits["nvidia.com/mig-1g.10gb"]; got.Value() != 2 || len(limits) != 1 {
		t.Errorf("got limits %v, want two of the resource alone", limits)
	}
	for _, key := range []string{"nvidia.com/gpu", "nvidia.com/mig-1g.10gb"} {
		if !slices.ContainsFunc(s.Tolerations, func(o corev1.Toleration) bool { return o.Key == key }) {
			t.Errorf("got tolerations %v, want one of %s", s.Tolerations, key)
		}
	}
	r.PodSpec = []byte(`{"spec":{"containers":[{"name":"determined-container","resources":{"limits":{"nvidia.com/mig-1g.10gb":"1"}}}]}}`)
	_, err = podspec.Build(r)
	refused(t, err, "resources.limits[nvidia.com/mig-1g.10gb] must not be set")
}

// An autoscaler does not remove the node of a task that cannot be run again, unless its pod spec says so.
func TestAutoscalersKeepNodesOfTasksThatCannotRunAgain(t *testing.T) {
	t.Parallel()
	const evict, disrupt = "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"
	for _, tt := range []struct {
		name        string
		preemptible bool
		spec        string
		want        [2]string
	}{
		{"a command", false, "", [2]string{"false", "true"}},
		{"a trial", true, "", [2]string{}},
		{"a command that may be disrupted", false, `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"false"}}}`, [2]string{"false", "false"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := request(0, template())
			r.Preemptible, r.PodSpec = tt.preemptible, []byte(tt.spec)
			o, err := podspec.Build(r)
			if err != nil {
				t.Fatal(err)
			}
			got := o.Job.Spec.Template.Annotations
			if [2]string{got[evict], got[disrupt]} != tt.want {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}
