package aws_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/security"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
	"github.com/det-deploy/det-deploy/test/golden"
)

// onMaster returns a file of the master's machine.
func (s *stage) onMaster(t *testing.T, path string) []byte {
	t.Helper()
	data, err := s.ReadMasterFile(t.Context(), path)
	must(t, err)
	return data
}

// numbered matches IDs that differ between runs.
var numbered = regexp.MustCompile(`\b(subnet|sg)-[0-9a-f]{17}`)

func TestMasterYAML(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"default": nil,
		"everything": {
			"instance-type", "g5.xlarge,g4dn.xlarge", "spot", "true", "spot-fallback", "true", "spot-max-price", "1.5", "max-agents", "8", "min-agents", "1",
			"idle-period", "5m", "starting-period", "30m", "key-pair", "lab", "tag", "team=ml", "preemption", "true", "db-url", "env:DB_URL",
			"cpu-image", "python:3.12", "registry-user", "ann", "registry-password", "env:REGISTRY", "notebook-timeout", "1h",
			"startup-script-file", "#!/bin/sh\ntrue\n", "agent-config-file", "hooks: {on_connection_lost: [reboot]}\n", "enable-cors", "true", "cors-origins", "https://portal.example.com",
			"master-config-file", "launch_error: false\nlog: {level: debug}\n", "initial-password", "aws-sm:their/password", "data-prefix", "lab",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(inMemory(awstest.Options{}), flags...)
				in, _, err := s.operator(t.Context())
				must(t, err)
				p, err := in.Plan(t.Context())
				must(t, err)
				in.Deployment.(*aws.Target).NoWait = true
				must(t, in.Up(t.Context(), p))
				got := s.onMaster(t, manifest.ConfigFile)
				m, _, err := config.Parse(got, "master.yaml")
				must(t, err)
				if unbuilt := config.Unbuilt(m); len(unbuilt) > 0 {
					t.Errorf("the master would refuse to start: %v", unbuilt)
				}
				golden.Compare(t, "testdata/"+name+".golden", string(numbered.ReplaceAll(got, []byte("$1-…"))))
			})
		})
	}
}

// The proxies reach the boot of the master's machine, its services, and the pools. A change reaches
// a machine that has booted.
func TestProxyReachesAllMachines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "https-proxy", "http://proxy:3128", "no-proxy", ".corp")
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		for _, i := range s.world.Instances() {
			if data := s.world.UserData(*i.InstanceId); !strings.Contains(data, "HTTPS_PROXY=http://proxy:3128") {
				t.Errorf("the master boots with %s", data)
			}
		}
		check := func(want string) {
			t.Helper()
			if got := string(s.onMaster(t, manifest.ProxyFile)); !strings.Contains(got, "HTTPS_PROXY="+want+"\n") || !strings.Contains(got, ",.corp\n") {
				t.Errorf("got %q for the services of the master's machine, want %s", got, want)
			}
			m, _, err := config.Parse(s.onMaster(t, manifest.ConfigFile), "master.yaml")
			must(t, err)
			for _, p := range m.ResourcePools {
				if got := p.Provider.AWS.Proxy; got.HTTPS != want || got.No != ".corp" {
					t.Errorf("pool %s: got %+v, want %s", p.Name, got, want)
				}
			}
		}
		check("http://proxy:3128")
		s.Set("https-proxy", "http://other:3128")
		if got := s.Plan(t); !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "update aws/manifest/master") }) {
			t.Errorf("got %v, want the machine to get the other proxy", got)
		}
		must(t, s.Up(t.Context()))
		check("http://other:3128")
	})
}

// A wheel is uploaded for the master's machine. It remains there when `up` runs on another
// computer, which does not have the file.
func TestWheelIsUploadedForTheMaster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const name = "determined-0.38.1-py3-none-any.whl"
		wheel := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(wheel, []byte("a wheel"), 0o600))
		s := newStage(inMemory(awstest.Options{}), "harness-wheel", wheel)
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		const there = "/var/lib/det-deploy/harness/" + name
		m, _, err := config.Parse(s.onMaster(t, manifest.ConfigFile), "master.yaml")
		must(t, err)
		if got := m.TaskContainerDefaults.HarnessWheel.File; got != there {
			t.Errorf("the master looks for %q", got)
		}
		if got := s.onMaster(t, there); string(got) != "a wheel" {
			t.Errorf("its machine has %q", got)
		}
		must(t, os.Remove(wheel))
		s.WantNothingToDo(t)
		must(t, os.WriteFile(wheel, []byte("another"), 0o600))
		must(t, s.Up(t.Context()))
		if got := s.onMaster(t, there); string(got) != "another" {
			t.Errorf("its machine has %q after the next up", got)
		}
	})
}

