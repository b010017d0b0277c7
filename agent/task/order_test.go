package task

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func testHost(t apiv1.Device_Type) Host {
	return Host{
		AgentID: "me", ClusterID: "c", MasterID: "m", Scheme: "http", MasterHost: "10.0.0.1", MasterPort: 8080,
		Slots: []*apiv1.Device{{Id: 0, Uuid: "GPU-a", Type: t}, {Id: 1, Uuid: "GPU-b", Type: t}},
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		host   func(*Host)
		kind   apiv1.Device_Type
		ids    []int32
		mode   string
		want   []string
		absent string
	}{
		{
			name: "the master and the agent", kind: apiv1.Device_TYPE_CPU, absent: "CUDA_VISIBLE_DEVICES",
			want: []string{
				"DET_MASTER=http://10.0.0.1:8080", "DET_MASTER_ADDR=10.0.0.1", "DET_MASTER_HOST=10.0.0.1", "DET_MASTER_PORT=8080",
				"DET_CLUSTER_ID=c", "DET_MASTER_ID=m", "DET_AGENT_ID=me", "DET_CONTAINER_ID=id", "DET_SLOT_IDS=[]", "DET_USE_TLS=false",
			},
		},
		{name: "NVIDIA by UUID", kind: apiv1.Device_TYPE_CUDA, ids: []int32{0, 1}, want: []string{"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b", "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b", "DET_SLOT_IDS=[0,1]"}},
		{name: "no GPU is none", kind: apiv1.Device_TYPE_CUDA, want: []string{"CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES=void"}},
		{name: "AMD by index", kind: apiv1.Device_TYPE_ROCM, ids: []int32{1}, want: []string{"ROCR_VISIBLE_DEVICES=1"}},
		{
			name: "TLS with a CA", host: func(h *Host) { h.Scheme, h.MasterCert, h.MasterCertName = "https", []byte("pem"), "det" },
			want: []string{"DET_MASTER=https://10.0.0.1:8080", "DET_USE_TLS=true", "DET_MASTER_CERT_FILE=" + certPath, "DET_MASTER_CERT_NAME=det"},
		},
		{name: "TLS without checks", host: func(h *Host) { h.Scheme, h.NoVerify = "https", true }, want: []string{"DET_MASTER_CERT_FILE=noverify"}},
		{name: "proxies", host: func(h *Host) { h.Proxies = []string{"NO_PROXY=x"} }, want: []string{"NO_PROXY=x"}},
		{name: "loopback from a network of its own", host: func(h *Host) { h.Docker, h.MasterHost = true, "localhost" }, want: []string{"DET_MASTER=http://host.docker.internal:8080"}},
		{name: "loopback on the host's network", host: func(h *Host) { h.Docker, h.MasterHost = true, "127.0.0.1" }, mode: "host", want: []string{"DET_MASTER=http://127.0.0.1:8080"}},
		{name: "the host by its name", host: func(h *Host) { h.Docker, h.MasterHost = true, "host.docker.internal" }, want: []string{"DET_MASTER=http://host.docker.internal:8080"}},
		{name: "loopback of a plain process", host: func(h *Host) { h.MasterHost = "::1" }, want: []string{"DET_MASTER=http://[::1]:8080"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := testHost(tc.kind)
			if tc.host != nil {
				tc.host(&h)
			}
			o := &agentv1.Start{ContainerId: "id", DeviceIds: tc.ids, Spec: &agentv1.Spec{NetworkMode: tc.mode, Environment: []string{"DET_AGENT_ID=mine"}}}
			got := specOf(o, h).Env
			for _, want := range tc.want {
				if !slices.Contains(got, want) {
					t.Errorf("got %q, want %q among them", got, want)
				}
			}
			if got[len(got)-1] != "DET_AGENT_ID=mine" {
				t.Errorf("the master's part does not come last: %q", got)
			}
			if tc.absent != "" && slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, tc.absent) }) {
				t.Errorf("got %q, want no %s", got, tc.absent)
			}
		})
	}
}

