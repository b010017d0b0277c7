package gcp_test

import (
	"strings"
	"testing"

	gcs "google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer/target/gcp"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	"github.com/det-deploy/det-deploy/master/config"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/golden"
)

const seedPool = `pools:
  seed:
    machines: [n1-standard-8+1xnvidia-tesla-t4]
    boot_disk: {size: 300, type: pd-ssd}
    image: projects/acme-ml/global/images/family/agents
    startup_script: "#!/bin/sh\nmount -o discard,defaults /dev/sdb1 /mnt/disks/second\n"
    base_config:
      disks: [{mode: READ_ONLY, boot: false, source: zones/us-central1-a/disks/second, autoDelete: false}]
  plain:
    machines: [n2-standard-8]
    cpu_slots: true
`

// onMaster returns a file of the master's machine.
func (s *stage) onMaster(t *testing.T, path string) []byte {
	t.Helper()
	data, err := s.ReadMasterFile(t.Context(), path)
	must(t, err)
	return data
}

func TestMasterYAML(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file  string
		flags []string
	}{
		"default": {"", nil},
		"everything": {"", []string{
			"machine", "n1-standard-8+1xnvidia-tesla-t4,g2-standard-4", "spot", "true", "spot-fallback", "true", "max-agents", "8", "min-agents", "1",
			"idle-period", "5m", "starting-period", "30m", "label", "team=ml", "network-tag", "office", "preemption", "true", "db-url", "env:DB_URL",
			"cpu-image", "python:3.12", "registry-user", "ann", "registry-password", "env:REGISTRY", "notebook-timeout", "1h",
			"startup-script-file", "#!/bin/sh\ntrue\n", "agent-config-file", "hooks: {on_connection_lost: [reboot]}\n", "enable-cors", "true", "cors-origins", "https://portal.example.com",
			"master-config-file", "launch_error: false\nlog: {level: debug}\n", "initial-password", "gcp-sm:their-password", "data-prefix", "lab",
			"pool-zone", "us-central1-b,us-central1-a", "agent-boot-disk-size", "250", "agent-boot-disk-type", "pd-ssd", "agent-image", gcptest.ImageDebian,
			"agent-external-ip", "false", "nat", "true", "metrics", "false", "agent-service-account", "none",
		}},
		"pools": {seedPool, []string{"default-compute-pool", "seed"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{}, tc.flags...)
				s.File = tc.file
				in, _, err := s.operator(t.Context())
				must(t, err)
				p, err := in.Plan(t.Context())
				must(t, err)
				in.Deployment.(*gcp.Target).NoWait = true
				must(t, in.Up(t.Context(), p))
				got := s.onMaster(t, manifest.ConfigFile)
				m, _, err := config.Parse(got, "master.yaml")
				must(t, err)
				if unbuilt := config.Unbuilt(m); len(unbuilt) > 0 {
					t.Errorf("the master would refuse to start: %v", unbuilt)
				}
				golden.Compare(t, "testdata/"+name+".golden", string(got))
			})
		})
	}
}

// The proxies reach the boot of the master's machine, its services, and the pools.
func TestProxyReachesAllMachines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{}, "https-proxy", "http://proxy:3128")
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		for path, i := range s.world.Instances() {
			for _, item := range i.Metadata.Items {
				if item.Key == "startup-script" && !strings.Contains(*item.Value, "HTTPS_PROXY=http://proxy:3128") {
					t.Errorf("%s boots with %s", path, *item.Value)
				}
			}
		}
		if got := string(s.onMaster(t, manifest.ProxyFile)); !strings.Contains(got, "HTTPS_PROXY=http://proxy:3128\n") {
			t.Errorf("got %q for the services of the master's machine", got)
		}
		m, _, err := config.Parse(s.onMaster(t, manifest.ConfigFile), "master.yaml")
		must(t, err)
		for _, p := range m.ResourcePools {
			if p.Provider.GCP.Proxy.HTTPS != "http://proxy:3128" {
				t.Errorf("pool %s: got %+v", p.Name, p.Provider.GCP.Proxy)
			}
		}
	})
}

// Secrets exist only in Secret Manager: not in the bucket, metadata or plans.
func TestSecretsAreOnlyInTheVault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{}, "db-url", "env:DB_URL", "registry-user", "ann", "registry-password", "env:REGISTRY")
		places := map[string]string{"the plan": strings.Join(s.Plan(t), "\n")}
		must(t, s.Up(t.Context()))
		c := s.clients(nil)
		secrets := []string{"PRIVATE KEY"}
		for _, name := range []string{"admin-password", "db-url", "registry-password", "tls-key"} {
			text, err := storage.SecretSource{Clients: c}.Secret(t.Context(), secret.Ref{Scheme: secret.GCP, Name: "det-deploy-lab-" + name})
			must(t, err)
			secrets = append(secrets, text)
		}
		bucket := control.Name("lab", gcptest.Number)
		all, err := api.List(t.Context(), c.Storage.Objects.List(bucket).Versions(true), func(p *gcs.Objects) []*gcs.Object { return p.Items })
		must(t, err)
		for _, o := range all {
			body, err := api.Read(t.Context(), c.Storage.Objects.Get(bucket, o.Name))
			must(t, err)
			places[o.Name] = string(body.Data)
		}
		for path, i := range s.world.Instances() {
			for _, item := range i.Metadata.Items {
				places[path+" "+item.Key] = *item.Value
			}
		}
		for place, text := range places {
			for _, one := range secrets {
				if strings.Contains(text, one) {
					t.Errorf("%s has a secret in it", place)
				}
			}
		}
		if len(places) < 8 {
			t.Errorf("got %d places looked at, want all", len(places))
		}
	})
}