// A missing wheel is an error before anything is created.
func TestUpRejectsMissingWheel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "harness-wheel", filepath.Join(t.TempDir(), "determined-0.38.1-py3-none-any.whl"))
		in, _, err := s.operator(t.Context())
		must(t, err)
		if err := in.Check(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "read the wheel of tasks.harness_wheel") {
			t.Errorf("got %v", err)
		}
	})
}

func TestSecurityAndPolicyReachTheMaster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		s.File = "security: {visibility: private, audit: {retention_days: 30}, proxies: {trusted: [10.0.0.0/8]}, limits: {tasks_per_user: 5}}\n" +
			"task_policy: {host_paths: [/data]}\npools: {compute-pool: {instance_types: [g5.xlarge], slot_price: {per_hour: 1.2, currency: EUR}, task_policy: {root: false}}}\n"
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		m, _, err := config.Parse(s.onMaster(t, manifest.ConfigFile), "master.yaml")
		must(t, err)
		got := m.Security
		if got.Visibility != security.VisibilityPrivate || got.Audit.Days != 30 || len(got.Proxies.Trusted) != 1 || got.Limits.TasksPerUser != 5 {
			t.Errorf("got %+v, want the security of cluster.yaml", got)
		}
		pool := m.ResourcePools[slices.IndexFunc(m.ResourcePools, func(p config.Pool) bool { return p.Name == "compute-pool" })]
		if len(m.TaskPolicy.HostPaths) != 1 || pool.TaskPolicy == nil || pool.TaskPolicy.Root == nil || *pool.TaskPolicy.Root {
			t.Errorf("got %+v and %+v of the pool, want the policies of cluster.yaml", m.TaskPolicy, pool.TaskPolicy)
		}
		if pool.SlotPrice == nil || *pool.SlotPrice != (config.SlotPrice{PerHour: 1.2, Currency: "EUR"}) {
			t.Errorf("got the price %+v, want that of cluster.yaml", pool.SlotPrice)
		}
		if m.Security.TLS.Key == "" {
			t.Error("got no TLS")
		}
	})
}

// Secrets exist only in Secrets Manager: not in the bucket, user data or plans.
func TestSecretsAreOnlyInTheVault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "db-url", "env:DB_URL", "registry-user", "ann", "registry-password", "env:REGISTRY")
		before := strings.Join(s.Plan(t), "\n")
		must(t, s.Up(t.Context()))
		var secrets []string
		for _, name := range []string{"admin-password", "db-url", "registry-password"} {
			text, found := s.world.Secret("det-deploy/lab/" + name)
			if !found {
				t.Fatalf("secret %s is not stored", name)
			}
			secrets = append(secrets, text)
		}
		secrets = append(secrets, "PRIVATE KEY")
		places := map[string]string{"the plan": before, "master.yaml": string(s.onMaster(t, manifest.ConfigFile))}
		for _, key := range []string{"record.json", "manifest.json", "settings.json", "status/master.json"} {
			if body, found := s.world.Object("det-deploy-lab-"+s.account, key); found {
				places[key] = string(body)
			}
		}
		for _, i := range s.world.Instances() {
			places["user data"] = s.world.UserData(*i.InstanceId)
		}
		for place, text := range places {
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%s has a secret in it", place)
				}
			}
		}
		if len(places) < 6 {
			t.Errorf("got %d places looked at, want all", len(places))
		}
	})
}

// The master may not describe images, so the installer records the name of their root device.
func TestRootDeviceIsConfigured(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{"": "/dev/sda1", awstest.ImageDebian: "/dev/xvda"} {
		t.Run(want, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(inMemory(awstest.Options{}))
				if image != "" {
					s.Set("agent-image", image)
				}
				must(t, s.Up(t.Context()))
				m, _, err := config.Parse(s.onMaster(t, manifest.ConfigFile), "master.yaml")
				must(t, err)
				for _, p := range m.ResourcePools {
					if got := p.Provider.AWS.RootDeviceName; got != want {
						t.Errorf("pool %s: got root device %q, want %q", p.Name, got, want)
					}
				}
			})
		})
	}
}