func TestTaskKnowsItsNode(t *testing.T) {
	t.Parallel()
	o := &agentv1.Start{ContainerId: "id", DeviceIds: []int32{1}, Spec: &agentv1.Spec{
		Environment: []string{"DET_TASK_ID=t", "DET_SESSION_TOKEN=secret"}, User: &agentv1.User{Uid: 7, Gid: 8},
	}}
	s := specOf(o, testHost(apiv1.Device_TYPE_CUDA))
	for path, want := range map[string][]string{
		agentv1.ClusterInfoPath: {
			`"master_url":"http://10.0.0.1:8080"`, `"agent_id":"me"`, `"slot_ids":[1]`, `"task_id":"t"`, `"session_token":"secret"`,
		},
		agentv1.ResourcesInfoPath: {`{"gpu_uuids":["GPU-b"]}`},
	} {
		i := slices.IndexFunc(s.Files, func(f container.File) bool { return f.Path == path })
		if i < 0 {
			t.Fatalf("there is no %s among %v", path, s.Files)
		}
		f := s.Files[i]
		for _, w := range want {
			if !strings.Contains(string(f.Content), w) {
				t.Errorf("%s: got %s, want %s in it", path, f.Content, w)
			}
		}
		if f.Mode != 0o600 || f.UID != 7 || f.GID != 8 {
			t.Errorf("%s: got mode %o of %d:%d, want it for the task's user alone", path, f.Mode, f.UID, f.GID)
		}
	}
}

func TestGPUsAreMatchedByVendor(t *testing.T) {
	t.Parallel()
	for kind, want := range map[apiv1.Device_Type]container.Vendor{
		apiv1.Device_TYPE_CUDA: container.NVIDIA, apiv1.Device_TYPE_ROCM: container.AMD, apiv1.Device_TYPE_CPU: "",
	} {
		s := specOf(&agentv1.Start{ContainerId: "id", DeviceIds: []int32{1}, Spec: &agentv1.Spec{}}, testHost(kind))
		if s.GPUVendor != want || (want != "") != slices.Equal(s.GPUs, []string{"GPU-b"}) {
			t.Errorf("%s: got %q of %q", kind, s.GPUs, s.GPUVendor)
		}
	}
}

func TestNetworkDefaultsToAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ordered, own string
		docker       bool
		want         string
	}{
		{"bridge", "", true, "bridge"},
		{"bridge", "pedl", true, "pedl"},
		{"", "pedl", true, "pedl"},
		{"default", "host", true, "host"},
		{"host", "pedl", true, "host"},
		{"mine", "pedl", true, "mine"},
		{"none", "pedl", true, "none"},
		{"bridge", "pedl", false, "bridge"},
	} {
		h := Host{Docker: c.docker, Network: OwnNetwork(c.own)}
		if got := h.networkOf(&agentv1.Spec{NetworkMode: c.ordered}); got != c.want {
			t.Errorf("ordered %q, the agent's %q, docker %v: got %q, want %q", c.ordered, c.own, c.docker, got, c.want)
		}
	}
	if OwnNetwork("default") != "" || OwnNetwork("bridge") != "" {
		t.Error("got a default taken for a choice")
	}
}

func TestUnsetSettingsReachRuntime(t *testing.T) {
	t.Parallel()
	for set, want := range map[agentv1.Spec_Setting]container.Unset{
		agentv1.Spec_SETTING_IMAGE:        {Image: true},
		agentv1.Spec_SETTING_SHM_SIZE:     {ShmSize: true},
		agentv1.Spec_SETTING_NETWORK_MODE: {NetworkMode: true},
		99:                                {}, // from a later master
	} {
		s := specOf(&agentv1.Start{ContainerId: "id", Spec: &agentv1.Spec{Unset: []agentv1.Spec_Setting{set}}}, testHost(apiv1.Device_TYPE_CPU))
		if s.Unset != want {
			t.Errorf("%s: got %+v, want %+v", set, s.Unset, want)
		}
	}
}
