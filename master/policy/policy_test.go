package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/policy"
)

// host requests a writable mount of one path.
func host(path string) policy.Asked {
	return policy.Asked{Mounts: []policy.Mount{{Field: "bind_mounts[0].host_path", Path: path}}}
}

func capability(name string) policy.Asked {
	return policy.Asked{Capabilities: []policy.Text{{Field: "environment.add_capabilities[0]", Value: name}}}
}

func image(name string) policy.Asked {
	return policy.Asked{Images: []policy.Text{{Field: "environment.image", Value: name}}}
}

func device(path string) policy.Asked {
	return policy.Asked{Devices: []policy.Text{{Field: "resources.devices[1].host_path", Value: path}}}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	data := policy.Policy{Root: true, HostPaths: []policy.HostPath{{Path: "/data"}, {Path: "/sets", ReadOnly: true}}}
	kept := policy.Policy{Root: true, Storages: []policy.HostPath{{Path: "/kept"}}}
	for _, tc := range []struct {
		name string
		p    policy.Policy
		a    policy.Asked
		want string // empty if allowed
	}{
		{"nothing asked", policy.Default(), policy.Asked{}, ""},
		{"a path that is not allowed", policy.Default(), host("/etc/ssl"), "bind_mounts[0].host_path: /etc/ssl is not among the host paths that tasks may mount; to allow it, an administrator sets task_policy.host_paths: [/etc/ssl]"},
		{"an allowed path", data, host("/data"), ""},
		{"below an allowed path", data, host("/data/a/b"), ""},
		{"beside an allowed path", data, host("/database"), "host_paths: [/database]"},
		{"above an allowed path by dots", data, host("/data/../etc/ssl"), "host_paths: [/etc/ssl]"},
		{"writing what may be read", data, host("/sets"), "/sets may be mounted with read_only: true only; to allow it, an administrator sets task_policy.host_paths: [{path: /sets, read_only: false}]"},
		{"reading what may be read", data, policy.Asked{Mounts: []policy.Mount{{Path: "/sets/x", ReadOnly: true}}}, ""},
		{"a mount that spreads", data, policy.Asked{Mounts: []policy.Mount{{Path: "/data", Propagation: "rshared"}}}, "may not be mounted with propagation rshared"},
		{
			"a mount that may spread",
			policy.Policy{HostPaths: []policy.HostPath{{Path: "/data", Shared: true}}},
			policy.Asked{Mounts: []policy.Mount{{Path: "/data", Propagation: "rshared"}}},
			"",
		},
		{"the checkpoints of all", kept, host("/kept/experiment-7-1f3a90cc"), "bind_mounts[0].host_path: /kept/experiment-7-1f3a90cc is in the checkpoint storage, where an experiment may only mount its own directory"},
		{"its own checkpoints", kept, policy.Asked{Mounts: []policy.Mount{{Path: "/kept/experiment-7-1f3a90cc", Storage: true}}}, ""},
		{"checkpoints elsewhere", kept, policy.Asked{Mounts: []policy.Mount{{Path: "/etc/ssl", Storage: true}}}, "host_paths: [/etc/ssl]"},
		{"checkpoints on an allowed path", data, policy.Asked{Mounts: []policy.Mount{{Path: "/data/mine", Storage: true}}}, ""},
		{"a path with a zero", policy.Policy{Free: true}, host("/data\x00/etc"), "must be an absolute path"},
		{"a path that is not absolute", policy.Policy{Free: true}, host("data"), "must be an absolute path"},
		{"an engine's socket, for an administrator", policy.Policy{Free: true}, host("/var/run/docker.sock"), "/var/run/docker.sock is not allowed for any task"},
		{"an engine's socket by dots", policy.Policy{Free: true}, host("/data/../var/run//docker.sock"), "not allowed for any task"},
		{"the machine, for an administrator", policy.Policy{Free: true}, host("/"), "/ is not allowed for any task, including those of administrators: it exposes /proc"},
		{"the machine where it is allowed", policy.Policy{HostPaths: []policy.HostPath{{Path: "/"}}}, host("/"), "not allowed for any task"},
		{"what has sockets in it", policy.Policy{Free: true}, host("/run"), "it exposes"},
		{"containers of the machine", policy.Policy{Free: true}, host("/var/lib/docker/overlay2/x"), "it exposes /var/lib/docker"},
		{"the root of a process", policy.Policy{Free: true}, host("/proc/self/root"), "it exposes /proc"},
		{"anything else for an administrator", policy.Policy{Free: true}, host("/etc/ssl"), ""},
		{"a capability", policy.Default(), capability("SYS_ADMIN"), "environment.add_capabilities[0]: the capability SYS_ADMIN is not allowed; to allow it, an administrator sets task_policy.capabilities: [SYS_ADMIN]"},
		{"a capability in other words", policy.Policy{Capabilities: []string{"SYS_PTRACE"}}, capability("cap_sys_ptrace"), ""},
		{"every capability", policy.Policy{Capabilities: []string{"SYS_PTRACE"}}, capability("ALL"), "capabilities: [ALL]"},
		{"a device", policy.Default(), device("/dev/vda"), "resources.devices[1].host_path: the device /dev/vda is not allowed; to allow it, an administrator sets task_policy.devices: [/dev/vda]"},
		{"a device of an allowed directory", policy.Policy{Devices: []string{"/dev/infiniband"}}, device("/dev/infiniband/uverbs0"), ""},
		{"another by dots", policy.Policy{Devices: []string{"/dev/infiniband"}}, device("/dev/infiniband/../vda"), "devices: [/dev/vda]"},
		{"a socket as a device", policy.Policy{Free: true}, device("/run/docker.sock"), "not allowed for any task"},
		{"an image of this machine", policy.Default(), chosen("localhost:5000/x"), "environment.image: the registry of the image localhost:5000/x is the machine that runs the task, or only reachable from there; to allow it, an administrator sets task_policy.images: [localhost:5000/x]"},
		{"an allowed image of this machine", policy.Policy{Root: true, Images: []string{"localhost:5000"}}, chosen("localhost:5000/x"), ""},
		{"an administrator's image of this machine", policy.Policy{Free: true}, chosen("localhost:5000/x"), ""},
		{"the cluster's image of this machine", policy.Default(), image("localhost:5000/x"), ""},
		{"root", policy.Policy{}, policy.Asked{Users: []policy.User{{Field: "user", UID: 0}}}, "user: the task would run as root"},
		{"an unprivileged user", policy.Policy{}, policy.Asked{Users: []policy.User{{Field: "user", UID: 1000}}}, ""},
		{"privileged", policy.Default(), policy.Asked{Privileged: []string{"p"}}, "task_policy.privileged: true"},
		{"the network", policy.Default(), policy.Asked{HostNetwork: []string{"n"}}, "task_policy.host_network: true"},
		{"the processes", policy.Default(), policy.Asked{HostPID: []string{"n"}}, "task_policy.host_pid: true"},
		{"the semaphores", policy.Default(), policy.Asked{HostIPC: []string{"n"}}, "task_policy.host_ipc: true"},
		{"too much shared memory", policy.Policy{MaxShm: 10}, policy.Asked{Shm: []policy.Amount{{Field: "resources.shm_size", Bytes: 11}}}, "resources.shm_size: 11 bytes of shared memory exceed the limit of 10; to allow it, an administrator sets task_policy.max_shm_size: 11"},
		{"enough shared memory", policy.Policy{MaxShm: 10}, policy.Asked{Shm: []policy.Amount{{Bytes: 10}}}, ""},
		{"memory without a limit", policy.Policy{}, policy.Asked{Memory: []policy.Amount{{Bytes: 1 << 60}}}, ""},
		{"too much memory", policy.Policy{MaxMemory: 1}, policy.Asked{Memory: []policy.Amount{{Bytes: 2}}}, "task_policy.max_memory: 2"},
		{"a priority that is too urgent", policy.Policy{MinPriority: 40}, policy.Asked{Priority: 39}, "resources.priority: the priority 39 is more urgent than 40, the most urgent one that is allowed; to allow it, an administrator sets task_policy.min_priority: 39"},
		{"the most urgent priority", policy.Policy{MinPriority: 40}, policy.Asked{Priority: 40}, ""},
		{"the priority of the pool", policy.Policy{MinPriority: 40}, policy.Asked{}, ""},
		{"a priority that is too high", policy.Policy{MinPriority: 40, HighFirst: true}, policy.Asked{Priority: 41}, "task_policy.min_priority: 41"},
		{"the highest priority", policy.Policy{MinPriority: 40, HighFirst: true}, policy.Asked{Priority: 40}, ""},
		{"the priority of an administrator", policy.Policy{Free: true, MinPriority: 40}, policy.Asked{Priority: 1}, ""},
		{"a request that no user may make", policy.Policy{Free: true}, policy.Asked{Never: []policy.Violation{{Field: "f", Text: "never"}}}, "f: never"},
		{"text that would break a line", policy.Default(), device("/dev/a\nb"), `the device "/dev/a\nb" is not allowed`},
		{"an administrator", policy.Policy{Free: true}, policy.Asked{Privileged: []string{"p"}, Users: []policy.User{{}}, HostPID: []string{"n"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := policy.Check(tc.p, tc.a); err != nil {
				got = err.Error()
			}
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestImagesAreComparedByWholeParts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		prefix, image string
		want          bool
	}{
		{"registry.example.com", "registry.example.com/a/b:1", true},
		{"registry.example.com", "registry.example.com.evil.org/a", false},
		{"registry.example.com", "registry.example.com:5000/a", false},
		{"localhost:5000", "localhost:5000/a", true},
		{"registry.example.com/team", "registry.example.com/team@sha256:00", true},
		{"registry.example.com/team", "registry.example.com/teamwork/a", false},
		{"registry.example.com/team", "registry.example.com/team/../other", false},
		{"python", "docker.io/library/python:3.11-slim", true},
		{"python:3.11-slim", "python:3.11-slim", true},
		{"docker.io", "python", true},
		{"docker.io/library/", "python", true},
		{"myorg/", "docker.io/myorg/a:1", true},
		{"myorg/", "index.docker.io/myorg/a:1", true},
		{"myorg/", "myorg.example.com/a", false},
		{"docker.io/library/", "cafe0123", false},
		{"docker.io/library/", "sha256:0123", false},
	} {
		if got := policy.Check(policy.Policy{Images: []string{tc.prefix}}, image(tc.image)) == nil; got != tc.want {
			t.Errorf("image %s under %s: got %v, want %v", tc.image, tc.prefix, got, tc.want)
		}
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Images: []string{"a.example.com"}}.Allow(policy.Policy{
		HostPaths: []policy.HostPath{{Path: "/shared"}}, Capabilities: []string{"IPC_LOCK"}, Images: []string{"python"},
	})
	for _, a := range []policy.Asked{host("/shared/x"), capability("IPC_LOCK"), image("python:3"), image("a.example.com/x")} {
		if err := policy.Check(p, a); err != nil {
			t.Error(err)
		}
	}
	if all := (policy.Policy{}).Allow(policy.Policy{Images: []string{"python"}}); policy.Check(all, image("other")) != nil {
		t.Error("an image that the cluster gives forbids the others")
	}
}

func TestPolicyRoundTrip(t *testing.T) {
	t.Parallel()
	want := policy.Policy{
		HostPaths: []policy.HostPath{{Path: "/a", ReadOnly: true, Shared: true}}, Capabilities: []string{"A"}, Devices: []string{"/dev/a"},
		Privileged: true, HostNetwork: true, HostPID: true, HostIPC: true, Root: true, Images: []string{"i"}, MaxShm: 1, MaxMemory: 2,
		MaxProcesses: 3, MinPriority: 4,
	}
	if diff := cmp.Diff(want, policy.FromAPI(want.API())); diff != "" {
		t.Error(diff)
	}
	free := policy.Policy{Free: true}
	if got := policy.FromAPI(free.API()); !got.Free {
		t.Errorf("got %+v, want it free", got)
	}
}

func TestOfSpecCoversEverySetting(t *testing.T) {
	t.Parallel()
	s := &agentv1.Spec{
		Image: "i", Mounts: []*agentv1.Mount{{HostPath: "/a"}}, Devices: []*agentv1.HostDevice{{HostPath: "/dev/a"}},
		AddCapabilities: []string{"A"}, NetworkMode: "host", ShmSize: 2, User: &agentv1.User{},
	}
	var fields []string
	for _, v := range policy.Judge(policy.Policy{Images: []string{"x"}, MaxShm: 1}, policy.OfSpec(s)) {
		fields = append(fields, v.Field)
	}
	want := []string{
		"bind_mounts[0].host_path", "environment.add_capabilities[0]", "environment.image", "resources.devices[0].host_path",
		"resources.shm_size", "task_container_defaults.network_mode", "user",
	}
	slices.Sort(fields)
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}

// Any request for a path that no task may have is rejected, with one line per violation.
func FuzzJudge(f *testing.F) {
	f.Add("/data/../run/docker.sock", "/dev/../proc/1/root", "SYS_ADMIN", "docker.io/library/python", "python")
	f.Fuzz(func(t *testing.T, mount, dev, capab, img, prefix string) {
		a := host(mount)
		a.Devices, a.Capabilities, a.Images = device(dev).Devices, capability(capab).Capabilities, image(img).Images
		p := policy.Policy{HostPaths: []policy.HostPath{{Path: "/"}}, Devices: []string{"/"}, Images: []string{prefix}}
		fields := map[string]bool{}
		for _, v := range policy.Judge(p, a) {
			fields[v.Field] = true
			if strings.ContainsAny(v.Text, "\n\r\x1b") {
				t.Errorf("%q breaks its line", v.Text)
			}
		}
		for field, path := range map[string]string{"bind_mounts[0].host_path": mount, "resources.devices[1].host_path": dev} {
			if _, reached := policy.Reaches(path, policy.Guarded()); reached && !fields[field] {
				t.Errorf("%q is allowed", path)
			}
		}
		if !fields["environment.add_capabilities[0]"] {
			t.Errorf("capability %q is allowed", capab)
		}
	})
}

// The policy sent with a task allows its own checkpoints, and no others.
func TestForStorageAllowsOnlyOwnCheckpoints(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Root: true, Storages: []policy.HostPath{{Path: "/kept"}}}
	own := &agentv1.Mount{HostPath: "/kept/experiment-7-1f3a90cc", Storage: "/kept"}
	source := &agentv1.Mount{HostPath: "/kept/experiment-3-77aa0e12/u", Storage: "/kept/experiment-3-77aa0e12", ReadOnly: true}
	elsewhere := &agentv1.Mount{HostPath: "/etc", Storage: "/etc"}
	sent := policy.FromAPI(p.ForStorage([]*agentv1.Mount{own, source, elsewhere}).API())
	for _, tc := range []struct {
		m       *agentv1.Mount
		allowed bool
	}{
		{own, true},
		{source, true},
		{elsewhere, false},
		{&agentv1.Mount{HostPath: "/kept"}, false},
		{&agentv1.Mount{HostPath: source.GetHostPath()}, false}, // writable
		{&agentv1.Mount{HostPath: "/kept/experiment-3-77aa0e12", ReadOnly: true}, false},
		{&agentv1.Mount{HostPath: "/kept/experiment-8-00c0ffee", Storage: "/kept"}, false},
	} {
		err := policy.Check(sent, policy.OfSpec(&agentv1.Spec{Mounts: []*agentv1.Mount{tc.m}}))
		if (err == nil) != tc.allowed {
			t.Errorf("%v: got %v, want it allowed: %t", tc.m, err, tc.allowed)
		}
	}
}

func chosen(name string) policy.Asked {
	a := image(name)
	a.Chosen = a.Images
	return a
}

func TestRegistriesOfTheMachineItself(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{
		"localhost/x": true, "LOCALHOST:5000/x": true, "a.localhost:5000/x": true, "127.0.0.1:5000/x": true, "127.1:5000/x": true,
		"2130706433:80/x": true, "0x7f.1:80/x": true, "0.0.0.0:5000/x": true, "[::1]:5000/x": true, "[::ffff:127.0.0.1]:80/x": true,
		"[fe80::1]/x": true, "169.254.169.254/latest/x": true, "metadata.google.internal/x": true, "localhost.:5000/x": true,
		"python": false, "localhost": false, "team/python": false, "registry.example.com/team/x:1": false, "10.0.0.7:5000/x": false,
		"docker.io/library/python": false, "registry:5000/x": false, "[2001:db8::1]:5000/x": false, "127.example.com/x": false,
	} {
		err := policy.Check(policy.Default(), chosen(name))
		if got := err != nil; got != own {
			t.Errorf("%s: got %v, want an error: %t", name, err, own)
		}
	}
}
